"""affix-tuning: give every gridwise_gemm its tuning; it becomes a gridwise_gemm_ex.

The tuning is the one that the option `config` spells, used as it is or refused with every reason; without the
option a model chooses a legal one for the target.  A CPU tuning that wants its vector lanes along M swaps the
operands, and so does a tuning for matrix instructions that wants its wide stores along N.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from imbrex.chip import WAVES, GpuMachine, Machine, target
from imbrex.config import choose, tuned_product, tuning
from imbrex.config.access import context_of
from imbrex.config.block_plan import WarpgroupBlock
from imbrex.config.configuration import TunedProduct
from imbrex.config.context import GemmContext
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.finishing import finishing_of, scaling_of
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.halo.plan import ImageTuning
from imbrex.config.kinds import Family
from imbrex.config.tiles import DATA_PARALLEL, Auto, TileSchedule
from imbrex.config.tiles import wanted as wanted_schedule
from imbrex.config.tuning import Tuning
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.xdlops.block import waves_block
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.index.map import Dim, layer_over
from imbrex.index.rule import PassThrough
from imbrex.ir.chain import epilogue_of, map_of, named_map
from imbrex.ir.element import dtype_of, element_bytes
from imbrex.ir.ops.grid import GridwiseGemmExOp, GridwiseGemmOp
from imbrex.ir.ops.phases import phase_box_of
from imbrex.ir.ops.scales import product_type
from imbrex.ir.passes.tiling import expect_diagonal, expect_injective
from imbrex.ir.rewrite import Run, blaming, properties, require_static, rewrite_each
from imbrex.ir.shape import memref_type, shape_of
from imbrex.ir.source import InvalidOp
from imbrex.view.conv.row_taps import RowTaps
from imbrex.view.gemm.product import GemmView

FAMILIES: Final = get_args(Family)
KEPT: Final = ("kernel_algorithm", "store_method", "alpha", "beta", "phases")
"""Properties that a product has with and without its tuning."""


@dataclass(frozen=True)
class AffixTuning(ModulePass):
    """See the module's first lines."""

    name = "affix-tuning"

    config: str = ""
    target: str = WAVES.name
    family: str | None = None
    schedule: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        given = tuning.parse(self.config) if self.config else None
        if self.family not in (None, *FAMILIES):
            hint = did_you_mean(self.family, FAMILIES) or f"known: {', '.join(FAMILIES)}"
            raise Diagnostic(f"unknown family of tunings '{self.family}'", hint=hint)
        tuned(op, given, target(self.target), self.family, wanted_schedule(self.schedule))


def tuned(
    module: ModuleOp,
    given: Tuning | None,
    machine: Machine,
    family: str | None = None,
    schedule: TileSchedule | Auto = DATA_PARALLEL,
) -> tuple[Tuning, ...]:
    """Choose a tuning and a schedule for every product of a module, affix them, and tell the tunings."""
    products = choices(module, given, machine, family, schedule)
    affixed(module, products, machine)
    return tuple(product.tuning for product in products)


def choices(
    module: ModuleOp,
    given: Tuning | None,
    machine: Machine,
    family: str | None = None,
    schedule: TileSchedule | Auto = DATA_PARALLEL,
) -> tuple[TunedProduct, ...]:
    """The tuning and the schedule of every product of a module.

    given: used as it is, or refused; None takes the one that the product names, or lets the model choose,
    from a family of `kinds.Family`, by default the one that suits the machine.
    """
    found: list[TunedProduct] = []
    for op in products_of(module):
        with blaming(op):
            context = gemm_context(op)
            own = op.tuning.data if given is None and op.tuning else given
            wanted: Any = family or _family_of(op, context, machine)
            found.append(tuned_product.chosen(context, machine, wanted, own, schedule))
    return tuple(found)


def affixed(module: ModuleOp, products: Sequence[TunedProduct], machine: Machine) -> None:
    """Give every product of a module its tuning and schedule; a Diagnostic where it cannot have them."""
    ops = products_of(module)
    if len(ops) != len(products):
        raise Diagnostic(f"there are {len(ops)} products, and tunings for {len(products)}")
    wanted = dict(zip(ops, products, strict=True))

    def affix_one(op: GridwiseGemmOp, run: Run) -> None:
        expect_injective(op, op.c, op.adds_atomically)
        tuned_product.expect_served(wanted[op], gemm_context(op), machine)
        affix(op, wanted[op].tuning, machine, run, wanted[op].schedule)

    rewrite_each(ops, affix_one)


