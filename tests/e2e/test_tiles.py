"""Kernels of AMX's tiles, in software: forms against float64, the unit's own numbers, and what its model
finds wrong.  With IMBREX_TESTS=all every form.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import bfloat16

import imbrex
from imbrex.build.isa import has_level, isa
from imbrex.build.shared_library import build_shared
from imbrex.chip import CPU_ISAS
from imbrex.config.context import round_up
from imbrex.config.cpu.plan import CpuTuning
from imbrex.diagnostic import Diagnostic
from imbrex.run.arrays import Array
from imbrex.run.cpu import Parameter
from imbrex.run.emulated import load_emulated
from imbrex.verify.compare import compare
from imbrex.verify.reference import reference
from imbrex.view.mma.vector import CPU_UNITS

LENT = CPU_ISAS["amx"].lent

pytestmark = pytest.mark.skipif(not has_level(LENT), reason=f"this machine is no {LENT}")

FORMS = (
    ("-m 137 -n 75 -k 99", "48,16,96,96,1024,16,k_blocked,b,straight"),
    ("-m 23 -n 150 -k 130 -transB 1", "32,32,64,64,1024,16,k_blocked,a,swapped"),
    ("-m 141 -n 133 -k 300", "16,64,48,64,128,16,k_blocked,a,straight"),
    ("-m 70 -n 70 -k 64 -transA 1 -transB 1", "32,32,64,64,1024,16,k_major,b,straight"),
    ("-m 127 -n 150 -k 290 -transA 1", "16,48,32,96,128,16,k_major,b,straight"),
    ("-m 9 -n 70 -k 77 -transB 1", "9,32,18,64,1024,16,k_blocked,b,straight"),
    ("-m 79 -n 70 -k 77", "64,16,64,64,1024,16,k_blocked,a,straight"),
    ("-m 64 -n 96 -k 300 --beta 1", "32,32,64,96,128,16,k_blocked,a,straight"),
    ("-m 70 -n 96 -k 300 --alpha 2 --beta 3", "32,32,64,96,128,16,k_blocked,a,straight"),
)
"""Every shape of sums; A in place, packed, cut from columns, turned; few last rows, columns, k."""
CONVOLUTIONS = (
    "-n 2 -c 64 -H 19 -W 17 -k 40 -y 3 -x 3 -p 1 -q 1 -F {way} -I NHWC -f NHWC -O NHWC",
    "-n 2 -c 12 -g 2 -H 11 -W 10 -k 18 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F {way}",
    "-n 1 -c 96 -H 14 -W 14 -k 64 -y 1 -x 1 -F {way}",
    "-n 1 -c 160 -g 2 -H 9 -W 9 -k 96 -y 3 -x 3 -p 1 -q 1 -F {way}",
)
IN_PLACE = (
    (9, "-n 3 -c {c} -H 9 -W 16 -k 40 -y 3 -x 3 -p 1 -q 1", "32,32,96,64,{k},16,k_blocked,a,swapped"),
    (6, "-n 1 -c {c} -H 5 -W 47 -k 24 -y 3 -x 2 -p 3 -q 2 -l 2", "32,32,96,64,{step},16,k_blocked,b,swapped"),
    (
        5,
        "-n 2 -c {g} -g 2 -H 7 -W 33 -k 6 -y 1 -x 5 -q 2 -u 2 -j 2",
        "16,48,48,48,{k},16,k_blocked,a,swapped",
    ),
    (7, "-n 1 -c {c} -H 20 -W 4 -k 17 -y 7 -x 1 -p 3", "48,16,96,16,{k},16,k_blocked,b,swapped"),
)
"""Taps of a window, the window, a tuning.  Rows of images that are whole tiles or not, strides, dilations,
pads of more than a window, last panels of few rows, steps that are one tap, or two.
"""
HALVES = ((2, 4, 2, 4), (5, 7, 5, 7))
"""Halves of a tile's width that a pixel's channels are, of each of these windows: whole tiles, and tiles that
cross taps.
"""
UNITS = {"bf16": "tdpbf16ps", "i8": "tdpbssd"}


def every() -> list[tuple[str, str | None]]:
    products = [(f"gemm -t {t} {s}", f"v1:cpu:{form},{UNITS[t]}") for t in UNITS for s, form in FORMS]
    windows = [f"convbfp16 {text.format(way=way)}" for text in CONVOLUTIONS for way in (1, 2, 4)]
    windows += [f"convint8 {text.format(way=1)}" for text in CONVOLUTIONS]
    further = (
        "bf16 -m 1 -n 15 -k 5",
        "i8 -m 37 -n 75 -k 99 -g 3 --alpha 2 --beta 3",
        "bf16 -m 100 -n 36 -k 700 -transA 1",
    )
    chosen = [*windows, *(f"gemm -t {words}" for words in further)]
    chosen.append("gemm -t bf16 -m 120 -n 75 -k 99 --epilogue 'relu(x + bias) + residual'")
    return [*products, *((line, None) for line in chosen)]


def in_place() -> Iterator[tuple[str, str]]:
    """Those of whole tiles and those of others, of either type, one after the other."""
    for (taps, text, form), *halves in zip(IN_PLACE, *HALVES, strict=True):
        for word, t, width in (("convbfp16", "bf16", 32), ("convint8", "i8", 64)):
            for count in halves:
                c = count * width // 2
                line = f"{word} {text.format(c=c, g=2 * c)} -F 1 -I NHWC -f NHWC -O NHWC"
                k, step = round_up(taps * c, width), c if count % 2 == 0 else 2 * c
                yield line, f"v1:cpu:{form.format(k=k, step=step)},{UNITS[t]}"


CASES = [*every()[::5], *[*in_place()][::3]]
if os.environ.get("IMBREX_TESTS") == "all":
    CASES = [*every(), *in_place()]


@pytest.mark.parametrize(("line", "tuning"), CASES)
def test_right(line: str, tuning: str | None) -> None:
    kernel = imbrex.compile(line, "amx", tuning, emulate=True, threads=2)
    units = {t.unit for t in kernel.tunings if isinstance(t, CpuTuning)}
    assert units == {UNITS[kernel.problem.dtype.name]}
    found = kernel.check()
    assert found.is_right, str(found)


def test_bytes_are_exact_whatever_they_are() -> None:
    kernel = imbrex.compile("gemm -t i8 -m 21 -n 37 -k 203", "amx", emulate=True, threads=1)
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, shape, np.int8) for shape in ((21, 203), (203, 37)))
    a[0], b[:, 0], a[1] = -128, -128, 127
    np.testing.assert_array_equal(kernel(a, b), a.astype(np.int32) @ b.astype(np.int32))


def test_the_numbers_of_tdpbf16ps() -> None:
    """Intel SDM, TDPBF16PS: even and odd k are summed apart, and before they are added to C; a subnormal
    operand is 0, and so is a subnormal sum.
    """
    kernel = imbrex.compile("gemm -t bf16 -m 1 -n 1 -k 64", "amx", emulate=True, threads=1)

    def sum_of(**at: float) -> float:
        """Of a times ones, a's elements by their places."""
        a, b = np.zeros((1, 64), bfloat16), np.ones((64, 1), bfloat16)
        for place, value in at.items():
            a[0, int(place[1:])] = value
        return float(kernel(a, b)[0, 0])

    tiny = 2.0**-8
    assert sum_of(k0=1.0, k2=tiny) == float(bfloat16(1.0 + tiny))
    assert sum_of(k0=2.0**-130, k1=2.0**-126) == 2.0**-126
    assert sum_of(k0=2.0**-126) == 2.0**-126, "the least that is none"
    assert sum_of(k0=2.0**-126, k2=-1.5 * 2.0**-126, k33=2.0**-126) == 2.0**-126, (
        "the even ones' sum is a zero"
    )
    assert sum_of(k0=2.0**127, k1=2.0**127, k32=-(2.0**127)) == np.inf, "sums overflow before they meet C"


