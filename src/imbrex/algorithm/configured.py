"""The configuration of a request: the one that is given, or the one that the models choose, once.

Law: `configured` is the only place where something is chosen; whoever lowers takes all of it from the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from imbrex.algorithm.fitting import expect_fitting
from imbrex.algorithm.passes import to_product
from imbrex.config import overlap
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.config.algorithm.table import row_of
from imbrex.config.configuration import DIRECT, Configuration, TunedProduct
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.outline import outline
from imbrex.config.request import Request
from imbrex.config.tiles import AUTO, DATA_PARALLEL, Auto, TileSchedule
from imbrex.ir.chain import map_of
from imbrex.ir.dialect import context
from imbrex.ir.from_problem import problem_module
from imbrex.ir.ops.grid import GridwiseGemmOp, LaunchOp
from imbrex.ir.ops.memory import FillOp
from imbrex.ir.ops.standard import ModuleOp
from imbrex.ir.ops.workspace import WorkspaceOp
from imbrex.ir.passes.affix_tuning import choices, gemm_context, products_of
from imbrex.ir.passes.halo_weight import halo_weight_tuning
from imbrex.problem.operand import expect_addressable

__all__ = ["configured", "schedule_of", "untuned", "word_in_ir"]


def configured(request: Request) -> Configuration:
    """The configuration that a request gives, or what is chosen within what it asks for.

    A Diagnostic where an algorithm, a tuning or a schedule that it asks for does not serve.
    """
    if request.config is not None:
        expect_addressable(request.problem.operands)
        algorithm_of(replace(request, config=None, algorithm=request.config.algorithm))
        expect_fitting(request.config, request)
        return request.config
    found, module = untuned(request)
    products = choices(module, request.tuning, request.machine, schedule=schedule_of(request))
    ops = products_of(module)
    early = (_with_overlap(p, op, request) for p, op in zip(products, ops, strict=True))
    return replace(found, in_place=_is_in_place(found, ops), products=tuple(early))


def untuned(request: Request) -> tuple[Configuration, ModuleOp]:
    """The configuration without its products, and the module in which these stand."""
    expect_addressable(request.problem.operands)
    found = request.config or outline(request, algorithm_of(request))
    module = problem_module(request.problem, request.name, word_in_ir(found))
    for step in to_product(found, request.machine, request.tuning):
        step.apply(context(), module)
    return found, module


def word_in_ir(configuration: Configuration) -> str | None:
    """The algorithm as the module of a problem asks for it."""
    return None if configuration.algorithm == DIRECT else configuration.algorithm


def schedule_of(request: Request) -> TileSchedule | Auto:
    """The schedule that is asked for.  Where none is: the model's on Hopper unless a tuning is given; else
    data_parallel.
    """
    if request.schedule is not None:
        return request.schedule
    return AUTO if request.machine.multiprocessor and request.tuning is None else DATA_PARALLEL


def _is_in_place(of: Configuration, ops: Sequence[GridwiseGemmOp]) -> bool:
    """Does backward weight by halo read its arrays where they are?"""
    row = row_of(of.algorithm)
    if row is None or "halo" not in row.passes:
        return False
    roots = [map_of(value)[0] for op in ops if halo_weight_tuning(op) for value in (op.a, op.b)]
    return bool(roots) and not any(isinstance(root.owner, WorkspaceOp) for root in roots)


def _with_overlap(product: TunedProduct, op: GridwiseGemmOp, request: Request) -> TunedProduct:
    """With the word whether it may begin before the launch ahead has ended."""
    if not request.machine.overlaps_launches or isinstance(product.tuning, GeneralTuning):
        return product
    block = op.parent
    assert block is not None, op
    ahead = list(takewhile(lambda other: other is not op, block.ops))
    is_first = not any(isinstance(other, LaunchOp | FillOp | GridwiseGemmOp) for other in ahead)
    if is_first:
        return replace(product, is_early=overlap.of_first(product, request.problem))
    return replace(product, is_early=overlap.behind_launch(product, gemm_context(op)))
