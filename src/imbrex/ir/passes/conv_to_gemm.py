"""conv-to-gemm: each convolution or product becomes views of its buffers and one gridwise_gemm a phase.

    miopen.conv2d(%filter, %input, %output)
    ->  %a = transform(%filter)...  %b = transform(%input)...  %c = transform(%output)...
        miopen.gridwise_gemm(%a, %b, %c)

Backward data is v4r1 unless the operation asks for v1r1: one GEMM a phase, plain stores, and zeros first
where the phases leave elements out.  v1r1 is one GEMM into zeros; it adds atomically unless its store map is
injective.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from imbrex.chip import VECTOR_BYTES
from imbrex.config.algorithm.phases import are_apart
from imbrex.config.algorithm.table import ALGORITHMS
from imbrex.config.tuning import Tuning
from imbrex.index.map import Map
from imbrex.index.query import is_injective
from imbrex.ir.attrs import Bool, Names, Sizes
from imbrex.ir.chain import map_of
from imbrex.ir.convolution import ROLES, convolution_of, task_of
from imbrex.ir.element import dtype_of, element_bytes
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.ops.problem import Conv2dBwdDataOp, Conv2dBwdWeightOp, ConvOp, GemmOp
from imbrex.ir.passes import data_tiling, interleave
from imbrex.ir.rewrite import Run, properties, require_static, rewrite_each
from imbrex.ir.shape import element_of, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.view.conv import implicit_gemm
from imbrex.view.conv.phase_box import Phases
from imbrex.view.conv.phase_rows import leaves_rows
from imbrex.view.conv.phase_tiles import PhaseTile, phase_tiles
from imbrex.view.gemm import product
from imbrex.view.gemm.product import GemmView

KEYS: Final = {row.name: row.taken_by for row in ALGORITHMS if row.stated == "key"}
"""Keys that ask for a pass, which takes them away."""


@dataclass(frozen=True)
class ConvToGemm(ModulePass):
    """taps_first: of gemmK, in forward and backward data; of gemmN, in backward weight where the input has
    its channels last.  channel_multiple: what the channels of each tap are counted up to; see `view.conv`.
    phases_apart: phases of backward data that would leave gaps have workspaces, from which a launch fills the
    result.  shared_phases: those of one residue of rows are one product.
    """

    name = "conv-to-gemm"
    taps_first: bool = False
    channel_multiple: int = 1
    phases_apart: bool = False
    shared_phases: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_each([o for o in op.walk() if isinstance(o, ConvOp | GemmOp)], self._rewrite)

    def _rewrite(self, problem: ConvOp | GemmOp, run: Run) -> None:
        for key, name in KEYS.items():
            if name != self.name and problem.properties.get(key, Bool(False)) != Bool(False):
                raise InvalidOp(problem, f"this asks for the pass '{name}'; run it before", key)
        if isinstance(problem, GemmOp):
            _product(problem, run)
        else:
            _convolution(problem, run, self)


def _convolution(op: ConvOp, run: Run, chosen: ConvToGemm) -> None:
    shape, taps_first, channel_multiple = convolution_of(op), chosen.taps_first, chosen.channel_multiple
    match op:
        case Conv2dBwdWeightOp():
            taps_first = taps_first and shape.input[-1].name == "c"
            view = implicit_gemm.backward_weight(shape, taps_first, channel_multiple)
            gridwise(op, run, view, ("output", "input", "filter"), "backward_weight_v4r4")
        case Conv2dBwdDataOp():
            _backward_data(op, run, shape, chosen)
        case _:
            view = implicit_gemm.forward(shape, taps_first, channel_multiple)
            gridwise(op, run, view, ROLES, "v4r4")


def _backward_data(
    op: Conv2dBwdDataOp, run: Run, shape: implicit_gemm.Convolution, chosen: ConvToGemm
) -> None:
    roles = ("filter", "output", "input")
    if op.algorithm is not None and op.algorithm.data == "v1r1":
        view = implicit_gemm.backward_data_v1r1(shape)
        method = "set" if is_injective(view.c) else "atomic_add"
        run.zero(map_of(op.input)[0])
        gridwise(op, run, view, roles, "backward_data_v1r1", method)
        return
    if chosen.shared_phases:
        if leaves_rows(shape.height):
            run.zero(map_of(op.input)[0])
        vector = VECTOR_BYTES // element_bytes(element_of(op.input))
        for tile in phase_tiles(shape, chosen.channel_multiple, vector):
            gridwise(op, run, tile.view, roles, "backward_data_v4r1", tile=tile)
        return
    views = implicit_gemm.backward_data_v4r1(shape, chosen.taps_first, chosen.channel_multiple)
    if chosen.phases_apart and are_apart(task_of(op)):
        apart = interleave.Phases(op, shape, run)
        for view, array in zip(views, apart.arrays, strict=True):
            dense = replace(view, c=Map(view.c.layers[:-1]))
            gridwise(op, run, dense, roles, "backward_data_v4r1", copies={"input": array})
        apart.put_together(run)
        return
    if not implicit_gemm.writes_everything(shape):
        run.zero(map_of(op.input)[0])
    for view in views:
        gridwise(op, run, view, roles, "backward_data_v4r1")


def _product(op: GemmOp, run: Run) -> None:
    require_static(op, (op.a, op.b, op.c))
    *batch, m, n = [s for s in shape_of(op.c) if s is not None]
    transposed = [bool(p and p.data) for p in (op.a_transposed, op.b_transposed)]
    k = shape_of(op.a)[-2 if transposed[0] else -1]
    assert k is not None
    view = product.plain(m, n, k, batch[0] if batch else None, *transposed)
    if op.data_tiled is not None:
        data_tiling.product(op, op.data_tiled.data, view, run)
        return
    maps = zip("abc", (op.a, op.b, op.c), (view.a, view.b, view.c), strict=True)
    operands = [run.view(value, map.layers, hint, i) for i, (hint, value, map) in enumerate(maps)]
    pack = dtype_of(element_of(op.a)).pack
    of_scales = zip("ab", op.scales, product.scales(view, pack), strict=True) if op.scales else ()
    scales = [run.view(value, map.layers, f"scale_{name}") for name, value, map in of_scales]
    factors = {key: p for key, p in (("alpha", op.alpha), ("beta", op.beta)) if p is not None}
    run.add(GridwiseGemmOp.build(operands=[*operands, scales], properties=dict(factors)))


def gridwise(
    op: ConvOp,
    run: Run,
    view: GemmView,
    roles: Sequence[str],
    algorithm: str,
    store_method: str | None = None,
    tuning: Tuning | None = None,
    copies: Mapping[str, SSAValue] | None = None,
    diagonal: int | None = None,
    tile: PhaseTile | None = None,
) -> None:
    """The product of a view.  tuning: what its operands are laid out for.  copies: in place of arrays.
    diagonal: blocks of a filter that has zeros between them.  tile: of phases.
    """
    own = {"filter": op.filter, "input": op.input, "output": op.output}
    arrays = own | dict(copies or {})
    maps = zip(roles, (view.a, view.b, view.c), strict=True)
    operands = [run.view(arrays[role], map.layers, role, i) for i, (role, map) in enumerate(maps)]
    described: dict[str, object] = {"kernel_algorithm": algorithm}
    for role in ROLES:
        described[f"{role}_dimension"] = Sizes(shape_of(own[role]))
        described[f"{role}_layout"] = Names(op.layouts[role])
    described |= {"dilations": op.dilations, "strides": op.strides, "padding": op.padding}
    described |= {"store_method": store_method, "tuning": tuning, "diagonal": diagonal}
    if tile is not None:
        described["phases"] = Phases(tile.phases, tile.box, tile.lengths)
    run.add(GridwiseGemmOp.build(operands=[*operands, []], properties=properties(described)))
