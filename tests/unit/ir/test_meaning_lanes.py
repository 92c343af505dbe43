"""Depthwise convolutions by lanes mean what their problem does, as does their text; barriers are needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from imbrex.chip import CPU_ISAS
from imbrex.config.algorithm.depthwise import has_window_vectors, strips_shape
from imbrex.config.algorithm.task import task_of
from imbrex.config.window_strips import served_boxes
from imbrex.ir.dialect import context
from imbrex.ir.from_problem import problem_module
from imbrex.ir.ops import LdsBarrierOp, ThreadwiseGemmOp
from imbrex.ir.passes.channel_vectors import ChannelVectors
from imbrex.ir.passes.window_vectors import WindowVectors
from imbrex.ir.source import InvalidOp
from imbrex.problem import Conv2d
from imbrex.verify.compare import compare
from imbrex.verify.reference import reference

from .levels import Case, computed, reread, same

NHWC = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
FORMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "nhwc": NHWC,
    "strides": {"stride": (2, 3), "pad_h": (1, 1), "pad_w": (2, 0)},
    "nhwc strides": {**NHWC, "stride": 2, "dilation": (1, 2), "pad_h": (0, 1), "pad_w": (2, 2)},
}
DIRECTIONS = ("forward", "backward_data", "backward_weight")
TALL: dict[str, Any] = {"y": 9, "x": 8, "pad_h": (4, 4), "pad_w": (4, 3)}


def case(direction: str, **given: Any) -> Case:
    sizes = {"n": 2, "c": 4, "h": 6, "w": 5, "k": 4, "y": 3, "x": 2, "groups": 4, "dtype": "f16"}
    return Case(Conv2d(direction, **(sizes | given)), algorithm="channel_vectors")  # type: ignore[arg-type]


CASES = [
    *(case(d, **form) for d in DIRECTIONS for form in FORMS.values()),
    *(case(d, **TALL, **NHWC) for d in ("forward", "backward_data")),
]


def lanes(of: Case) -> ModuleOp:
    module = problem_module(of.problem, algorithm=of.algorithm)
    ChannelVectors().apply(context(), module)
    module.verify()
    return module


def windows(of: Case) -> ModuleOp:
    """The form of a CPU with registers of two channels, some rows a workgroup."""
    assert isinstance(of.problem, Conv2d)
    machine = replace(CPU_ISAS["generic"], vector_bytes=8)
    *_, box = served_boxes(strips_shape(task_of(of.problem)), machine)
    module = problem_module(of.problem)
    WindowVectors(box).apply(context(), module)
    module.verify()
    return module


SEVERAL: dict[str, Any] = {"c": 8, "k": 12}
"""Channels of four groups, of which each workgroup has one or more."""
MOVING = [c for c in CASES if isinstance(c.problem, Conv2d) and has_window_vectors(task_of(c.problem))]
MOVING += [case(d, **SEVERAL, **form) for d in DIRECTIONS for form in ({}, NHWC)]


@pytest.mark.parametrize("of", MOVING, ids=str)
def test_vectors_of_windows_compute_the_problem(of: Case) -> None:
    arrays = of.operands()
    found = computed(windows(of), of, arrays)
    outcome = compare(of.problem, found, reference(of.problem, arrays), is_exact=True)
    assert outcome.is_right, str(outcome)


@pytest.mark.parametrize("of", CASES, ids=str)
def test_lanes_compute_the_problem(of: Case) -> None:
    arrays = of.operands()
    found = computed(lanes(of), of, arrays)
    outcome = compare(of.problem, found, reference(of.problem, arrays), is_exact=True)
    assert outcome.is_right, str(outcome)


@pytest.mark.parametrize("of", CASES[1::4], ids=str)
def test_their_text_means_the_same(of: Case) -> None:
    arrays, module = of.operands(), lanes(of)
    assert same(computed(reread(module), of, arrays), computed(module, of, arrays))


@pytest.mark.parametrize("number", [0, 1])
def test_control_a_barrier_less_is_seen(number: int) -> None:
    of = case("backward_weight")
    arrays, module = of.operands(), lanes(of)
    barriers = [op for op in module.walk() if isinstance(op, LdsBarrierOp)]
    Rewriter.erase_op(barriers[number])
    with pytest.raises(InvalidOp):
        computed(module, of, arrays)


def test_control_a_product_less_is_seen() -> None:
    of = case("forward", **NHWC)
    arrays, module = of.operands(), lanes(of)
    first = next(op for op in module.walk() if isinstance(op, ThreadwiseGemmOp))
    Rewriter.erase_op(first)
    assert not compare(of.problem, computed(module, of, arrays), reference(of.problem, arrays)).is_right
