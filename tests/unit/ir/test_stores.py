"""A result of which several places are one element: said to whoever wrote it, at every level."""

from __future__ import annotations

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import context, load
from imbrex.ir.from_problem import problem_module
from imbrex.ir.meaning import execute
from imbrex.ir.passes.affix_tuning import AffixTuning
from imbrex.ir.passes.conv_to_gemm import ConvToGemm
from imbrex.ir.passes.gridwise_to_blockwise import GridwiseToBlockwise
from imbrex.ir.printed import print_module
from imbrex.problem import Conv2d

from .levels import Case

OVERLAPPING = Conv2d("backward_data", 1, 4, 12, 12, 4, 3, 3)
APART = Conv2d("backward_data", 1, 4, 12, 12, 4, 3, 3, stride=3)
ADDS = 'store_method = "atomic_add"'


def by_hand(problem: Conv2d, is_tuned: bool) -> str:
    """v1r1 as somebody would write it who forgets how it stores."""
    module = problem_module(problem, algorithm="v1r1")
    ConvToGemm().apply(context(), module)
    if is_tuned:
        AffixTuning(config="v1:general:64,32,32,4,2,2").apply(context(), module)
    text = print_module(module)
    assert (ADDS in text) == (problem is OVERLAPPING)
    return text.replace(f"{ADDS},", "").replace(f",\n      {ADDS}", "")


@pytest.mark.parametrize("is_tuned", [False, True])
def test_a_store_that_would_lose_what_overlaps_is_refused(is_tuned: bool) -> None:
    source = load(by_hand(OVERLAPPING, is_tuned))
    step = GridwiseToBlockwise() if is_tuned else AffixTuning(config="v1:general:64,32,32,4,2,2")
    with pytest.raises(Diagnostic, match="several elements of this view are one element") as caught:
        with source.sources.diagnosing():
            step.apply(context(), source.module)
    assert 'store_method = "atomic_add"' in caught.value.message and caught.value.line is not None


@pytest.mark.parametrize("is_tuned", [False, True])
def test_a_store_that_keeps_apart_needs_no_method(is_tuned: bool) -> None:
    source = load(by_hand(APART, is_tuned).replace('store_method = "set",', ""))
    step = GridwiseToBlockwise() if is_tuned else AffixTuning(config="v1:general:64,32,32,4,2,2")
    step.apply(context(), source.module)


def test_executing_it_is_a_fault() -> None:
    case = Case(OVERLAPPING)
    arrays = case.operands()
    source = load(by_hand(OVERLAPPING, False))
    with pytest.raises(Diagnostic, match=r"sets element .* of an array to several values at once") as caught:
        with source.sources.diagnosing():
            execute(source.module, [arrays[r].copy() for r in OVERLAPPING.roles])
    assert caught.value.line is not None
