"""The products of a convolution as operations, and the launch beside them; see `config.algorithm.make`.

    miopen.conv2d_bwd_weight(%filter, %input, %output)
    ->  %shares = workspace
        views of input and output, and of %shares as all shares' filters
        miopen.gridwise_gemm(%a, %b, %c)
        launch: %filter = the shares, added up in their order

Workspaces stand in place of one of the arrays: of the filter, or of the input, whose phases they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from xdsl.ir import SSAValue

from imbrex.config.algorithm.make import OPERANDS, Made
from imbrex.index.query import is_injective
from imbrex.ir.attrs import Names, Sizes
from imbrex.ir.chain import map_of
from imbrex.ir.element import accumulator_type
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes.fold_sums import add_shares
from imbrex.ir.passes.interleave import first_phase, phase_arrays, put_together
from imbrex.ir.passes.packing import workspace
from imbrex.ir.rewrite import Run, properties
from imbrex.ir.shape import element_of, shape_of
from imbrex.ir.task import ROLES, direction_of
from imbrex.view.conv.phase_box import Phases
from imbrex.view.conv.phase_tiles import PhaseTile
from imbrex.view.conv.share_sum import ShareSum
from imbrex.view.copy.interleave import Interleave
from imbrex.view.gemm.product import GemmView

__all__ = ["conv_products"]


def conv_products(op: ConvOp, made: Made, run: Run) -> None:
    """What a convolution's operation becomes."""
    filled, _ = map_of(op.operands[op.WRITES])
    if made.fills:
        run.zero(filled)
    match made.between:
        case None:
            _gridwise(op, made, [{} for _ in made.views], run)
        case ShareSum() as total:
            shares = workspace("shares", accumulator_type(element_of(op.input)), total.stored, run)
            _gridwise(op, made, [{"filter": shares}], run)
            source = run.view(shares, total.read.layers, "shares")
            add_shares(total.total, source, run.view(filled, total.written.layers, "filter", 0), run)
        case Interleave() as view if op.operands[op.WRITES] is op.input:
            apart = phase_arrays(view, op.input, run)
            _gridwise(op, made, [{"input": phase} for phase in apart], run)
            put_together(view, apart, op.input, run)
        case Interleave() as view:
            _gridwise(op, made, [{"input": first_phase(view, op.input, run)}], run)
        case _:
            assert_never(made.between)


def _gridwise(op: ConvOp, made: Made, copies: Sequence[Mapping[str, SSAValue]], run: Run) -> None:
    """The product of each view.  copies: in place of arrays."""
    own: dict[str, SSAValue] = dict(zip(ROLES, op.operands, strict=True))
    described: dict[str, object] = {"kernel_algorithm": made.name}
    for role in ROLES:
        described[f"{role}_dimension"] = Sizes(shape_of(own[role]))
        described[f"{role}_layout"] = Names(op.layouts[role])
    described |= {"dilations": op.dilations, "strides": op.strides, "padding": op.padding}
    described |= {"tuning": made.tuning, "diagonal": made.diagonal if made.diagonal > 1 else None}
    for of, copied in zip(made.views, copies, strict=True):
        view = of.view if isinstance(of, PhaseTile) else of
        phases = Phases(of.phases, of.box, of.lengths) if isinstance(of, PhaseTile) else None
        operands = _operands(op, view, own | dict(copied), run)
        given = properties({**described, "store_method": _store_method(made, view), "phases": phases})
        run.add(GridwiseGemmOp.build(operands=[*operands, []], properties=given))


def _operands(op: ConvOp, view: GemmView, arrays: Mapping[str, SSAValue], run: Run) -> list[SSAValue]:
    """A, B and C, as views of the arrays."""
    maps = zip(OPERANDS[direction_of(op)], (view.a, view.b, view.c), strict=True)
    return [run.view(arrays[role], map.layers, role, i) for i, (role, map) in enumerate(maps)]


def _store_method(made: Made, view: GemmView) -> str | None:
    """Sums that are added in memory need atomics where several are of one place."""
    return None if not made.adds else "set" if is_injective(view.c) else "atomic_add"
