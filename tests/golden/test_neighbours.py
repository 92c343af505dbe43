"""What the rules and the models say of a tuning's neighbours: each field by itself a little less or more,
half or double, or another word.

    pytest tests/golden --update-golden     writes what they say now

A rule is seen at its limit, with the numbers of its reason, and a term on both sides of what it prices: the
candidates of `test_ranked` are those of a space, which stops short of most limits.

Law: a neighbour is illegal, by each rule's reason, or has a cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from tests.golden.kept import expect_kept, expect_only
from tests.golden.test_source import CASES, Emitted, half

from imbrex.config import tuning
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.config.algorithm.product import Products
from imbrex.config.kinds import kind_of
from imbrex.config.outline import outline
from imbrex.config.products import products
from imbrex.config.tiles import DATA_PARALLEL
from imbrex.config.tuning import WORDS, Tuning
from imbrex.pipeline import Request, machine_for
from imbrex.problem import Gemm

FOLDER = Path(__file__).parent / "neighbours"
LAYER = (4, 64, 28, 28, 64, 3, 3)
SAME = {"pad_h": 1, "pad_w": 1}
MORE = {
    "amx": Emitted(
        Gemm(500, 300, 200, dtype="bf16"), "cpu",
        "v1:cpu:32,32,512,160,224,16,k_blocked,a,straight,tdpbf16ps", isa="amx",
    ),
    "vnni": Emitted(
        Gemm(120, 200, 100, dtype="i8", transpose_b=True), "cpu",
        "v1:cpu:6,64,60,128,128,16,k_blocked,a,straight,vpdpbusd", isa="avx512_vnni",
    ),
    "few_rows": Emitted(Gemm(1, 999, 500), "cpu", "v1:cpu:1,128,1,256,512,16,k_blocked,b,straight"),
    "neon": Emitted(Gemm(120, 200, 100), "cpu", "v1:cpu:6,12,60,108,100,4,k_blocked,b,straight", isa="neon"),
    "ahead": Emitted(
        Gemm(512, 256, 1024, dtype="mxf8e4m3fn", transpose_b=True), "gfx950",
        "v1:xdlops:256,128,4,64,64,32,mfma_f32_32x32x64_fp8_fp8,xor,ahead,swapped",
    ),
    "small_tiles": Emitted(
        Gemm(512, 520, 4096, dtype="f16"), "gfx942", "v1:xdlops:64,64,8,32,32,8,auto,xor,staged,swapped,2"
    ),
    "pingpong": Emitted(
        Gemm(512, 520, 512, dtype="f16"), "sm_90a", "v1:warpgroup:128,128,64,4,2,1,2,pingpong,swapped,8"
    ),
    "i8_turned": Emitted(
        Gemm(137, 144, 139, dtype="i8"), "sm_90a", "v1:warpgroup:64,8,128,16,1,1,1,cooperative,straight,2",
        "aligned",
    ),
    "sgemm": Emitted(Gemm(256, 256, 256, beta=1.0), "sm_90a", "v1:general:128,64,64,16,4,2"),
    "halo_images": Emitted(
        half("forward", 8, 64, 8, 8, 64, 3, 3, **SAME), "sm_90a",
        "v1:halo:1,8,10,8,9,64,64,1,4,1,cooperative", "halo:1",
    ),
    "lines_images": Emitted(
        half("forward", 16, 64, 7, 7, 64, 3, 3, **SAME), "sm_90a",
        "v1:lines:8,7,8,3,3,64,64,1,2,2,cooperative", "halo:1",
    ),
    "lines_data": Emitted(
        half("backward_data", *LAYER, **SAME), "sm_90a", "v1:lines:2,28,32,3,3,64,64,1,3,2,cooperative",
        "halo:1",
    ),
    "weights_images": Emitted(
        half("backward_weight", *LAYER, **SAME), "sm_90a", "v1:halo_weight:1,2,4,32,9,64,1,2,2,3", "halo:1"
    ),
}  # fmt: skip
ALIKE = (
    "conv_sm_90a_groups",
    "conv_sm_90a_walk",
    "conv_sm_90a_collected",
    "conv_gfx942",
    "gemm_lanes",
    "gemm_sm_90a_warpgroup",
    "conv_sm_90a_lanes",
    "conv_sm_90a_phases",
    "conv_sm_90a_interleaved",
    "conv_sm_90a_images",
    "gemm_gfx908",
)
"""Of no product, or as others are."""
EACH = {name: of for name, of in CASES.items() if name not in ALIKE} | MORE


def neighbours(of: Tuning) -> Iterator[tuple[str, Tuning]]:
    """Itself, and one for each other value of one field."""
    yield "as it is", of
    for name in (field.name for field in fields(of)):
        value: Any = getattr(of, name)
        if name in WORDS:
            others = [(word, meaning) for word, meaning in WORDS[name].items() if meaning != value]
        elif isinstance(value, int):
            nearby = sorted({value - 1, value + 1, value // 2, 2 * value} - {0, value})
            others = [(str(number), number) for number in nearby]
        else:
            continue
        yield from ((f"{name} {word}", replace(of, **{name: meaning})) for word, meaning in others)


def said(case: Emitted) -> Iterator[str]:
    machine, own = machine_for(case.target, case.isa, 4), tuning.parse(case.tuning)
    request = Request(case.problem, machine, case.target, own, case.algorithm)
    made = products(case.problem, outline(request, algorithm_of(request)), machine, own)
    assert isinstance(made, Products)
    context, kind = made.products[0].context, kind_of(own)
    assert kind.broken(own, context, machine) == ()
    for name, one in neighbours(own):
        if broken := kind.broken(one, context, machine):
            yield f"{name}: {'; '.join(f'{illegal.rule}: {illegal}' for illegal in broken)}"
            continue
        spent = kind.spent(kind.plan(one, context, machine), machine, DATA_PARALLEL)
        parts = ", ".join(f"{part} {of:.5g}" for part, of in {**spent.parallel, **spent.after}.items() if of)
        yield f"{name}: {kind.cost(one, context, machine):.6g} cycles: {parts}"


@pytest.mark.parametrize("name", EACH)
def test_rules_and_models_say_what_they_said(name: str, update_golden: bool) -> None:
    text, path = "".join(f"{line}\n" for line in said(EACH[name])), FOLDER / f"{name}.txt"
    expect_kept(text, path, update=update_golden)


def test_no_other_text_is_kept() -> None:
    expect_only(EACH, FOLDER)