DAMAGES = (
    ("  ~configured_tiles() { amx::release(); }", "  ~configured_tiles() {}", "TILERELEASE: 1 threads"),
    ("amx::configure(by);", "(void)by;", "tile 0 is not configured"),
    ("by.palette = 1;", "by.palette = 2;", "LDTILECFG: palette 2"),
    ("by.rows[i] = tile_rows", "by.rows[i] = 17", "LDTILECFG: tile 0 has 17 rows of 64 bytes"),
    ("by.row_bytes[i] = tile_bytes", "by.row_bytes[i] = 0", "LDTILECFG: tile 0 has 16 rows of 0 bytes"),
    ("i < 8; ++i) by", "i < 9; ++i) by", "LDTILECFG: tile 8, there are 8"),
    ("4 + of_a + V % of_b", "4 + V % of_b", "are not three"),
    ("by.row_bytes[i] = tile_bytes", "by.row_bytes[i] = i == 7 ? 32 : tile_bytes",
     "TDPBF16PS: 16 x 64 bytes of A by 16 x 32 of B"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "wrong", "fault"), DAMAGES, ids=[d[-1] for d in DAMAGES])
def test_the_model_finds_what_an_instruction_faults_on(text: str, wrong: str, fault: str) -> None:
    kernel = imbrex.compile("gemm -t bf16 -m 32 -n 32 -k 64", "amx", emulate=True, threads=1)
    sources = dict(kernel.bundle.files)
    file = "device/cpu/tile.h"
    assert sources[file].count(text) == 1
    sources[file] = sources[file].replace(text, wrong)
    library = build_shared(sources, isa=isa(LENT))
    shapes = {"a": (32, 64), "b": (64, 32), "c": (32, 32)}
    arrays: list[Array] = [np.ones(shape, bfloat16) for shape in shapes.values()]
    parameters = [Parameter(n, s, np.dtype(bfloat16), is_written=n == "c") for n, s in shapes.items()]
    damaged = load_emulated(Path(library.path), f"imbrex_{kernel.name}", tuple(parameters), has_tiles=True)
    with pytest.raises(Diagnostic, match="does what tiles do not") as caught:
        damaged(*arrays, threads=1)
    assert fault in caught.value.message


