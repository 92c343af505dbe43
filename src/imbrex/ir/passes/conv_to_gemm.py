"""conv-to-gemm: each convolution or product becomes views of its buffers and one gridwise_gemm a phase.

    miopen.conv2d(%filter, %input, %output)
    ->  %a = transform(%filter)...  %b = transform(%input)...  %c = transform(%output)...
        miopen.gridwise_gemm(%a, %b, %c)

Backward data is v4r1 unless the operation or the pass asks for v1r1: one GEMM a phase, plain stores, and
zeros first where the phases leave elements out.  v1r1 is one GEMM, into zeros where windows overlap or leave
elements out; it adds atomically unless its store map is injective.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from imbrex.argument import whole
from imbrex.config.algorithm.form import GemmForm, Phases
from imbrex.config.algorithm.make import conv_to_gemm
from imbrex.config.algorithm.table import ALGORITHMS
from imbrex.ir.attrs import Bool
from imbrex.ir.element import dtype_of
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.ops.problem import Conv2dBwdDataOp, ConvOp, GemmOp
from imbrex.ir.passes import data_tiling, k_parts
from imbrex.ir.passes.conv_products import conv_products
from imbrex.ir.rewrite import Run, rewrite_each
from imbrex.ir.shape import element_of
from imbrex.ir.source import InvalidOp
from imbrex.ir.task import gemm_task_of, task_of
from imbrex.view.gemm import product

KEYS: Final = {row.name: row.taken_by for row in ALGORITHMS if row.stated == "key"}
"""Keys that ask for a pass, which takes them away."""


@dataclass(frozen=True)
class ConvToGemm(ModulePass):
    """taps_first: of gemmK, in forward and backward data; of gemmN, in backward weight where the input has
    its channels last.  channel_multiple: what the channels of each tap are counted up to; see `view.conv`.
    phases_apart: phases of backward data that would leave gaps have workspaces, from which a launch fills the
    result.  shared_phases: those of one residue of rows are one product.  added_phases: there are none, as in
    v1r1.  images_last: of gemmK, in backward weight.  abreast: so many images as the fastest digit of gemmN
    of a raster, in forward and backward data.
    """

    name = "conv-to-gemm"
    taps_first: bool = False
    channel_multiple: int = 1
    phases_apart: bool = False
    shared_phases: bool = False
    images_last: bool = False
    abreast: int = 0
    added_phases: bool = False

    def __post_init__(self) -> None:
        whole("channel_multiple", self.channel_multiple, 1)
        whole("abreast", self.abreast, 0)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_each([o for o in op.walk() if isinstance(o, ConvOp | GemmOp)], self._rewrite)

    def _rewrite(self, problem: ConvOp | GemmOp, run: Run) -> None:
        for key, name in KEYS.items():
            if name != self.name and problem.properties.get(key, Bool(False)) != Bool(False):
                raise InvalidOp(problem, f"this asks for the pass '{name}'; run it before", key)
        if isinstance(problem, GemmOp):
            _product(problem, run)
        else:
            conv_products(problem, conv_to_gemm(task_of(problem), self._form(problem)), run)

    def _form(self, op: ConvOp) -> GemmForm:
        word = op.algorithm if isinstance(op, Conv2dBwdDataOp) else None
        is_added = self.added_phases or (word is not None and word.data == "v1r1")
        apart: Phases = "apart" if self.phases_apart else "in place"
        phases: Phases = "added" if is_added else "shared" if self.shared_phases else apart
        return GemmForm(self.taps_first, self.channel_multiple, phases, self.images_last, self.abreast)


def _product(op: GemmOp, run: Run) -> None:
    if op.data_tiled is not None:
        data_tiling.product(op, op.data_tiled.data, run)
        return
    if op.k_parts is not None:
        k_parts.product(op, op.k_parts.data, run)
        return
    view = gemm_task_of(op).view
    maps = zip("abc", (op.a, op.b, op.c), (view.a, view.b, view.c), strict=True)
    operands = [run.view(value, map.layers, hint, i) for i, (hint, value, map) in enumerate(maps)]
    pack = dtype_of(element_of(op.a)).pack
    of_scales = zip("ab", op.scales, product.scales(view, pack), strict=True) if op.scales else ()
    scales = [run.view(value, map.layers, f"scale_{name}") for name, value, map in of_scales]
    factors = {key: p for key, p in (("alpha", op.alpha), ("beta", op.beta)) if p is not None}
    run.add(GridwiseGemmOp.build(operands=[*operands, scales], properties=dict(factors)))
