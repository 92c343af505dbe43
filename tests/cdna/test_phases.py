"""Code objects of strided gradients of images, whose phases are products of one launch."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.pairs import in_turn, one_in

from imbrex.build.amd.code_object import build_code_object
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import compile
from imbrex.problem import Conv2d

Gpu = Callable[[str], Any]

LAST: dict[str, Any] = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
TWO_BY_TWO = Conv2d(
    "backward_data", 4, 32, 13, 11, 48, 3, 3, stride=(2, 2), pad_h=(1, 1), pad_w=(1, 0), dtype="f16", **LAST
)
LAYERS = {
    "2x2": TWO_BY_TWO,
    "3x2": replace(TWO_BY_TWO, n=2, c=24, h=14, k=40, y=4, stride=(3, 2), pad_h=(2, 1), dtype="bf16"),
    "1x2": replace(TWO_BY_TWO, stride=(1, 2)),
    "groups, dilated": replace(TWO_BY_TWO, n=2, k=64, dilation=(1, 3), groups=2, pad_w=(3, 3)),
    "nchw": Conv2d("backward_data", 3, 16, 12, 10, 32, 3, 3, stride=(2, 2), pad_h=1, pad_w=1, dtype="f16"),
    "f32": replace(TWO_BY_TWO, dtype="f32"),
}
CHIPS = ("gfx90a", "gfx942", "gfx950")
TUNINGS = ("v1:xdlops:32,32,4,16,16,{}", "v1:xdlops:64,64,4,32,32,{},auto,xor,staged,straight,1,1")


@pytest.mark.parametrize(("name", "chip", "tuning"), one_in(2, in_turn(list(LAYERS), CHIPS, TUNINGS)))
def test_equals_the_reference(name: str, chip: str, tuning: str, gpu: Gpu) -> None:
    gpu(chip)
    problem = LAYERS[name]
    kernel = compile(problem, chip, tuning.format(4))
    assert "product:" in kernel.configuration and len(kernel.grid_sizes) == (2 if name == "nchw" else 1)
    for seed in (1, 2):
        outcome = kernel.check(seed)
        assert outcome.is_right and outcome.is_exact, str(outcome)


def test_read_ahead(gpu: Gpu) -> None:
    gpu("gfx950")
    layer = replace(TWO_BY_TWO, n=2, c=64, k=128)
    tuning = "v1:xdlops:64,128,8,32,64,8,mfma_f32_32x32x16_f16,xor,ahead,straight,1,3"
    kernel = compile(layer, "gfx950", tuning)
    assert len(kernel.grid_sizes) == 1
    assert kernel.check(1).is_right


def test_a_launch_has_the_workgroups_of_all(gpu: Gpu) -> None:
    gpu("gfx942")
    one = compile(TWO_BY_TWO, "gfx942", TUNINGS[0].format(4))
    apart = compile(TWO_BY_TWO, "emulate", TUNINGS[0].format(4))
    assert len(apart.grid_sizes) == 4 and one.grid_sizes == (sum(apart.grid_sizes),)


def test_every_mutant_of_whose_a_workgroup_is_is_seen(gpu: Gpu, tmp_path: Path) -> None:
    """A number of a workgroup off by one, or a phase that is left out."""
    gpu("gfx942")
    kernel = compile(TWO_BY_TWO, "gfx942", TUNINGS[0].format(4))
    (name,) = (file for file in kernel.files if file.endswith(".hpp") and "/" not in file)
    text = kernel.files[name]
    found = list(re.finditer(r"const int32_t workgroup_of_\d = [^;]*|\n  if \(", text))
    assert len(found) == 8
    for one in found:
        is_number = one[0].startswith("const")
        other = f"{one[0]} + 1" if is_number else "\n  if (0 && "
        files = {**kernel.files, name: text[: one.start()] + other + text[one.end() :]}
        code = build_code_object(files, f"{kernel.name}.cpp", "gfx942")
        broken = replace(kernel, loaded=replace(kernel.loaded, path=code.path))
        try:
            assert not broken.check(values="integer").is_right, one[0]
        except Diagnostic as error:
            assert "out of bounds" in error.message
