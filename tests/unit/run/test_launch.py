"""Steps survive the cache as JSON."""

from __future__ import annotations

import json

from imbrex.dtype import F32
from imbrex.lower.buffer import Buffer
from imbrex.lower.stmt import Kernel, Program, ZeroFill
from imbrex.pipeline import steps_of
from imbrex.run.launch import Launch, Zero, from_json, to_json


def test_json_gives_back_the_steps() -> None:
    early = Launch("k_3", 8, 384, (0, 2), 100_000, 4, is_early=True)
    steps = (Zero(2), Launch("k_1", 7, 256, (0, 1, 2)), Launch("k_2", 1, 64, (2,)), early)
    assert from_json(json.loads(json.dumps(to_json(steps)))) == steps


def test_steps_of_a_program_name_arrays_by_place() -> None:
    a, b, c = (Buffer(name, F32, 4, "global") for name in "abc")
    kernel = Kernel("p_1", (a, c), frozenset({"c"}), 3, 64, ())
    program = Program("p", (a, b, c), (ZeroFill(c), kernel), frozenset({"c"}))
    assert steps_of(program, "gfx942") == (Zero(2), Launch("p_1", 3, 64, (0, 2)))
