"""Schedules of matrix instructions, executed: LDS layouts, copies, orders of rows, tails of K."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.e2e.covering import Row, covering
from tests.pairs import in_turn, one_in

from imbrex.build.amd.code_object import CodeObject
from imbrex.config.xdlops.space import BLOCKS
from imbrex.dtype import DTYPES
from imbrex.kernel import compile
from imbrex.problem import Gemm

Gpu = Callable[[str], Any]

WAVE = (32, 32)
AXES = {
    "type": ("f32", "f16", "bf16", "f64", "i8"),
    "chip": ("gfx90a", "gfx942", "gfx950"),
    "shape": ((64, 64), (37, 131), (1, 70)),
    "transposed": ((False, False), (True, False), (False, True), (True, True)),
    "waves": ((1, 1), (2, 1), (1, 2), (2, 2)),
    "steps": (0.5, 1, 2, 2.75),
    "lds": ("xor", "padded", "plain", "tiled"),
    "swapped": ("straight", "swapped"),
    "interleave": (1, 2),
    "buffers": (1, 2),
}
DIRECT = {
    "type": ("f32", "f16", "bf16", "i8"),
    "chip": ("gfx942", "gfx950"),
    "shape": ((64, 64), (37, 131)),
    "waves": ((1, 1), (2, 2)),
    "steps": (1, 2, 2.5),
    "lds": ("xor", "plain", "tiled"),
    "swapped": ("straight", "swapped"),
    "interleave": (1, 2),
}
"""Past the registers: lanes load neighbours in k of both operands, so B is transposed."""


def checked(row: Row, copy: str) -> str:
    """What is said of a row; nothing where it is right."""
    pack = 16 // DTYPES[row["type"]].bytes
    block = [size * count for size, count in zip(WAVE, row["waves"], strict=True)]
    words = [row["lds"], copy, row["swapped"], row["interleave"], row.get("buffers", 2)]
    a, b = row.get("transposed", (False, True))
    m, n = row["shape"]
    problem = Gemm(m, n, int(row["steps"] * 4 * pack), transpose_a=a, transpose_b=b, dtype=row["type"])
    tuning = ",".join(map(str, [*block, 4, *WAVE, pack, "auto", *words]))
    outcome = compile(problem, row["chip"], f"v1:xdlops:{tuning}").check(1)
    return "" if outcome.is_right and outcome.is_exact else f"{row}: {outcome}"


AHEAD = {
    "type": ("f16", "bf16", "i8", "f8e4m3fn"),
    "chip": ("gfx950",),
    "shape": ((64, 64), (37, 131)),
    "waves": ((1, 1), (2, 2), (2, 1)),
    "steps": (1, 2, 2.5, 4, 7),
    "lds": ("xor", "tiled"),
    "swapped": ("straight", "swapped"),
    "interleave": (1, 2),
    "buffers": (2, 3, 4),
}
STAGED = one_in(2, covering(AXES, lambda row: True))
PAST_REGISTERS = one_in(2, covering(DIRECT, lambda row: True, seed=3))


@pytest.mark.parametrize("row", STAGED, ids=str)
def test_staged(row: Row, gpu: Gpu) -> None:
    gpu(row["chip"])
    assert not checked(row, "staged")


@pytest.mark.parametrize("row", PAST_REGISTERS, ids=str)
def test_direct(row: Row, gpu: Gpu) -> None:
    gpu(row["chip"])
    assert not checked(row, "direct")


TURNED = {
    "type": ("f16", "bf16", "i8", "f8e4m3fn"),
    "shape": ((64, 64), (48, 144)),
    "transposed": ((False, False), (True, False), (True, True)),
    "waves": ((1, 1), (2, 2)),
    "steps": (1, 2.5, 4),
    "lds": ("xor", "plain"),
    "copy": ("direct", "ahead"),
    "swapped": ("straight", "swapped"),
    "interleave": (1, 2),
    "instruction": ("16", "32"),
}
"""Operands whose neighbours lie along m or n: lanes transpose what they read of LDS."""
LARGEST = {
    "f16": "mfma_f32_32x32x16_f16", "bf16": "mfma_f32_32x32x16_bf16", "i8": "mfma_i32_32x32x32_i8",
    "f8e4m3fn": "mfma_f32_32x32x64_fp8_fp8",
}  # fmt: skip


def is_whole(row: Row) -> bool:
    """Rows in turn are four by four, of which eight bytes of 8-bit elements are twice as many."""
    if row.get("interleave") != 2 or DTYPES[row.get("type", "f16")].bytes == 2:
        return True
    if not {"type", "transposed", "swapped"} <= row.keys():
        return True
    (a, b), is_swapped = row["transposed"], row["swapped"] == "swapped"
    return b if is_swapped else not a


READ_TURNED = one_in(2, covering(TURNED, is_whole))


@pytest.mark.parametrize("row", READ_TURNED, ids=str)
def test_turned(row: Row, gpu: Gpu) -> None:
    gpu("gfx950")
    dtype, (m, n), (a, b) = row["type"], row["shape"], row["transposed"]
    is_large = row["instruction"] == "32"
    pack = 32 if is_large and dtype == "f8e4m3fn" else 16 // DTYPES[dtype].bytes
    block = [64 * row["waves"][0], 32 * row["waves"][1]]
    words = [row[key] for key in ("lds", "copy", "swapped", "interleave")]
    tuning = [*block, 4, 64, 32, pack, LARGEST[dtype] if is_large else "auto", *words]
    problem = Gemm(m, n, int(row["steps"] * 4 * pack), transpose_a=a, transpose_b=b, dtype=dtype)
    kernel = compile(problem, "gfx950", f"v1:xdlops:{','.join(map(str, tuning))}")
    assert isinstance(kernel.library, CodeObject) and "ds_read_b64_tr_b" in kernel.library.assembly
    outcome = kernel.check(1)
    assert outcome.is_right and outcome.is_exact, outcome


READ_AHEAD = one_in(2, covering(AHEAD, lambda row: True))


@pytest.mark.parametrize("row", READ_AHEAD, ids=str)
def test_ahead(row: Row, gpu: Gpu) -> None:
    gpu(row["chip"])
    assert not checked(row, "ahead")


THROUGH_REGISTERS = {
    "type": ("f16", "bf16", "i8", "f8e4m3fnuz"),
    "transposed": ((False, False), (True, False), (False, True), (True, True)),
    "steps": (1, 2, 2.5, 5, 6),
    "pack": (8, 16),
    "buffers": (2, 3),
    "tile": ("64,64,8,32,32", "64,96,8,32,48", "64,32,16,32,16"),
    "lds": ("xor", "padded"),
    "swapped": ("straight", "swapped"),
    "schedule": ("data_parallel", "stream_k:5"),
}
"""Read ahead through registers, one tile or two on their way; some tiles have rows beyond them in LDS."""
STAGED_AHEAD = one_in(2, covering(THROUGH_REGISTERS, lambda row: True))


@pytest.mark.parametrize("row", STAGED_AHEAD, ids=str)
def test_read_ahead_through_registers(row: Row, gpu: Gpu) -> None:
    gpu("gfx942")
    dtype, (a, b) = row["type"], row["transposed"]
    pack, k_packs = row["pack"] // DTYPES[dtype].bytes, int(row["tile"].split(",")[2])
    problem = Gemm(130, 104, int(row["steps"] * k_packs * pack), transpose_a=a, transpose_b=b, dtype=dtype)
    how = f"{row['lds']},staged_ahead,{row['swapped']},1,{row['buffers']}"
    tuning = f"v1:xdlops:{row['tile']},{pack},auto,{how}"
    outcome = compile(problem, "gfx942", tuning, schedule=row["schedule"]).check(1)
    assert outcome.is_right and outcome.is_exact, outcome


@pytest.mark.parametrize(
    ("axes", "rows"),
    [
        (THROUGH_REGISTERS, STAGED_AHEAD),
        (AXES, STAGED),
        (DIRECT, PAST_REGISTERS),
        (TURNED, READ_TURNED),
        (AHEAD, READ_AHEAD),
    ],
)
def test_every_value_is_met(axes: dict[str, Any], rows: list[Row]) -> None:
    met = {entry for row in rows for entry in row.items()}
    assert met == {(name, value) for name, values in axes.items() for value in values}


@pytest.mark.parametrize(("packs", "buffers"), in_turn([2, 4], [2, 3, 4]))
def test_read_ahead_by_workgroups_that_share_tiles(packs: int, buffers: int, gpu: Gpu) -> None:
    """How many steps there are is known when it runs; a step has one part, or two."""
    gpu("gfx950")
    problem = Gemm(128, 192, 160, transpose_b=True, dtype="f16")
    tuning = f"v1:xdlops:64,64,{packs},64,32,8,mfma_f32_32x32x16_f16,xor,ahead,swapped,1,{buffers}"
    outcome = compile(problem, "gfx950", tuning, schedule="stream_k:5").check(1)
    assert outcome.is_right and outcome.is_exact, outcome


@pytest.mark.parametrize("copy", ["staged", "direct"])
@pytest.mark.parametrize("packs", [2, 4])
@pytest.mark.parametrize("kind", ["xor", "tiled"])
def test_fragments_of_32_bytes(kind: str, packs: int, copy: str, gpu: Gpu) -> None:
    """8-bit floats at gfx950's double rate: two packs of LDS for each lane."""
    gpu("gfx950")
    problem = Gemm(37, 70, 80 * packs, transpose_b=True, dtype="f8e4m3fn")
    outcome = compile(problem, "gfx950", f"v1:xdlops:64,64,{packs},32,32,32,auto,{kind},{copy}").check(1)
    assert outcome.is_right and outcome.is_exact, outcome


