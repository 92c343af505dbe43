"""Forms of a tensor map: what the Tensor Memory Accelerator (TMA) is told of an array, and how it is asked.

    Box     tiled: a box of up to five dims at coordinates; what lies outside the array reads as zeros, and
            is not written
    Walk    im2col: pixels one after another inside a window of start pixels, row by row and image by image,
            each at the same offset from its start pixel; what lies outside the image reads as zeros

Coordinates are integer expressions over `batch`, `tile` (of the operand's rows or columns), `step` (along k)
and, where the workgroups of a cluster share a tile, `part`; those of a store over `batch`, `row`, `column`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, cast

from imbrex.index.expr import Lin

__all__ = ["Box", "ElementType", "Piece", "Refused", "TensorMap", "Walk", "first_right"]


class ElementType(Protocol):
    """An element type, of which tensor maps know the size: `imbrex.dtype.DType`."""

    @property
    def bytes(self) -> int: ...


@dataclass(frozen=True)
class Piece:
    """One access: where it lies in the stage's tile, and its coordinates, innermost first.

    offsets: of a Walk, of the window's tap, (w, h).  part_bytes: `part` of a cluster's tile is so many bytes
    further on than the one before it.
    """

    byte_offset: int
    coords: tuple[Lin, ...]
    offsets: tuple[Lin, ...] = ()
    part_bytes: int = 0

    def over(self, given: Mapping[str, Lin]) -> Piece:
        """The same piece with other indices in place of variables."""
        return replace(self, coords=tuple(x.subs(given) for x in self.coords))


@dataclass(frozen=True)
class Box:
    """sizes and box innermost first; strides in elements, of sizes[1:]; base: the first element's offset.

    steps: traversal strides; of a box's extent, every steps-th element is taken.  open: the place in sizes
    of one that is told when the kernel runs, and is the greatest there; each: times this.
    """

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    base: int
    box: tuple[int, ...]
    swizzle: int
    pieces: tuple[Piece, ...]
    steps: tuple[int, ...]
    open: int | None = None
    each: int = 1

    def over(self, given: Mapping[str, Lin]) -> Box:
        """The same box with other indices in place of variables."""
        return replace(self, pieces=tuple(piece.over(given) for piece in self.pieces))

    def at(self, count: int) -> Box:
        """The box of an array of this run-time size."""
        if self.open is None:
            return self
        sizes = (*self.sizes[: self.open], count * self.each, *self.sizes[self.open + 1 :])
        return replace(self, sizes=sizes, open=None, each=1)


@dataclass(frozen=True)
class Walk:
    """sizes: (C, W, H, N); strides in elements, of W, H and N; lower, upper and steps: (w, h).

    The start pixels of a row are lower, lower + step, ... up to size - 1 + upper.  open and each are those of
    a Box: the number of images may be told when the kernel runs.
    """

    sizes: tuple[int, int, int, int]
    strides: tuple[int, int, int]
    base: int
    lower: tuple[int, int]
    upper: tuple[int, int]
    channels: int
    pixels: int
    steps: tuple[int, int]
    swizzle: int
    pieces: tuple[Piece, ...]
    open: int | None = None
    each: int = 1

    def at(self, count: int) -> Walk:
        """The walk over an array of this run-time size."""
        if self.open is None:
            return self
        return replace(self, sizes=(*self.sizes[:-1], count * self.each), open=None, each=1)


@dataclass(frozen=True)
class Refused:
    """Why TMA cannot move an operand."""

    reason: str


@dataclass(frozen=True)
class TensorMap:
    """What a launch encodes: a form without its pieces, the element type, which argument the array is."""

    form: Box | Walk
    dtype: str
    argument: int

    def to_json(self) -> dict[str, Any]:
        values = {k: v for k, v in vars(self.form).items() if k != "pieces"}
        kind = "box" if isinstance(self.form, Box) else "walk"
        return {"kind": kind, **values, "dtype": self.dtype, "argument": self.argument}

    def at(self, count: int) -> TensorMap:
        """That of an array of this run-time size."""
        return replace(self, form=self.form.at(count))

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> TensorMap:
        given: dict[str, Any] = {k: _as_tuple(v) for k, v in value.items()}
        kind, dtype, argument = (given.pop(name) for name in ("kind", "dtype", "argument"))
        made = Box(**given, pieces=()) if kind == "box" else Walk(**given, pieces=())
        return TensorMap(made, dtype, argument)

    @staticmethod
    def of(form: Box | Walk, dtype: str, argument: int) -> TensorMap:
        """The tensor map of an access, which is the same for all of its pieces."""
        return TensorMap(replace(form, pieces=()), dtype, argument)


def _as_tuple(value: Any) -> Any:
    """JSON has lists for tuples."""
    return tuple(cast("list[int]", value)) if isinstance(value, list) else value


Found = TypeVar("Found")


def first_right(answers: Iterable[Found | Refused], wrong: Callable[[Found], str | None]) -> Found | Refused:
    """The first answer with which nothing is wrong; why the first one is refused where there is none."""
    reasons = list[str]()
    for answer in answers:
        if isinstance(answer, Refused):
            reasons.append(answer.reason)
        elif (reason := wrong(answer)) is None:
            return answer
        else:
            reasons.append(reason)
    return Refused(reasons[0])
