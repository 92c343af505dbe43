"""Products: what the compiler knows of each matrix product that a problem becomes.

A convolution's backward data has one product a phase; everything else has one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from imbrex.cached import cached_property
from imbrex.chip import WARPGROUPS, CpuMachine, GpuMachine, Machine
from imbrex.config import choose, legal
from imbrex.config.algorithm.choice import plain_of
from imbrex.config.block_plan import entries
from imbrex.config.configuration import Configuration, TunedProduct
from imbrex.config.configured import outlined
from imbrex.config.context import GemmContext
from imbrex.config.cpu.cost import ceiling_share
from imbrex.config.cpu.plan import CpuPlan, CpuTuning
from imbrex.config.defines import defines
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.launch_hints import launches_of
from imbrex.config.tiles import DATA_PARALLEL
from imbrex.config.tuning import Tuning
from imbrex.config.warpgroup.plan import WarpgroupPlan, WarpgroupTuning
from imbrex.config.xdlops.block import waves_block
from imbrex.config.xdlops.cost import bounds_of, prediction_of, step_trip
from imbrex.config.xdlops.plan import XdlopsPlan, XdlopsTuning
from imbrex.config.xdlops.residency import resident_groups, waves_of_simd
from imbrex.diagnostic import Diagnostic
from imbrex.index import query
from imbrex.index.map import Dim, Map, identity
from imbrex.ir.chain import map_of, names_of
from imbrex.ir.dialect import context
from imbrex.ir.ops.grid import GridwiseGemmOp, LaunchOp
from imbrex.ir.ops.standard import ModuleOp, Operation
from imbrex.ir.passes.affix_tuning import gemm_context, products_of
from imbrex.ir.shape import shape_of
from imbrex.ir.to_product import stated, to_product
from imbrex.lower.build import program
from imbrex.lower.warpgroup.text import described
from imbrex.numeral import counted
from imbrex.pipeline import Request, configuration_of, levels, telling
from imbrex.problem import Conv2d
from imbrex.view.mma.vector import CPU_UNITS

__all__ = ["OperandView", "Product", "products", "views_as_product"]


@dataclass(frozen=True)
class OperandView:
    """One operand: the array, and the map from gemm coordinates to its dimensions."""

    operand: str
    array: str
    map: Map

    @cached_property
    def address(self) -> str:
        """The element offset, simplified."""
        return str(query.linear(self.map)[0])

    @cached_property
    def guards(self) -> tuple[str, ...]:
        """What must hold for the element to exist."""
        return tuple(f"0 <= {g.index} < {g.size}" for g in query.linear(self.map)[1])

    @cached_property
    def widths(self) -> dict[str, int]:
        """Elements in the widest legal vector along each dimension."""
        return {dim.name: query.vector_width(self.map, dim.name) for dim in self.map.upper}

    @cached_property
    def is_injective(self) -> bool:
        """Does each element stand once in the product?"""
        return query.is_injective(self.map)


@dataclass(frozen=True)
class Launched:
    """The launch that a product becomes.  schedule: who computes which of its tiles, and in which order."""

    workgroups: int
    schedule: str


@dataclass(frozen=True)
class Product:
    """One gridwise product, with the tuning that serves it, or the reasons why the one given cannot."""

    operands: tuple[OperandView, OperandView, OperandView]
    context: GemmContext
    store_method: str
    tuning: Tuning | None
    reasons: tuple[str, ...]
    candidates: int
    refused: Mapping[str, int]
    machine: Machine
    launched: Launched | None = None
    described: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def sizes(self) -> str:
        c = self.context
        packs = f", k in packs of {counted(c.dtype.pack, 'element')}" if c.dtype.pack > 1 else ""
        return f"{f'{c.g} of ' if c.g > 1 else ''}{c.m} x {c.n} x {c.k} (m x n x k{packs})"

    @property
    def defines(self) -> dict[str, int]:
        """The tuning's numbers by the names of MIOpen's dialect; of waves and lanes, which have them."""
        if not isinstance(self.tuning, XdlopsTuning | GeneralTuning):
            return {}
        assert isinstance(self.machine, GpuMachine), self.machine
        return defines(self.tuning.plan(self.context, self.machine))

    @property
    def derived(self) -> dict[str, str]:
        """All that follows from the tuning and the sizes."""
        if self.tuning is None:
            return {}
        if isinstance(self.tuning, CpuTuning):
            plan = self.tuning.plan(self.context)
        else:
            assert isinstance(self.machine, GpuMachine), self.machine
            plan = self.tuning.plan(self.context, self.machine)
        if isinstance(plan, CpuPlan):
            assert isinstance(self.machine, CpuMachine), self.machine
            share = ceiling_share(plan.tuning, plan.context, self.machine)
            return self._grid(plan.blocks, plan.grid_size) | _of_cpu(plan, share, self.machine.threads)
        if isinstance(plan, WarpgroupPlan):
            return _of_warpgroups(plan) | dict(self.described)
        head = {
            **self._grid(plan.blocks, plan.grid_size),
            "k_iterations": str(plan.k_iterations),
            "lds_bytes": str(plan.lds_bytes),
            "registers": str(plan.registers),
        }
        if isinstance(plan, XdlopsPlan):
            head |= _of_waves(plan)
        found = entries(waves_block(plan) if isinstance(plan, XdlopsPlan) else plan.block)
        return head | {key: str(list(x) if isinstance(x, tuple) else x) for key, x in found.items()}

    def _grid(self, blocks: Sequence[int], tiles: int) -> dict[str, str]:
        """Workgroups that are launched, the output tiles that they compute, and how they share them."""
        assert self.launched is not None
        sizes, count = " x ".join(map(str, blocks)), self.launched.workgroups
        cut = " ".join([f"({sizes}", "blocks)"])
        head = f"{count} {cut}" if count == tiles else f"{count} for {counted(tiles, 'tile')} {cut}"
        schedule = self.launched.schedule
        return {"grid_size": head} | ({} if schedule == str(DATA_PARALLEL) else {"schedule": schedule})


def products(request: Request, configuration: Configuration | None = None) -> list[Product]:
    """Products in the order in which they run; none where lanes multiply.  `request.tuning` need not be
    legal: each product that cannot have it has the reasons.  All else is what the passes make of the request.

    configuration: that of the request, where it is known.
    """
    with telling():
        module = _untuned(request)
        found = [_product(op, request) for op in products_of(module)]
    if any(product.reasons for product in found):
        return found
    try:
        return _launched(found, request, configuration or configuration_of(request))
    except Diagnostic as error:
        if not found:
            raise
        return [replace(product, tuning=None, reasons=(error.message,)) for product in found]


def views_as_product(request: Request) -> tuple[OperandView, ...]:
    """The operands of the first matrix product that a convolution would be by the algorithm that copies
    nothing, whatever algorithm serves it; a Diagnostic of a gradient that has none.
    """
    assert isinstance(request.problem, Conv2d), request.problem
    plain = replace(request, algorithm=plain_of(request.problem), config=None, tuning=None, schedule=None)
    with telling():
        found = list(products_of(_untuned(plain)))
        if not found:
            message = "no tap of the window meets the result, so that the gradient is 0, by no product"
            raise Diagnostic(message, hint="there is nothing to draw")
        return tuple(_views(found[0]))


def _untuned(request: Request) -> ModuleOp:
    """The module in which products have no tunings yet."""
    of = outlined(request)
    module = stated(request.problem, request.name, of, request.tuning)
    for step in to_product(of, request.machine):
        step.apply(context(), module)
    return module


def _launched(found: list[Product], request: Request, configuration: Configuration) -> list[Product]:
    """Products with what was chosen for them, and the launches that they become."""
    before: set[Operation] = set()
    for level in levels(request, configuration):
        match level.name:
            case "affix-tuning":
                before = {op for op in level.module.walk() if isinstance(op, LaunchOp)}
            case "gridwise-to-blockwise":
                made = (op for op in level.module.walk() if isinstance(op, LaunchOp) and op not in before)
                rows = list(_first_of(made, found, configuration, request.machine))
                found = [
                    replace(
                        product,
                        tuning=of.tuning,
                        launched=Launched(launch.grid_size.data, str(of.schedule)),
                    )
                    for product, of, launch in rows
                ]
                if not all(isinstance(product.tuning, WarpgroupTuning) for product in found):
                    return found
            case "blockwise-to-threadwise":
                return _described(found, level.module)
            case _:
                pass
    return found


def _first_of(
    made: Iterator[LaunchOp], found: Sequence[Product], of: Configuration, machine: Machine
) -> Iterator[tuple[Product, TunedProduct, LaunchOp]]:
    """Each product with the first of its launches."""
    for product, tuned in zip(found, of.products, strict=True):
        first, *_ = islice(made, launches_of(tuned, product.context, machine))
        yield product, tuned, first


def _described(found: list[Product], module: ModuleOp) -> list[Product]:
    """Products of warpgroups, with how their operands come into shared memory."""
    kernels = [kernel.pipeline for kernel in program(module, frozenset(), WARPGROUPS).kernels]
    texts = [described(gemm) for gemm in kernels if gemm is not None]
    return [replace(product, described=text) for product, text in zip(found, texts, strict=True)]


def _product(op: GridwiseGemmOp, request: Request) -> Product:
    """A product before it has its tuning, and why it cannot have the one that is given."""
    context, machine = gemm_context(op), request.machine
    operands = tuple(_views(op))
    assert len(operands) == 3
    listed, refused = _considered(context, machine)
    own = None if op.tuning is None else op.tuning.data
    given, reasons = request.tuning or own, ()
    if given is not None:
        reasons = tuple(str(reason) for reason in legal.check(given, context, machine))
    method = op.store_method.data if op.store_method is not None else "set"
    return Product(operands, context, method, None, reasons, listed, refused, machine)


def _views(op: GridwiseGemmOp) -> Iterator[OperandView]:
    for word, value in (("A", op.a), ("B", op.b), ("C", op.c)):
        array, map = map_of(value)
        if map is None:
            sizes = [s for s in shape_of(value) if s is not None]
            map = identity([Dim(n, s) for n, s in zip(names_of(value), sizes, strict=True)])
        yield OperandView(word, array.name_hint or word.lower(), map)


def _considered(context: GemmContext, machine: Machine) -> tuple[int, Counter[str]]:
    """How many tunings the model ranks, and how many of them each rule refuses."""
    listed = choose.candidates(context, machine, choose.family_of(context, machine))
    return len(listed), Counter(r.rule for t in listed for r in legal.check(t, context, machine)[:1])


def _of_waves(plan: XdlopsPlan) -> dict[str, str]:
    a, b = plan.lds_traffic
    accesses = [x for side in (a, b) for x in (side.reads, side.writes) if x is not None]
    cycles, extra = sum(x.cycles for x in accesses), sum(x.extra for x in accesses)
    return {
        "accumulators": str(plan.accumulators),
        "lds_cycles": f"{cycles + extra} a step, {extra} of them for bank conflicts",
        **_predicted(plan),
    }


def _predicted(plan: XdlopsPlan) -> dict[str, str]:
    """What the timing model says, which nobody measured."""
    groups, flops = resident_groups(plan), 2.0 * plan.context.multiplies
    step, whole = step_trip(plan, groups), prediction_of(plan)
    needs = ", ".join(f"{name} {clocks:.0f}" for name, clocks in bounds_of(plan, groups).items())
    busy = f"{whole.in_loop:.0%} in the loop, {whole.busy:.0%} in all"
    speed = f"{whole.flops_per_second(flops) / 1e12:.1f} TFLOP/s at {whole.hz / 1e9:.2f} GHz"
    waves = counted(waves_of_simd(plan), "wave")
    return {
        "residents": f"{counted(groups, 'workgroup')} a compute unit, {waves} a SIMD",
        "step": f"{step.clocks:.0f} clocks of a compute unit's workgroups: at least {needs}",
        "prediction": f"matrix units busy {busy}, {speed} with one workgroup a tile; measured by nobody",
    }


def _of_warpgroups(plan: WarpgroupPlan) -> dict[str, str]:
    t, layout = plan.tuning, plan.layout
    rows_are, columns_are = ("gemmN", "gemmM") if t.swapped else ("gemmM", "gemmN")
    held = f"{counted(plan.accumulators, 'register')} of sums a thread"
    return {
        "tile": f"{t.m_per_block} {rows_are} x {t.n_per_block} {columns_are} x {t.k_per_block} gemmK",
        "k_iterations": str(plan.k_iterations),
        "consumers": f"{t.consumers} {'in turn' if t.pingpong else 'together'}, {held}",
        "lds_bytes": f"{layout.bytes}, {counted(t.stages, 'stage')} of {layout.stage_bytes}",
        "cluster": f"{t.cluster_m} x {t.cluster_n} workgroups",
    }


def _of_cpu(plan: CpuPlan, share: float, threads: int) -> dict[str, str]:
    t: CpuTuning = plan.tuning
    rows_are, columns_are = ("gemmN", "gemmM") if t.swapped else ("gemmM", "gemmN")
    tiles, workers = CPU_UNITS[t.unit].tiles, counted(threads, "thread")
    held = f"registers of {t.vector_lanes}" if tiles is None else f"tiles of {tiles.rows} x {t.vector_lanes}"
    return {
        "block": f"{plan.block_rows} {rows_are} x {plan.block_columns} {columns_are} x {plan.block_k} gemmK",
        "k_iterations": str(plan.k_iterations),
        "register tile": f"{t.m_per_thread} x {t.n_per_thread}, {t.registers} {held}",
        "unit": f"{t.unit}, {t.together} of gemmK a lane; panels of {plan.element}",
        "ceiling": f"{share:.0%} of what {workers} can do by it, the model says",
        "panels": f"{plan.row_panels} of rows, {plan.column_panels} of columns; {t.stationary} stays",
        "form": "one product a step, read in place where it can be" if plan.is_fused else "packed panels",
        "a_panel_bytes": str(plan.a_panel_bytes),
        "b_panel_bytes": str(plan.b_panel_bytes),
        "c_tile_bytes": str(plan.c_tile_bytes),
        "workspace_bytes": f"{plan.workspace_bytes} at most, a thread",
        "occupancy": f"{plan.occupancy:.1%} of the multiply-adds are the problem's own",
    }
