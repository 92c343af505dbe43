"""What a kernel uses is read from the text as the compiler wrote it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from imbrex.build.amd.code_object import CodeObject
from imbrex.build.amd.usage import Usage, usages
from imbrex.chip import gpus

Code = Callable[[str], CodeObject]


def by_name(code: CodeObject) -> dict[str, Usage]:
    return {usage.kernel: usage for usage in usages(code.assembly)}


def remarks(code: CodeObject, word: str) -> list[int]:
    """The compiler's own summary, in the comments after each kernel."""
    return [int(n) for n in re.findall(rf"^; {word}: (\d+)", code.assembly, re.M)]


@pytest.mark.parametrize("chip", gpus("AMD"))
def test_every_kernel_is_there_with_its_numbers(chip: str, amd_code: Code) -> None:
    found = usages(amd_code(chip).assembly)
    assert len(found) == 11
    assert [u.agprs for u in found] == remarks(amd_code(chip), "NumAgprs")
    assert [u.sgprs for u in found] == remarks(amd_code(chip), "TotalNumSgprs")
    assert [u.lds_bytes for u in found] == remarks(amd_code(chip), "LDSByteSize")
    assert [u.scratch_bytes for u in found] == remarks(amd_code(chip), "ScratchSize")
    for usage, used in zip(found, remarks(amd_code(chip), "NumVgprs"), strict=True):
        rounded = 4 if usage.agprs and chip != "gfx908" else 1  # accumulators begin at a multiple of 4
        assert usage.vgprs == -(-used // rounded) * rounded


def test_sizes_that_the_source_names(amd_code: Code) -> None:
    found = by_name(amd_code("gfx942"))
    assert (found["lds_5000_256"].lds_bytes, found["lds_5000_256"].block_size) == (20000, 256)
    assert (found["sums_4_256"].lds_bytes, found["sums_4_256"].kernarg_bytes) == (0, 28)
    assert found["sums_4_256"].vgprs >= 64, "four tiles of 16 sums"


def test_accumulators_beyond_256_registers_are_agprs(amd_code: Code) -> None:
    big = by_name(amd_code("gfx942"))["sums_20_64"]
    assert big.agprs > 0 and big.vgprs + big.agprs == big.total_vgprs
    assert big.total_vgprs >= 320


def test_spills_are_seen(amd_code: Code) -> None:
    """gfx908 has 256 registers of each kind, and 320 sums do not fit."""
    small, big = (by_name(amd_code("gfx908"))[name] for name in ("sums_4_256", "sums_20_64"))
    assert (small.spills, small.scratch_bytes) == (0, 0)
    assert big.spills > 0 and big.scratch_bytes > 0


def test_control_text_without_metadata() -> None:
    with pytest.raises(AssertionError, match="no metadata"):
        usages("\ts_endpgm\n")