@pytest.mark.parametrize("level", [LENT, "amx"])
def test_the_bound_knows_that_subnormal_operands_are_zeros(level: str) -> None:
    """Products of them would be normal numbers, and are all lost: more than a plain unit's bound permits."""
    kernel = imbrex.compile("gemm -t bf16 -m 24 -n 40 -k 90", level, emulate=level == "amx", threads=1)
    (tuning,) = kernel.tunings
    assert isinstance(tuning, CpuTuning)
    unit = CPU_UNITS[tuning.unit].adder
    random = np.random.default_rng(3)

    def drawn(shape: tuple[int, int], low: int, high: int) -> Array:
        return (random.choice([-1.0, 1.0], shape) * 2.0 ** random.uniform(low, high, shape)).astype(bfloat16)

    a, b = drawn((24, 90), -132, -122), drawn((90, 40), -10, 100)
    got = kernel(a, b)
    truths = [reference(kernel.problem, {"a": a, "b": b}, flushes=flushes) for flushes in (True, False)]
    found = [compare(kernel.problem, got, truth, data="any", unit=unit) for truth in truths]
    assert found[0].is_right, str(found[0])
    assert found[1].wrong > got.size // 2
    kept = reference(kernel.problem, {"a": drawn((24, 90), -125, -60), "b": b}, flushes=True)
    assert kept.lost is None
    tiny = {"a": drawn((24, 90), -70, -63), "b": drawn((90, 40), -70, -63)}
    sums = compare(
        kernel.problem, kernel(*tiny.values()), reference(kernel.problem, tiny, flushes=True), unit=unit
    )
    assert sums.is_right, str(sums)
