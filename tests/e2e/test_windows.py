"""Convolutions of few channels a group by vectors of channels and of pixels: at every edge, in any type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.pairs import in_turn

from imbrex import compile
from imbrex.build.isa import host_isa
from imbrex.chip import CPU_ISAS
from imbrex.config.algorithm.depthwise import strips_shape
from imbrex.config.algorithm.task import task_of
from imbrex.config.strips import Box
from imbrex.config.window_strips import served_boxes
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Problem, parse_problem
from imbrex.verify.compare import compare
from imbrex.verify.data import random_operands
from imbrex.verify.reference import reference

LAST = " -f NHWC -I NHWC -O NHWC"
LIE = {"pixels": "", "turned": "", "channels": LAST}
"""How arrays lie, and of which vectors are: those of channels are turned where pixels are neighbours."""
EDGES = (
    "-c 19 -H 13 -W 35 -k 19 -g 19 -y 3 -x 5 -p 0 -q 2 -u 2 -v 1",
    "-c 33 -H 17 -W 17 -k 33 -g 33 -y 5 -x 3 -p 2 -q 1 -u 3 -v 3",
    "-c 8 -H 20 -W 21 -k 8 -g 8 -y 3 -x 3 -p 2 -q 4 -u 2 -v 2 -l 2 -j 3",
    "-c 17 -H 1 -W 40 -k 17 -g 17 -y 1 -x 5 -p 0 -q 2",
    "-c 3 -H 20 -W 20 -k 3 -g 3 -y 9 -x 9 -p 4 -q 4",
)


GROUPS = (
    ("-c 20 -H 13 -W 35 -k 20 -g 5 -y 3 -x 5 -p 0 -q 2 -u 2 -v 1", 1, "conv"),
    ("-c 12 -H 9 -W 17 -k 24 -g 4 -y 3 -x 3 -p 1 -q 1 -l 2 -j 2", 1, "conv"),
    ("-c 72 -H 7 -W 9 -k 72 -g 3 -y 3 -x 3 -p 1 -q 1 -u 1 -v 2", 1, "convint8"),
    ("-c 12 -H 9 -W 11 -k 24 -g 4 -y 3 -x 3 -p 1 -q 1", 2, "convbfp16"),
    ("-c 27 -H 7 -W 37 -k 27 -g 3 -y 5 -x 3 -p 2 -q 1 -u 2 -v 3", 1, "conv"),
    ("-c 27 -H 14 -W 14 -k 27 -g 3 -y 3 -x 3 -p 1 -q 1", 2, "conv"),
    ("-c 16 -H 9 -W 70 -k 32 -g 2 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2", 1, "convbfp16"),
    ("-c 38 -H 7 -W 9 -k 19 -g 19 -y 3 -x 3 -p 1 -q 1", 1, "conv"),
    ("-c 19 -H 7 -W 9 -k 38 -g 19 -y 3 -x 3 -p 1 -q 1", 1, "conv"),
)
"""Some groups to a vector, one that is half empty, types that no instruction turns, gradients, two channels
that are read for one that is written and the other way around; nine and sixteen, more
than are summed at a time.
"""
FILTERS = (
    ("-n 2 -c 33 -H 17 -W 17 -k 33 -g 33 -y 5 -x 3 -p 2 -q 1 -u 3 -v 3", "conv"),
    ("-n 2 -c 20 -H 13 -W 35 -k 40 -g 5 -y 3 -x 5 -p 0 -q 2 -u 2 -v 1 -l 1 -j 2", "convfp16"),
    ("-n 5 -c 24 -H 20 -W 20 -k 18 -g 2 -y 3 -x 3 -p 1 -q 1", "conv"),
    ("-n 1 -c 20 -H 37 -W 50 -k 32 -g 2 -y 1 -x 1 -p 0 -q 0", "convbfp16"),
    ("-n 3 -c 42 -H 19 -W 30 -k 96 -g 3 -y 3 -x 3 -p 1 -q 2 -u 1 -v 2 -l 2 -j 1", "conv"),
    ("-n 2 -c 17 -H 9 -W 11 -k 17 -g 17 -y 3 -x 4 -p 3 -q 4 -u 2 -v 1 -l 1 -j 2", "conv"),
)
"""Gradients of filters: depthwise, columns apart, two images at a time and one that is left, rows that are
cut in two, vectors of 16 and of 32 filters, and images that are read where they lie, all edges of which a
window reaches beyond.
"""


def line(edge: str, direction: int = 1, more: str = "", verb: str = "conv") -> str:
    return f"{verb} -n 2 {edge} -F {direction}{more}"


def right(text: str, lie: str, **given: str) -> None:
    (problem,) = parse_problem(text)
    kernel = compile(problem, threads=2, config=config(problem, lie, **given), **given)
    assert str(kernel.check()).startswith("right")


def config(problem: Problem, lie: str, target: str | None = None) -> str:
    """Vectors of channels or of pixels: planes have both, fewest and most channels of a workgroup."""
    boxes = served_boxes(strips_shape(task_of(problem)), CPU_ISAS[target or host_isa().level])
    box = (max if lie == "turned" else min)(boxes, key=lambda box: box.slots)
    return spelled(box)


def spelled(box: Box) -> str:
    return f"v2:window_vectors+strips={','.join(map(str, box))}"


@pytest.mark.parametrize(("edge", "lie"), in_turn(EDGES, list(LIE), whole=[EDGES[2]]))
def test_edges_strides_and_dilations(edge: str, lie: str) -> None:
    right(line(edge, more=LIE[lie]), lie)


@pytest.mark.parametrize(("group", "lie"), in_turn(GROUPS, list(LIE), whole=[GROUPS[0], GROUPS[3]]))
def test_several_channels_a_group(group: tuple[str, int, str], lie: str) -> None:
    edge, direction, verb = group
    right(line(edge, direction, LIE[lie], verb), lie)


@pytest.mark.parametrize(("case", "lie"), in_turn(FILTERS, list(LIE), whole=[FILTERS[1], FILTERS[2]]))
def test_gradients_of_filters(case: tuple[str, str], lie: str) -> None:
    edge, verb = case
    right(f"{verb} {edge} -F 4{LIE[lie]}", lie)


@pytest.mark.parametrize("lie", LIE)
def test_gradients_without_strides(lie: str) -> None:
    right(line("-c 19 -H 9 -W 21 -k 19 -g 19 -y 3 -x 5 -p 1 -q 3 -l 2 -j 1", 2, LIE[lie]), lie)


PHASES = (
    ("-c 19 -H 13 -W 35 -k 19 -g 19 -y 3 -x 5 -p 0 -q 2 -u 2 -v 2", "conv"),
    ("-c 9 -H 20 -W 21 -k 9 -g 9 -y 3 -x 3 -p 2 -q 4 -u 2 -v 3 -l 2 -j 3", "convbfp16"),
    ("-c 24 -H 13 -W 35 -k 24 -g 6 -y 5 -x 3 -p 0 -q 2 -u 2 -v 3", "conv"),
    ("-c 27 -H 17 -W 36 -k 27 -g 3 -y 2 -x 7 -p 0 -q 3 -u 4 -v 2", "convfp16"),
)
"""Strides under which sums take turns: depthwise, in parts of rows too, rows without taps, and groups of four
and of nine.
"""


@pytest.mark.parametrize(("case", "lie"), in_turn(PHASES, list(LIE), whole=[PHASES[0]]))
def test_gradients_under_strides(case: tuple[str, str], lie: str) -> None:
    edge, verb = case
    (problem,) = parse_problem(line(edge, 2, LIE[lie], verb))
    *_, parts = served_boxes(strips_shape(task_of(problem)), CPU_ISAS[host_isa().level])
    for strips in [config(problem, lie)] + [spelled(parts)] * (case == PHASES[0]):
        assert str(compile(problem, threads=2, config=strips).check()).startswith("right")


IN_PLACE = (
    ("-c 48 -H 9 -W 23 -k 48 -g 48 -y 3 -x 3 -p 1 -q 1", 1, (16, 48)),
    ("-c 48 -H 9 -W 23 -k 48 -g 48 -y 3 -x 5 -p 1 -q 2 -u 2 -v 2", 1, (48,)),
    ("-c 64 -H 13 -W 8 -k 64 -g 64 -y 5 -x 3 -p 2 -q 1 -u 2 -v 1", 2, (32, 64)),
    ("-c 512 -H 7 -W 14 -k 512 -g 512 -y 3 -x 3 -p 1 -q 1", 1, (512,)),
)
"""Whole vectors of channels that are read where they lie: some, and all, whose rows share sets of a cache; in
strips of all rows and of few.
"""


@pytest.mark.parametrize("case", IN_PLACE)
def test_channels_are_read_in_place(case: tuple[str, int, tuple[int, ...]]) -> None:
    edge, direction, slots = case
    (problem,) = parse_problem(line(edge, direction, LAST))
    boxes = served_boxes(strips_shape(task_of(problem)), CPU_ISAS[host_isa().level])
    for count in slots:
        for box in [b for b in boxes if b.slots == count][:: max(1, len(boxes) // 24)][:4:3]:
            assert str(compile(problem, threads=2, config=spelled(box)).check()).startswith("right")


TYPES = ("convfp16", "convbfp16", "convint8")


@pytest.mark.parametrize(("verb", "lie"), in_turn(TYPES, list(LIE), whole=["convint8"]))
def test_narrow_types_are_widened(verb: str, lie: str) -> None:
    right(line(EDGES[2], more=LIE[lie], verb=verb), lie)


@pytest.mark.parametrize(("target", "lie"), in_turn(("avx2", "generic"), list(LIE)))
def test_narrower_registers(target: str, lie: str) -> None:
    for edge in (EDGES[2], GROUPS[0][0], GROUPS[4][0]):
        right(line(edge, more=LIE[lie]), lie, target=target)
    right(line(PHASES[0][0], 2, LIE[lie]), lie, target=target)
    for edge, verb in FILTERS[1::3]:
        right(f"{verb} {edge} -F 4{LIE[lie]}", lie, target=target)


FINISHED = (EDGES[0], GROUPS[0][0], GROUPS[4][0])
"""Depthwise, groups of four and of nine."""


@pytest.mark.parametrize(("edge", "lie"), in_turn(FINISHED, list(LIE), whole=[EDGES[0]]))
def test_epilogues(edge: str, lie: str) -> None:
    (problem,) = parse_problem(line(edge, more=LIE[lie]))
    finished = replace(problem, epilogue="relu(x + bias + residual)")
    assert str(compile(finished, config=config(problem, lie)).check()).startswith("right")


def test_epilogues_of_whole_numbers_that_are_turned() -> None:
    (problem,) = parse_problem(line(EDGES[0], verb="convint8"))
    finished = replace(problem, epilogue="i8(relu(0.01 * x + bias))")
    assert str(compile(finished, config=config(problem, "turned")).check()).startswith("right")


def test_gradients_of_strides_beyond_an_image_stay_products() -> None:
    (problem,) = parse_problem(line("-c 8 -H 2 -W 9 -k 8 -g 8 -y 3 -x 3 -p 1 -q 1 -u 3 -v 3", 2))
    assert compile(problem).algorithm == "v1r1"
    assert compile(problem).check(values="float").is_right
    with pytest.raises(Diagnostic, match="of gradients of images, for strides within an image"):
        compile(problem, algorithm="window_vectors")


@pytest.fixture
def left_behind() -> Callable[[], None]:
    """Fills the scratch memory that the next kernel gets with what is no number."""
    kernel = compile("conv -n 2 -c 64 -H 40 -W 40 -k 64 -y 3 -x 3 -p 1 -q 1 -g 64 -F 4")
    return lambda: kernel(*(np.full(o.shape, np.nan, np.float32) for o in kernel.problem.operands), threads=1)


@pytest.mark.parametrize("lie", LIE)
@pytest.mark.parametrize("edge", [EDGES[1], GROUPS[3][0], "-c 19 -H 9 -W 9 -k 19 -y 3 -x 3 -p 1 -q 1 -g 19"])
def test_what_another_kernel_left_in_memory_is_not_computed_with(
    edge: str, lie: str, left_behind: Callable[[], None]
) -> None:
    for direction in (1, 4):
        (problem,) = parse_problem(line(edge, direction, LIE[lie]))
        kernel, operands = compile(problem), random_operands(problem, 0, "integer").arrays
        truth = reference(problem, operands)
        left_behind()
        kernel(*(operands[o.role] for o in problem.operands), threads=1)
        found = compare(problem, operands[problem.written], truth, is_exact=True)
        assert found.is_right, (direction, str(found))
