"""A convolution's products as operations, and the launch beside them, as `config.algorithm.make` says; and
the passes `whole-images` and `halo`.

    miopen.conv2d_bwd_weight(%filter, %input, %output)
    ->  %shares = workspace
        views of input and output, and of %shares as all shares' filters
        miopen.gridwise_gemm(%a, %b, %c)
        launch: %filter = the shares, added up in their order

Workspaces stand in place of one of the arrays: of the filter, or of the input, whose phases they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from imbrex.config import tuning
from imbrex.config.algorithm.make import OPERANDS, Made, halo, whole_images
from imbrex.config.halo.plan import HaloWeightTuning, ImageTuning
from imbrex.index.query import is_injective
from imbrex.ir.attrs import Names, Sizes
from imbrex.ir.chain import map_of
from imbrex.ir.element import accumulator_type
from imbrex.ir.ops.grid import GridwiseGemmOp
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes.fold_sums import add_shares
from imbrex.ir.passes.interleave import phase_arrays, put_together
from imbrex.ir.passes.packing import workspace
from imbrex.ir.passes.tiling import number
from imbrex.ir.rewrite import Run, properties, rewrite_each
from imbrex.ir.shape import element_of, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.ir.task import direction_of, task_of
from imbrex.problem.layout import ROLES
from imbrex.view.conv.phase_tiles import PhaseTile
from imbrex.view.conv.share_sum import ShareSum
from imbrex.view.conv.whole_images import NOT_SERVED, serves
from imbrex.view.copy.interleave import Interleave
from imbrex.view.gemm.product import GemmView

__all__ = ["Halo", "WholeImages", "conv_products"]


@dataclass(frozen=True)
class WholeImages(ModulePass):
    """A pointwise convolution of images whose planes are no whole rows of shared memory; see
    `view.conv.whole_images`.

        miopen.conv2d_bwd_weight(%filter, %input, %output) { whole_images = 32, ... }       planes of 28 x 28
        ->  views of the arrays, of 800 positions an image
            miopen.gridwise_gemm(%a, %b, %c)
    """

    name = "whole-images"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_each([o for o in op.walk() if isinstance(o, ConvOp) and o.whole_images is not None], _images)


def _images(op: ConvOp, run: Run) -> None:
    task = task_of(op)
    if not serves(task.conv, task.dtype.bytes):
        raise InvalidOp(op, f"'whole_images': {NOT_SERVED}", "whole_images")
    conv_products(op, whole_images(task, number(op, "whole_images")), run)


@dataclass(frozen=True)
class Halo(ModulePass):
    """A convolution whose pixels come into shared memory once, with their halo, for warpgroups of Hopper.

        miopen.conv2d(%filter, %input, %output) { halo = 1, ... }
        ->  views of the arrays, of the result as a raster whose overhang does not exist
            miopen.gridwise_gemm(%a, %b, %c) { tuning = { kind = "halo", .. } }

    Of stride 1.  The raster is what the tuning wants, so that the product has it, too: the convolution's own
    `tuning`, or the fastest by the model.  Backward weight sums over the pixels of a raster, a share of them
    each, and a launch adds up the shares in their order: results do not depend on which workgroup comes
    first.  Of groups that were merged the blocks on the diagonal alone are stored.
    """

    name = "halo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_each([o for o in op.walk() if isinstance(o, ConvOp) and o.halo is not None], _raster)


def _raster(op: ConvOp, run: Run) -> None:
    task, given = task_of(op), None if op.tuning is None else op.tuning.data
    own = HaloWeightTuning if task.is_backward_weight else ImageTuning
    if given is not None and not isinstance(given, own):
        got = tuning.with_article(given.kind)
        where = "'halo' of backward weight" if task.is_backward_weight else "'halo'"
        raise InvalidOp(op, f"{where} takes tunings of its own kind, got {got} tuning", "tuning")
    conv_products(op, halo(task, given), run)


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
        case Interleave() as view:
            apart = phase_arrays(view, op.input, run)
            _gridwise(op, made, [{"input": phase} for phase in apart], run)
            put_together(view, apart, op.input, run)
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
    if made.taps is not None:
        described["taps"] = (made.taps.count, made.taps.channels, made.taps.step)
    for of, copied in zip(made.views, copies, strict=True):
        view = of.view if isinstance(of, PhaseTile) else of
        phases = of.phases if isinstance(of, PhaseTile) else None
        operands = _operands(op, view, own | dict(copied), run)
        given = properties({**described, "store_method": _store_method(made, view), "phases": phases})
        run.add(GridwiseGemmOp.build(operands=[*operands, []], properties=given))


def _operands(op: ConvOp, view: GemmView, arrays: Mapping[str, SSAValue], run: Run) -> list[SSAValue]:
    """A, B and C, as views of the arrays."""
    maps = zip(OPERANDS[direction_of(op)], (view.a, view.b, view.c), strict=True)
    return [run.view(arrays[role], map.layers, role, i) for i, (role, map) in enumerate(maps)]


def _store_method(made: Made, view: GemmView) -> str | None:
    """Sums that are added in memory need atomics where several go to one element."""
    return None if not made.adds else "set" if is_injective(view.c) else "atomic_add"
