"""Units of narrow types on CPUs: every form of a kernel gives the numbers that the widened one gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from tests.host_tuning import for_host
from tests.pairs import in_turn

import imbrex
from imbrex.build.isa import isa
from imbrex.chip import CPU_ISAS, CpuMachine
from imbrex.config import tuning
from imbrex.config.cpu.plan import CpuTuning
from imbrex.problem import parse_problem
from imbrex.run.host_machine import host_machine
from imbrex.view.mma.vector import CPU_UNITS, FMA, units_of

SHAPES = (
    "-m 37 -n 75 -k 99",
    "-m 23 -n 50 -k 130 -transB 1",
    "-m 41 -n 33 -k 71 -transA 1",
    "-m 9 -n 70 -k 64 -transA 1 -transB 1",
    "-m 27 -n 15 -k 99 -transA 1",
)
FORMS = (
    "7,32,42,96,{k},16,k_blocked,b,straight",
    "6,32,36,64,{k},16,k_blocked,a,swapped",
    "9,16,18,48,64,16,k_blocked,a,straight",
    "11,32,33,64,{k},16,k_major,b,straight",
    "20,16,20,48,64,16,k_major,a,straight",
)
"""One product, either operand staying; packed panels in several steps; an A that is cut from columns, in
panels of fewer or more rows than a vector has lanes.
"""
WINDOWS = (
    "-n 2 -c 64 -H 9 -W 7 -k 40 -y 3 -x 3 -p 1 -q 1 -F {way} -I NHWC -f NHWC -O NHWC",
    "-n 2 -c 12 -g 2 -H 11 -W 10 -k 18 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F {way}",
)
FEW_CHANNELS = (
    ("-n 2 -c 3 -H 40 -W 57 -k 18 -y 7 -x 7 -p 3 -q 3 -u 2 -v 2 -F 1", "KYXC", "a"),
    ("-n 1 -c 3 -H 19 -W 64 -k 18 -y 3 -x 3 -p 1 -q 1 -l 2 -j 2 -F 1", "YXCK", "b"),
    ("-n 1 -c 1 -H 9 -W 64 -k 18 -y 3 -x 3 -p 0 -q 2 -F 1", "KYXC", "b"),
)
"""Short runs along k, of no whole words, with padding, in several images; filters of two layouts."""
UNITS = {
    "vdpbf16ps": ("bf16", "convbfp16", (1, 2)),
    "vpdpbusd": ("i8", "convint8", (1, 1)),
    "vpmaddwd": ("i8", "convint8", (1, 1)),
}
"""What each multiplies, what MIOpenDriver calls a convolution of it, and the directions of WINDOWS."""


def host() -> CpuMachine:
    return CPU_ISAS[host_machine().isa.level]


def expect(unit: str) -> None:
    """Skip where the host has it not."""
    if not CPU_UNITS[unit].fits(host()):
        pytest.skip(f"{host().name} has no {unit}")


CASES = [
    *((f"gemm -t {dtype} {shape}", for_host(f"v1:cpu:{form.format(k=256)},{unit}"))
      for unit, (dtype, _, _) in UNITS.items() for form, shape in zip(FORMS, SHAPES, strict=True)),
    *((f"{word} {text.format(way=way)}", None)
      for _, word, ways in dict.fromkeys(UNITS.values()) for text, way in zip(WINDOWS, ways, strict=True)),
    ("gemm -t i8 -m 37 -n 75 -k 99 -g 3 --alpha 2 --beta 3", None),
    ("convbfp16 -n 3 -c 20 -H 9 -W 7 -k 33 -y 3 -x 3 -p 1 -q 1 -F 4", None),
]  # fmt: skip


@pytest.mark.parametrize(("line", "form"), CASES)
def test_products_and_convolutions(line: str, form: str | None, build: Any) -> None:
    """Every form with every transpose; convolutions in all directions, channels last and first, in groups."""
    (problem,) = parse_problem(line)
    given = None if form is None else tuning.parse(form)
    wanted = {u.name for u in units_of(host(), problem.dtype)} - {FMA.name}
    if not wanted if given is None else given.unit not in wanted:
        pytest.skip(f"{host().name} has no such unit of {problem.dtype}")
    built = build(problem, "cpu", given)
    assert all(isinstance(found, CpuTuning) and found.unit != FMA.name for found in built.tunings)
    result = built.run(3)
    assert result.is_right, str(result)


KEPT = {
    "last columns": ("gemm -t bf16 -m 37 -n 75 -k 200", "7,32,42,96,64,16,k_blocked,b,straight,vdpbf16ps"),
    "alpha, beta": (
        "gemm -t bf16 -m 37 -n 75 -k 200 --alpha 2 --beta 3",
        "7,32,42,96,64,16,k_blocked,a,straight,vdpbf16ps",
    ),
    "C turned": (
        "gemm -t bf16 -m 37 -n 75 -k 200 -transB 1",
        "6,32,36,64,64,16,k_blocked,b,swapped,vdpbf16ps",
    ),
    "finished": (
        'gemm -t f16 -m 37 -n 70 -k 200 -g 2 --epilogue "relu(x + bias)"',
        "7,32,42,96,64,16,k_blocked,b,straight",
    ),
    "A cut": ("gemm -t f16 -m 41 -n 33 -k 171 -transA 1", "6,32,36,64,64,16,k_major,b,straight"),
    "any rows": ("gemm -t f16 -m ? -n 33 -k 171", "6,32,36,64,64,16,k_blocked,b,straight"),
}
"""C holds no sums between steps of K, being narrower than they are."""


@pytest.mark.parametrize("case", KEPT)
def test_sums_are_kept_between_steps(case: str) -> None:
    line, form = KEPT[case]
    expect("vdpbf16ps" if "ps" in form else "fma")
    kernel = imbrex.compile(line, tuning=for_host(f"v1:cpu:{form}"), threads=2)
    assert "kept_c" in kernel.bundle.files["gemm.hpp"]
    result = kernel.check()
    assert result.is_right, str(result)


@pytest.mark.parametrize(("case", "unit"), in_turn(FEW_CHANNELS, ["fma", *UNITS], whole=FEW_CHANNELS[:1]))
def test_short_runs_are_read_where_they_lie(case: tuple[str, str, str], unit: str, build: Any) -> None:
    """Rows of a panel that are evenly apart, and those of an edge or of two rows of an image."""
    text, filters, stays = case
    expect(unit)
    word = "conv" if unit == "fma" else UNITS[unit][1]
    (problem,) = parse_problem(f"{word} {text} -I NHWC -f {filters} -O NHWC")
    last = "" if unit == "fma" else f",{unit}"
    built = build(
        problem, "cpu", tuning.parse(for_host(f"v1:cpu:6,32,582,32,192,16,k_blocked,{stays},swapped{last}"))
    )
    result = built.run(3)
    assert result.is_right, str(result)


def test_a_nan_beside_a_short_run_does_not_count(build: Any) -> None:
    """Nine neighbours of bf16 are four pairs and a half: the tenth, of another pixel, meets zeros of B."""
    expect("vdpbf16ps")
    (problem,) = parse_problem("convbfp16 -n 1 -c 3 -H 3 -W 64 -k 16 -y 3 -x 3 -F 1 -I NHWC -f KYXC -O NHWC")
    form = tuning.parse(for_host("v1:cpu:6,16,66,16,32,16,k_blocked,a,swapped,vdpbf16ps"))
    kernel = build(problem, "cpu", form).kernel
    x = np.ones((1, 3, 64, 3), bfloat16)
    x[:, :, 20] = np.nan
    y = np.zeros((1, 1, 62, 16), bfloat16)
    kernel(np.ones((16, 3, 3, 3), bfloat16), x, y, threads=1)
    assert np.flatnonzero(np.isnan(y[0, 0, :, 0].astype(np.float32))).tolist() == [18, 19, 20]


@pytest.mark.parametrize(
    ("level", "unit"),
    [("avx_vnni", "vpdpbusd"), ("avx512_vnni", "vpdpbusd"), ("avx2", "vpmaddwd"), ("avx512", "vpmaddwd")],
)
def test_bytes_are_exact_whatever_they_are(level: str, unit: str, build: Any) -> None:
    """All of i8's values, on each level that has the unit; K is no multiple of what it takes at a time."""
    row = CPU_ISAS[level]
    if not host_machine().isa.features >= row.features:
        pytest.skip(f"this machine has not all of {', '.join(sorted(row.features))}")
    (problem,) = parse_problem("gemm -t i8 -m 13 -n 37 -k 203")
    built = build(problem, level=level)
    (chosen,) = built.tunings
    assert isinstance(chosen, CpuTuning) and chosen.unit == unit, tuning.text(chosen)
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, shape, np.int8) for shape in ((13, 203), (203, 37)))
    a[0], b[:, 0], a[1] = -128, -128, 127
    c = np.full((13, 37), 0x5A5A5A5A, np.int32)
    built.kernel(a, b, c, threads=1)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))


def test_a_level_says_what_compilers_are_told() -> None:
    assert isa("avx512_bf16").flags == ("-march=x86-64-v4", "-mavx512vnni", "-mavx512bf16")
    assert isa("avx512").flags == ("-march=x86-64-v4",)