RECTANGLES = ((128, 2), (64, 4), (256, 4), (256, 2))


@pytest.mark.parametrize(
    ("items", "dtype"), in_turn(RECTANGLES, ["f16", "i8", "f8e4m3fnuz"], whole=[RECTANGLES[0]])
)
def test_transposition_in_registers(dtype: str, items: tuple[int, int], gpu: Gpu) -> None:
    """Neighbours of B lie along n: rectangles of several shapes change from rows to packs."""
    gpu("gfx942")
    (columns, packs), pack = items, 16 // DTYPES[dtype].bytes
    problem = Gemm(20, columns, 2 * packs * pack, dtype=dtype)
    tuning = f"{columns},32,{packs},{columns // 2},32,{pack},auto,xor,staged,swapped,1,1"
    outcome = compile(problem, "gfx942", f"v1:xdlops:{tuning}").check(1)
    assert outcome.is_right and outcome.is_exact, outcome


UNEVEN = [block for block in BLOCKS if any(size & size - 1 for size in block)]
"""Blocks that are no power of two, of the list that a model chooses from."""


@pytest.mark.parametrize(
    ("block", "how"), in_turn(UNEVEN, [("gfx942", "staged", "bf16"), ("gfx950", "direct", "f16")])
)
def test_blocks_that_are_no_power_of_two(
    block: tuple[int, int, int, int], how: tuple[str, str, str], gpu: Gpu
) -> None:
    chip, copy, dtype = how
    gpu(chip)
    m, n, *wave = block
    words = "1,1" if copy == "staged" else "1,2"
    tuning = f"v1:xdlops:{m},{n},8,{wave[0]},{wave[1]},8,auto,xor,{copy},swapped,{words}"
    problem = Gemm(n + 8, m - 8, 160, transpose_b=True, dtype=dtype)
    outcome = compile(problem, chip, tuning).check(1)
    assert outcome.is_right and outcome.is_exact, outcome
