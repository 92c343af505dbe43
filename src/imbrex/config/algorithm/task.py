"""ConvTask, GemmTask: what an algorithm meets, its three arrays as they are or as copies have left them.

What an algorithm asks (does it serve, what would it copy, which products are there) is a function of this
value: the compiler's passes make one of an operation, `task_of` one of a problem, and both get one answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from imbrex.config.finishing import Finishing, finishing_of, scaling_of
from imbrex.dtype import DType
from imbrex.index.map import Dim, Layer
from imbrex.problem import Conv2d, Gemm
from imbrex.problem.conv import Direction
from imbrex.problem.layout import ROLES, Role
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.gemm.blocks import in_blocks, together
from imbrex.view.gemm.product import GemmView, plain
from imbrex.view.mma import OPERANDS, Operand
from imbrex.view.strided import strided

__all__ = ["READ", "ConvTask", "GemmTask", "gemm_task_of", "task_of"]

WRITTEN: Final[Mapping[Direction, Role]] = {
    "forward": "output",
    "backward_data": "input",
    "backward_weight": "filter",
}
READ: Final[Mapping[Direction, Mapping[Role, str]]] = {
    "forward": {"filter": "c", "input": "c"},
    "backward_data": {"filter": "k", "output": "k"},
    "backward_weight": {"output": "k", "input": "c"},
}
"""The arrays that are read, with the channel of each that copies bring together."""


@dataclass(frozen=True)
class ConvTask:
    """dtype: of elements that are read.  stored: of those of the result.

    finishing: by an epilogue between the sums and the result.  merged: so many groups have been made
    one, with zeros between.  below: layers from the convolution's dims to the array in memory, topmost first,
    of filter, input and output.
    """

    conv: Convolution
    direction: Direction
    dtype: DType
    stored: DType
    finishing: Finishing = Finishing.NONE
    merged: int = 1
    below: tuple[tuple[Layer, ...], tuple[Layer, ...], tuple[Layer, ...]] = ((), (), ())

    @property
    def written(self) -> Role:
        """The array that is computed."""
        return WRITTEN[self.direction]

    @property
    def is_backward_weight(self) -> bool:
        return self.direction == "backward_weight"

    @property
    def is_backward_data(self) -> bool:
        return self.direction == "backward_data"

    @property
    def groups(self) -> int:
        return dict(self.conv.filter).get("g", 1)

    def array(self, role: Role) -> tuple[Dim, ...]:
        """Dims of an array, in memory order."""
        return {"filter": self.conv.filter, "input": self.conv.input, "output": self.conv.output}[role]

    def layers(self, role: Role) -> tuple[Layer, ...]:
        """Layers below the dims of an array."""
        return self.below[ROLES.index(role)]

    def dtype_of(self, role: Role) -> DType:
        """Element type of an array."""
        return self.stored if role == self.written else self.dtype


def task_of(problem: Conv2d) -> ConvTask:
    """The convolution that a problem asks for."""
    filters, images, results = (tuple(Dim(name, size) for name, size in problem.dims(role)) for role in ROLES)
    padding = (problem.pad_h, problem.pad_w)
    conv = Convolution(filters, images, results, problem.stride, problem.dilation, padding)
    stored = problem.element(problem.written)
    return ConvTask(conv, problem.direction, problem.dtype, stored, finishing_of(problem.epilogue))


@dataclass(frozen=True)
class GemmTask:
    """A product of matrices.  dims: of each array in memory order, g of a batch, then two of m, n and k.

    dtype, stored, finishing: as in `ConvTask`.  scaling: by alpha and beta.  below: layers from the dims of
    an array to memory, topmost first.
    """

    dims: Mapping[Operand, tuple[Dim, ...]]
    dtype: DType
    stored: DType
    finishing: Finishing
    scaling: Finishing
    below: Mapping[Operand, tuple[Layer, ...]]

    @property
    def view(self) -> GemmView:
        """The product of the arrays as they are."""
        sizes = {d.name: d.size for role in OPERANDS for d in self.dims[role]}
        return plain(sizes["m"], sizes["n"], sizes["k"], sizes.get("g"), *self.turned.values())

    @property
    def turned(self) -> dict[Operand, bool]:
        """Does k not run fastest in A, or n in B?"""
        return {"a": self.dims["a"][-1].name != "k", "b": self.dims["b"][-1].name != "n"}


def gemm_task_of(problem: Gemm) -> GemmTask:
    """The product that a problem asks for."""
    batch = (Dim("g", problem.batch),) if problem.batch > 1 else ()
    dims, below = dict[Operand, tuple[Dim, ...]](), dict[Operand, tuple[Layer, ...]]()
    for role, operand in zip(OPERANDS, problem.multiplied, strict=False):
        sizes = zip(operand.layout[-2:], operand.shape[-2:], strict=True)
        dims[role] = (*batch, *(Dim(*d) for d in sizes))
        below[role] = () if operand.strides is None else strided(dims[role], operand.strides).layers
        if operand.dtype.across:
            blocks = in_blocks(dims[role], together(operand.dtype))
            dims[role], below[role] = blocks[0].upper, (*blocks, *below[role])
    finishing = finishing_of(problem.epilogue)
    scaling = scaling_of(problem.alpha != 1.0, problem.beta != 0.0)
    return GemmTask(dims, problem.multiplied_type, problem.element("c"), finishing, scaling, below)
