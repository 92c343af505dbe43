"""Conv2d: a two-dimensional convolution, forward or either gradient.

Law: a Conv2d that exists is possible.  The constructor checks sizes, groups, layouts and type, and raises one
`Diagnostic`; all else is derived from the fields.  Arrays come in the order filter, input, output, always.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final, Literal, assert_never, get_args

import numpy.typing as npt

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import F32, I8, DType
from imbrex.numeral import counted
from imbrex.problem import epilogue as after
from imbrex.problem.axis import Axis
from imbrex.problem.epilogue import Epilogue
from imbrex.problem.epilogue_array import ARRAYS
from imbrex.problem.field import Pair, one_of, operand_type, pair, whole
from imbrex.problem.layout import DIMENSIONS, GROUPED, Layout, Role, layout_text, parse_layout
from imbrex.problem.operand import GemmSizes, Operand, total_bytes
from imbrex.problem.run_time import MOST_IMAGES, RunTime, expect_outermost, extent_text, sized

__all__ = ["DIRECTIONS", "Conv2d", "Direction"]

Direction = Literal["forward", "backward_data", "backward_weight"]
DIRECTIONS: Final[tuple[Direction, ...]] = get_args(Direction)


@dataclass(frozen=True, init=False)
class Conv2d:
    """A two-dimensional convolution, or the gradient of one by its input or by its filter.

    c and k are totals over the groups; the filter array holds c / groups.  Pads are (before, after), strides
    and dilations (height, width); one integer means both.  Layouts are dimension names, outermost first.
    epilogue: forward only, what becomes of each element before it is stored; its bias has k elements.
    n: a number, or "?" or a range such as "?1..64" of what a kernel is told when it runs, forward or by the
    input: then n is the greatest and least_n the least one; see `problem.run_time`.
    """

    direction: Direction
    n: int
    c: int
    h: int
    w: int
    k: int
    y: int
    x: int
    pad_h: Pair
    pad_w: Pair
    stride: Pair
    dilation: Pair
    groups: int
    filter_layout: Layout
    input_layout: Layout
    output_layout: Layout
    dtype: DType
    epilogue: Epilogue | None
    least_n: int | None

    def __init__(
        self,
        direction: Direction,
        n: int | str,
        c: int,
        h: int,
        w: int,
        k: int,
        y: int,
        x: int,
        *,
        pad_h: int | Pair = 0,
        pad_w: int | Pair = 0,
        stride: int | Pair = 1,
        dilation: int | Pair = 1,
        groups: int = 1,
        filter_layout: str | Layout = "KCYX",
        input_layout: str | Layout = "NCHW",
        output_layout: str | Layout = "NKHW",
        dtype: str | DType | npt.DTypeLike = F32,
        epilogue: str | Epilogue | None = None,
        least_n: int | None = None,
    ) -> None:
        most_n, least = sized("n", n, MOST_IMAGES)
        least = least_n if least is None else least
        sizes = {"n": most_n, "c": c, "h": h, "w": w, "k": k, "y": y, "x": x, "groups": groups}
        pairs = {"pad_h": pad_h, "pad_w": pad_w, "stride": stride, "dilation": dilation}
        layouts = zip(DIMENSIONS, (filter_layout, input_layout, output_layout), strict=True)
        values: dict[str, object] = {
            "direction": one_of("direction", direction, get_args(Direction)),
            "dtype": operand_type(dtype, has_scales=False),
            "epilogue": after.wanted(epilogue, operand_type(dtype)),
        }
        values |= {name: whole(name, size, least=1) for name, size in sizes.items()}
        values |= {name: pair(name, size, least=0 if "pad" in name else 1) for name, size in pairs.items()}
        values |= {f"{role}_layout": parse_layout(role, layout) for role, layout in layouts}
        values["least_n"] = None if least is None else whole("least_n", least, least=1)
        for name, value in values.items():
            object.__setattr__(self, name, value)
        _check_conv(self)

    @property
    def run_time(self) -> RunTime | None:
        """The size that a kernel is told when it runs; None where all are numbers."""
        if self.least_n is None:
            return None
        return RunTime("n", self.least_n, self.n, is_summed=self.direction == "backward_weight")

    def at(self, size: int) -> Conv2d:
        """The problem with this number as n; a Diagnostic where that is not in the range."""
        return self if self.run_time is None else replace(self, n=self.run_time.expect(size), least_n=None)

    @property
    def outermost(self) -> tuple[str, int]:
        """The size that may be open, by its name: images."""
        return "n", self.n

    def open(self, least: int, most: int) -> Conv2d:
        """The problem with that range as its images."""
        return replace(self, n=most, least_n=least)

    @property
    def roles(self) -> tuple[Role, Role, Role]:
        return ("filter", "input", "output")

    @property
    def written(self) -> Role:
        """The role of the result."""
        match self.direction:
            case "forward":
                return "output"
            case "backward_data":
                return "input"
            case "backward_weight":
                return "filter"
            case _:
                assert_never(self.direction)

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """Height and width."""
        return (
            Axis("h", "y", self.h, self.y, self.pad_h, self.stride[0], self.dilation[0]),
            Axis("w", "x", self.w, self.x, self.pad_w, self.stride[1], self.dilation[1]),
        )

    @property
    def ho(self) -> int:
        """Rows of the output."""
        return self.axes[0].outputs

    @property
    def wo(self) -> int:
        """Columns of the output."""
        return self.axes[1].outputs

    def layout(self, role: Role) -> Layout:
        """The dimension names of the user's array, outermost first; no group dimension."""
        return {"filter": self.filter_layout, "input": self.input_layout, "output": self.output_layout}[role]

    def shapes(self, role: Role) -> tuple[int, ...]:
        """The shape of the user's array, in its layout; the filter's `c` is c / groups."""
        sizes = self._sizes(role)
        return tuple(sizes[name] for name in self.layout(role))

    def dims(self, role: Role) -> tuple[tuple[str, int], ...]:
        """The dialect's dimension names and sizes: those of `shapes`, with "g" split off above one group."""
        sizes = self._sizes(role)
        if self.groups == 1:
            return tuple((name, sizes[name]) for name in self.layout(role))
        split = GROUPED[role]
        sizes[split] //= self.groups
        dims: list[tuple[str, int]] = []
        for name in self.layout(role):
            dims += [("g", self.groups), (name, sizes[name])] if name == split else [(name, sizes[name])]
        return tuple(dims)

    @property
    def all_dims(self) -> tuple[tuple[tuple[str, int], ...], ...]:
        """`dims` of every role."""
        return tuple(self.dims(role) for role in self.roles)

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The arrays of `roles`, then those of the epilogue, for code that serves every Problem."""
        own = tuple(
            Operand(role, self.layout(role), self.shapes(role), self.element(role), role == self.written)
            for role in self.roles
        )
        return (*own, *(after.operands(self.epilogue, own[2], self.dtype, "k", "n") if self.epilogue else ()))

    @property
    def result(self) -> Operand:
        """The array that is written."""
        return self.operands[self.roles.index(self.written)]

    def element(self, role: Role) -> DType:
        """The element type of that role's array."""
        if role != self.written:
            return self.dtype
        return (self.epilogue and self.epilogue.result) or self.dtype.output

    @property
    def gemm(self) -> GemmSizes:
        """The sizes of the implicit GEMM: forward and backward weight v4r4, backward data v1r1."""
        c, k = self.c // self.groups, self.k // self.groups
        pixels, window = self.n * self.ho * self.wo, self.y * self.x
        match self.direction:
            case "forward":
                return GemmSizes(self.groups, k, pixels, c * window)
            case "backward_data":
                return GemmSizes(self.groups, c * window, pixels, k)
            case "backward_weight":
                return GemmSizes(self.groups, k, c * window, pixels)
            case _:
                assert_never(self.direction)

    @property
    def terms(self) -> int:
        """An upper bound on the number of products summed into one element of the result."""
        window = self.y * self.x if self.direction == "backward_data" else 1
        return self.gemm.k * window

    @property
    def flops(self) -> int:
        """Multiplications and additions; those with padding count, as they do in every tool of the field."""
        g, m, n, k = self.gemm
        return 2 * g * m * n * k

    @property
    def bytes(self) -> int:
        """Compulsory memory traffic: every operand read once, the result written once."""
        return total_bytes(self.operands)

    def key(self) -> str:
        """Canonical short text, one per problem, fit for a file name."""
        word = {"forward": "fwd", "backward_data": "bwd", "backward_weight": "wrw"}[self.direction]
        pads = f"p{self.pad_h[0]}.{self.pad_h[1]}x{self.pad_w[0]}.{self.pad_w[1]}"
        layouts = "_".join(layout_text(role, self.layout(role)) for role in self.roles)
        n = self.n if self.least_n is None else f"{self.least_n}to{self.n}"
        return (
            f"conv2d_{word}_{self.dtype}_n{n}_c{self.c}_{self.h}x{self.w}_k{self.k}_{self.y}x{self.x}_{pads}"
            f"_s{self.stride[0]}x{self.stride[1]}_d{self.dilation[0]}x{self.dilation[1]}_g{self.groups}_{layouts}"
            f"{f'_{self.epilogue.key}' if self.epilogue else ''}"
        )

    def to_json(self) -> dict[str, object]:
        """Plain values by field; `json_form.from_json` is the inverse."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "least_n"}
        values |= {} if self.least_n is None else {"n": extent_text(self.n, self.least_n)}
        layouts = {f"{role}_layout": layout_text(role, self.layout(role)) for role in self.roles}
        texts = {"dtype": self.dtype.name, "epilogue": self.epilogue and str(self.epilogue)}
        return {"version": 1, "problem": "conv2d", **values, **layouts, **texts}

    def _sizes(self, role: Role) -> dict[str, int]:
        match role:
            case "filter":
                return {"k": self.k, "c": self.c // self.groups, "y": self.y, "x": self.x}
            case "input":
                return {"n": self.n, "c": self.c, "hi": self.h, "wi": self.w}
            case "output":
                return {"n": self.n, "k": self.k, "ho": self.ho, "wo": self.wo}
            case _:
                assert_never(role)


def _check_conv(conv: Conv2d) -> None:
    for name, channels in (("c", conv.c), ("k", conv.k)):
        if channels % conv.groups:
            divide = counted(channels, "channel does", "channels do")
            message = f"{name} = {divide} not divide into {counted(conv.groups, 'group')}"
            raise Diagnostic(message, subject="groups")
    for axis in conv.axes:
        axis.check()
    if conv.epilogue is not None and conv.direction != "forward":
        message = f"an epilogue goes with the forward direction only, got {conv.direction}"
        raise Diagnostic(message, hint="'forward' is -F 1 in a MIOpenDriver line", subject="epilogue")
    if conv.epilogue is not None and any(ARRAYS[name].along == "rows" for name in conv.epilogue.arrays):
        raise Diagnostic("row_scale is for products: a convolution's result has no rows", subject="epilogue")
    _check_run_time(conv)
    if conv.dtype == I8 and conv.direction != "forward":
        message = f"i8 convolutions exist in the forward direction only, got {conv.direction}"
        hint = "'forward' is -F 1 in a MIOpenDriver line, whose default is all three directions"
        raise Diagnostic(message, hint=hint, subject="direction")


def _check_run_time(conv: Conv2d) -> None:
    """A run-time n must not be in any address."""
    if conv.least_n is None:
        return
    if conv.least_n > conv.n:
        raise Diagnostic(f"the least n, {conv.least_n}, is above the greatest, {conv.n}", subject="n")
    expect_outermost("n", [(role, conv.layout(role)) for role in ("input", "output")])
