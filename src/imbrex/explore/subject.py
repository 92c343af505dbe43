"""Subject: a request, and all that panels ask about it, each found once and only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from imbrex.cached import cached_property
from imbrex.chip import GpuMachine
from imbrex.config.configuration import Configuration, TunedProduct
from imbrex.config.request import Request
from imbrex.config.tuning import is_pipelined
from imbrex.explore.holding import held
from imbrex.explore.ladder import Ladder
from imbrex.explore.products import Product, products, views_as_product
from imbrex.explore.tiling import Tiling, tiling
from imbrex.ir.printed import print_module
from imbrex.lower.build import program
from imbrex.lower.stmt import Kernel, MatrixMultiply, MulAdd, PanelGemm, Program, walk
from imbrex.lower.stmt import Product as StepProduct
from imbrex.lower.warpgroup.pipeline import Pipeline
from imbrex.pipeline import Lowered, configuration_of, levels, lower
from imbrex.problem.run_time import expect_fixed

__all__ = ["Subject", "Words"]

MULTIPLIES = (MatrixMultiply, MulAdd, PanelGemm, StepProduct, Pipeline)


@dataclass(frozen=True)
class Words:
    """What a machine's people call who computes a tile, what shares it, and what keeps its elements."""

    workgroup: str
    wave: str
    lane: str


@dataclass(frozen=True)
class Subject:
    """What a study is about.  request: with the configuration that a kernel would have, or none."""

    request: Request

    def __post_init__(self) -> None:
        expect_fixed(self.request.problem.run_time, "explore")

    @cached_property
    def configuration(self) -> Configuration:
        """All that is chosen; a Diagnostic where nothing serves."""
        return configuration_of(self.request)

    @cached_property
    def settled(self) -> Request:
        """The request of exactly this configuration."""
        return self.request.by(self.configuration)

    @cached_property
    def products(self) -> Sequence[Product]:
        """The matrix products, in the order in which they run; none where lanes multiply."""
        return products(self.request, self.configuration)

    @cached_property
    def number(self) -> int:
        """Number of the product that panels draw: the first of those with most to multiply."""
        sizes = [p.context.multiplies for p in self.products]
        return sizes.index(max(sizes)) if sizes else 0

    @property
    def product(self) -> Product | None:
        """The product that panels draw."""
        return self.products[self.number] if self.products else None

    @property
    def tuned(self) -> TunedProduct | None:
        """What was chosen for it."""
        return self.configuration.products[self.number] if self.products else None

    @cached_property
    def texts(self) -> Sequence[tuple[str, str]]:
        """Every level of the IR, by its name."""
        return self._lowered[0]

    @property
    def program(self) -> Program:
        """The statements."""
        return self._lowered[1]

    @cached_property
    def _lowered(self) -> tuple[Sequence[tuple[str, str]], Program]:
        """Every level as text, and the statements of the last."""
        found: list[tuple[str, str]] = []
        last = None
        for level in levels(self.request, self.configuration):
            found.append((level.name, print_module(level.module, compact=True)))
            last = level.module
        assert last is not None
        return found, program(last, frozenset(), self.request.machine)

    @cached_property
    def source(self) -> Lowered:
        """The source files, and how they are launched."""
        return lower(self.settled)

    @cached_property
    def kernel(self) -> Kernel | None:
        """The launch that multiplies the drawn product."""
        kernels = self.program.kernels
        found = [k for k in kernels if k.pipeline is not None] or [
            k for k in kernels if any(isinstance(s, MULTIPLIES) for s in walk(k.body))
        ]
        if len(found) == len(self.products) and found:
            return found[self.number]
        return max(found, key=lambda k: k.grid_size * k.block_size, default=None)

    @property
    def pipeline(self) -> Pipeline | None:
        """The product of warpgroups that the drawn one is, where it is one."""
        return None if self.kernel is None else self.kernel.pipeline

    @property
    def sides(self) -> tuple[str, str]:
        """The operands that the kernel calls a and b: those of rows and of columns, B and A after a swap."""
        return ("B", "A") if self.tiling is not None and self.tiling.swapped else ("A", "B")

    @cached_property
    def tiling(self) -> Tiling | None:
        """The tiles of C, and who computes which; None where lanes multiply."""
        if self.product is None or self.tuned is None:
            return None
        if is_pipelined(self.tuned.tuning) and self.pipeline is None:
            return None
        return tiling(self.product, self.tuned, self.pipeline)

    @cached_property
    def held(self) -> Ladder | str | None:
        """Who holds which element of a tile of C; a reason where that is no such map."""
        if self.product is None or self.tuned is None:
            return None
        found = held(self.product, self.tuned.tuning, self.pipeline)
        return found if isinstance(found, str) else Ladder("Who holds an element of a tile of C", found)

    @property
    def words(self) -> Words:
        """Names of the parts of this machine."""
        if self.gpu is None:
            return Words("block", "register tile", "vector lane")
        if self.pipeline is not None:
            return Words("workgroup", "warpgroup", "lane")
        return Words("workgroup", "warp" if self.gpu.has_wgmma else "wave", "lane")

    @property
    def gpu(self) -> GpuMachine | None:
        """The machine, where it is a GPU."""
        machine = self.request.machine
        return machine if isinstance(machine, GpuMachine) else None

    @cached_property
    def ladders(self) -> Mapping[str, Ladder]:
        """The maps of the drawn product's operands, by the operand's name; where lanes sum windows, those of
        the product that it would be, whose elements are the same.
        """
        product = self.product
        views = views_as_product(self.request) if product is None else product.operands
        return {
            view.operand: Ladder(f"{view.operand} is {view.array}", view.map, view.array) for view in views
        }
