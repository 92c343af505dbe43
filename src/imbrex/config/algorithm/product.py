"""Products: what an algorithm makes of a problem, before any tuning is chosen.

    before      copies that products read, each end a map down to memory; memory is read, or written, once
    products    the GEMMs, their operands as maps down to memory, and what a tuning may know of each
    after       what puts results where they belong
    filled      elements of the result that are zero before

Law: the compiler's passes emit the values that these are made of (`arrange`, `make`, `matrices`), so that a
model that asks these prices what will run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from imbrex.cached import cached_property
from imbrex.config.access import context_of
from imbrex.config.context import GemmContext
from imbrex.config.finishing import Finishing
from imbrex.config.strips import Shape
from imbrex.config.tuning import Tuning
from imbrex.dtype import DType
from imbrex.index.map import Layer, Map
from imbrex.view.conv.row_taps import RowTaps
from imbrex.view.copy.boxes import ArrayCopy
from imbrex.view.gemm.product import GemmView

__all__ = ["End", "Lanes", "Launch", "Product", "Products", "copied", "product_of", "reached"]


@dataclass(frozen=True)
class End:
    """What a launch reads or writes: a map from its work items to memory, and the bytes of an element."""

    map: Map
    element_bytes: int

    @property
    def bytes(self) -> int:
        """Bytes of memory, each once: no more than any of the views has, of which those on top may go over
        the end of what exists.
        """
        sizes = [prod(d.size for d in layer.upper) for layer in self.map.layers]
        return min(*sizes, prod(d.size for d in self.map.lower)) * self.element_bytes


@dataclass(frozen=True)
class Launch:
    """A launch that copies, or adds up, some arrays."""

    ends: tuple[End, ...]

    @property
    def moved_bytes(self) -> int:
        """Bytes of memory that it reads and writes."""
        return sum(end.bytes for end in self.ends)


@dataclass(frozen=True)
class Product:
    """A GEMM.  view: down to memory.  stored: elements of C.  finishing: as in `GemmContext`.  tuning: the
    one that its operands are laid out for.

    phases: the phase of each of the equal parts of K, of products of several.  lengths: of a part, what batch
    after batch has of it; see `view.conv.phase_tiles`.  taps: of a row of a window, whose pixels are views of
    one another.
    """

    view: GemmView
    dtype: DType
    stored: DType
    finishing: Finishing = Finishing.NONE
    tuning: Tuning | None = None
    phases: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()
    taps: RowTaps | None = None

    @cached_property
    def context(self) -> GemmContext:
        """What a tuning may know of it."""
        found = context_of(self.view, self.dtype).storing(self.stored)
        found = replace(found, finishing=self.finishing, taps=self.taps)
        return found.of_phases(self.phases, self.lengths) if self.phases else found


@dataclass(frozen=True)
class Products:
    """All that an algorithm makes of a problem for matrix products."""

    products: tuple[Product, ...]
    before: tuple[Launch, ...] = ()
    after: tuple[Launch, ...] = ()
    filled: int = 0

    @property
    def launches(self) -> tuple[Launch, ...]:
        """All of both sides."""
        return *self.before, *self.after

    @property
    def moved_bytes(self) -> int:
        """Bytes of memory that launches besides the products read and write."""
        return sum(launch.moved_bytes for launch in self.launches)


@dataclass(frozen=True)
class Lanes:
    """A depthwise convolution by lanes, which is no matrix product."""

    shape: Shape


def product_of(
    view: GemmView, below: Sequence[tuple[Layer, ...]], dtype: DType, stored: DType, finishing: Finishing
) -> Product:
    """The product of a view of arrays, each of them with these layers down to memory."""
    a, b, c = (reached(m, layers) for m, layers in zip((view.a, view.b, view.c), below, strict=True))
    return Product(GemmView(a, b, c, view.phases), dtype, stored, finishing)


def reached(map: Map, below: tuple[Layer, ...]) -> Map:
    """A map of an array's dims, down to memory."""
    return Map((*map.layers, *below))


def copied(how: ArrayCopy, below: tuple[Layer, ...], dtype: DType) -> tuple[End, End]:
    """An array, with these layers down to memory, and its copy, as a launch goes over them."""
    return End(reached(how.read, below), dtype.bytes), End(how.written, dtype.bytes)
