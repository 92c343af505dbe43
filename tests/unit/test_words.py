"""Words that nobody knows, wherever one is asked for: the nearest known one is named, or else all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from imbrex.bench.gpu.sets import SETS, chosen
from imbrex.bench.peer import PEERS, peers
from imbrex.build.amd.hot_loop.rates import modelled
from imbrex.build.isa import isa
from imbrex.chip import CPU_ISAS, GPU_MACHINES
from imbrex.config import configuration, tiles, tuning
from imbrex.config.algorithm.named import expected_row
from imbrex.config.request import Request
from imbrex.database.text import FIELDS, HEAD, read
from imbrex.diagnostic import Diagnostic
from imbrex.explore.studies import PANELS, study
from imbrex.function.finish import further
from imbrex.ir.passes.affix_tuning import FAMILIES, AffixTuning
from imbrex.problem import Gemm, parse_problem
from imbrex.problem.activation import EXPRESSIONS, expect_activation
from imbrex.problem.epilogue import parse
from imbrex.problem.miopen import MIOPEN_KINDS
from imbrex.view.mma.table import instruction
from imbrex.view.swizzle.kernel import TileKernel
from imbrex.view.swizzle.named import tile_kernel
from imbrex.view.swizzle.part import KINDS
from imbrex.view.work.streamk import WORDS, Plan, Tiles

HOPPER, AVX512 = GPU_MACHINES["sm_90a"], CPU_ISAS["avx512"]
GEMM = Gemm(8, 8, 8)
MFMA = "mfma_f32_32x32x8_f16"
Asked = tuple[Callable[[str], object], str, Iterable[str]]
ASKED: dict[str, Asked] = {
    "peer of a CPU": (lambda word: peers((word,)), "numpy", PEERS),
    "set of problems": (lambda word: chosen([word]), next(iter(SETS)), SETS),
    "rates": (modelled, "gfx942", [name for name, gpu in GPU_MACHINES.items() if gpu.rates is not None]),
    "instruction set": (isa, "avx512_vnni", ("native", *CPU_ISAS)),
    "key of a configuration": (
        lambda word: configuration.parse(f"v2:direct+{word}=1"), "strips", configuration.KEYS,
    ),
    "kind of tuning": (lambda word: tuning.parse(f"v1:{word}:1"), "general", tuning.KINDS),
    "schedule": (tiles.parse, "data_parallel", tiles.WORDS),
    "order": (lambda word: tiles.parse(f"data_parallel/{word}=m"), "along", tiles.KEYS),
    "algorithm": (lambda word: expected_row(word, GEMM, HOPPER), "data_tiled", ("direct",)),
    "field of a database": (lambda word: read(f"{HEAD}\n{word}\t1"), "verdict", FIELDS),
    "panel": (lambda word: study(Request(GEMM, AVX512, "cpu")).panel(word), "roofline", PANELS),
    "family": (
        lambda word: AffixTuning(family=word).apply(Context(), ModuleOp([])), "xdlops", FAMILIES,
    ),
    "scale": (lambda word: further(None, None, {word: 1}), "scale_a", ("scale_a", "scale_b", "scale_c")),
    "activation": (expect_activation, "sigmoid", EXPRESSIONS),
    "operand of an epilogue": (parse, "residual", ("x", "bias", "residual")),
    "function of an epilogue": (lambda word: parse(f"{word}(x)"), "sigmoid", ("relu", "sigmoid", "max")),
    "problem": (lambda word: parse_problem(f"{word} -m 8"), "convfp16", (*MIOPEN_KINDS, "gemm")),
    "instruction": (instruction, MFMA, ("'imbrex explain mma'",)),
    "mode of a plan": (lambda word: Plan(Tiles(1, 1, 1), 1, word), "data_parallel", WORDS),
    "part of a tile": (lambda word: TileKernel(instruction(MFMA), order=(word,)), "unroll_k", KINDS),
    "kernel of a tile": (tile_kernel, "hip_f32_1024", ("TYPE_MxNxK",)),
}  # fmt: skip


def answer(ask: Callable[[str], object], word: str) -> str:
    with pytest.raises((Diagnostic, TypeError, ValueError)) as refused:
        ask(word)
    error = refused.value
    return f"{error.message} {error.hint}" if isinstance(error, Diagnostic) else str(error)


@pytest.mark.parametrize("what", ASKED)
def test_the_nearest_is_named_or_else_all_are(what: str) -> None:
    ask, known, every = ASKED[what]
    assert f"did you mean '{known}'?" in answer(ask, f"{known[:-1]}{known[-1]}{known[-1]}")
    far = answer(ask, "qqqqqqqqqqqq")
    assert "did you mean" not in far and [word for word in every if word not in far] == []