def products_of(module: ModuleOp) -> list[GridwiseGemmOp]:
    """The products of a module that have no tuning yet."""
    return [op for op in module.walk() if isinstance(op, GridwiseGemmOp)]


def _family_of(op: GridwiseGemmOp, context: GemmContext, machine: Machine) -> Family:
    """Warpgroups store elements of two and of four bytes."""
    found = choose.family_of(context, machine)
    base, _ = map_of(op.c)
    is_narrow = element_bytes(memref_type(base).get_element_type()) == 1
    return "general" if found == "warpgroup" and is_narrow else found


def gemm_context(op: GridwiseGemmOp) -> GemmContext:
    """What a tuning may know of this product."""
    require_static(op, (op.a, op.b, op.c))
    maps = [
        named_map(v, [f"gemm{n.upper()}" for n in f"g{names}"])
        for v, names in ((op.a, "km"), (op.b, "kn"), (op.c, "mn"))
    ]
    view = GemmView(*maps, phases=phase_box_of(op.phases).count)
    a, b = (memref_type(v).get_element_type() for v in (op.a, op.b))
    base, _ = map_of(op.c)
    stored = dtype_of(memref_type(base).get_element_type())
    found = context_of(view, product_type(a, b, op.scales)).storing(stored)
    scaling = scaling_of(op.alpha is not None, op.beta is not None)
    found = replace(found, finishing=max(scaling, finishing_of(epilogue_of(op.c))))
    if op.taps is not None:
        found = replace(found, taps=RowTaps(*op.taps.data))
    return found if op.phases is None else found.of_phases(op.phases.data.of, op.phases.data.lengths)


def affix(
    op: GridwiseGemmOp,
    chosen: Tuning,
    machine: Machine,
    run: Run,
    schedule: TileSchedule = DATA_PARALLEL,
) -> None:
    """The same product with a tuning and a schedule of its tiles for a machine."""
    context = gemm_context(op)
    if op.phases is not None and not isinstance(chosen, WarpgroupTuning):
        raise InvalidOp(op, f"phases share tiles of warpgroups, not of {chosen.kind} tunings", "phases")
    kept: dict[str, Attribute] = {k: op.properties[k] for k in KEPT if k in op.properties}
    operands, scales = [op.a, op.b, op.c], list(op.scales)
    if isinstance(chosen, ImageTuning):
        expect_diagonal(op, chosen)
    if not isinstance(chosen, GeneralTuning) and chosen.swapped:
        operands, scales = [op.b, op.a, _transposed(op.c, run)], scales[::-1]
    if isinstance(chosen, CpuTuning):
        plan = chosen.plan(context).block
    else:
        assert isinstance(machine, GpuMachine), machine
        is_of_waves = isinstance(chosen, XdlopsTuning)
        plan = (
            waves_block(chosen.plan(context, machine)) if is_of_waves else chosen.plan(context, machine).block
        )
    own = tuned_product.resolved(chosen, schedule, machine)
    if isinstance(plan, WarpgroupBlock) and own.is_shared:
        plan = replace(plan, clusters=None)
    given = {"plan": plan, "schedule": None if own == DATA_PARALLEL else own}
    run.add(GridwiseGemmExOp.build(operands=[*operands, scales], properties=kept | properties(given)))


def _transposed(value: SSAValue, run: Run) -> SSAValue:
    """C with M and N exchanged."""
    shape = [s for s in shape_of(value) if s is not None]
    names = ["gemmG", "gemmM", "gemmN"][-len(shape) :]
    dims = [Dim(n, s) for n, s in zip(names, shape, strict=True)]
    swapped = [*names[:-2], names[-1], names[-2]]
    steps = ((PassThrough(), f"t_{n}", n) for n in swapped)
    return run.view(value, (layer_over(dims, *steps),), "transposed")
