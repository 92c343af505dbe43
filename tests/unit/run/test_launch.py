"""Steps survive the cache as JSON."""

from __future__ import annotations

import json

from imbrex.dtype import F32
from imbrex.lower.buffer import Buffer
from imbrex.lower.stmt import Kernel, Program, ZeroFill
from imbrex.pipeline import steps_of
from imbrex.run.launch import Launch, RunTimeGrid, Zero, from_json, to_json


def test_json_gives_back_the_steps() -> None:
    early = Launch("k_3", 8, 384, (0, 2), 100_000, 4, is_early=True)
    steps = (Zero(2), Launch("k_1", 7, 256, (0, 1, 2)), Launch("k_2", 1, 64, (2,), has_flags=True), early)
    assert from_json(json.loads(json.dumps(to_json(steps)))) == steps


def test_steps_of_a_program_name_arrays_by_place() -> None:
    a, b, c = (Buffer(name, F32, 4, "global") for name in "abc")
    kernel = Kernel("p_1", (a, c), frozenset({"c"}), 3, 64, ())
    program = Program("p", (a, b, c), (ZeroFill(c), kernel), frozenset({"c"}))
    assert steps_of(program, "gfx942") == (Zero(2), Launch("p_1", 3, 64, (0, 2)))


def test_a_launch_is_for_its_run_time_sizes_and_no_others() -> None:
    """Both ends among them; as many workgroups as tiles of that size, and no more than the plan has."""
    of = RunTimeGrid(3, 200, tile=64, each=5, most=12)
    launch = Launch("k", 12, 256, (0, 1, 2), run_time=of)
    counts = {size: found and (found.grid_size, found.count, found.run_time) for size in (
        2, 3, 64, 65, 128, 129, 200, 201,
    ) for found in [launch.at(size)]}  # fmt: skip
    assert counts == {
        2: None, 3: (5, 3, None), 64: (5, 64, None), 65: (10, 65, None), 128: (10, 128, None),
        129: (12, 129, None), 200: (12, 200, None), 201: None,
    }  # fmt: skip
    assert RunTimeGrid(1, 9, tile=4, each=1, most=99, rows=3).at(3) == 3
    fixed = Launch("k", 12, 256, (0,))
    assert fixed.at(7) is fixed
