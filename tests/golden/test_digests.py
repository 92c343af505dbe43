"""What is chosen and emitted for one in 34 of the kernels whose machine code is recorded, as digests.

    pytest tests/golden --update-golden     writes what is chosen and emitted now

`test_source` keeps a text of every family; what these are of besides, sizes, types, layouts, epilogues and
schedules, is seen here without a compiler, and `python -m tests.hashes` says what became of the code.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from tests.golden.kept import expect_kept, expect_only
from tests.hashes.hash_cases import HashCase, hash_cases
from tests.hashes.machine_code import request_of

from imbrex.pipeline import lower

FOLDER = Path(__file__).parent / "digests"
SAMPLED = hash_cases()[::34]
TARGETS = tuple(dict.fromkeys(case.target for case in SAMPLED))


def said(case: HashCase) -> str:
    lowered = lower(request_of(case, "kernel"))
    text = "\0".join(lowered.bundle.files[unit] for unit in lowered.bundle.units)
    return f"{case}: {lowered.configuration} {sha256(text.encode()).hexdigest()[:12]}\n"


@pytest.mark.parametrize("target", TARGETS)
def test_kernels_are_chosen_and_emitted_as_they_were(target: str, update_golden: bool) -> None:
    text = "".join(said(case) for case in SAMPLED if case.target == target)
    path = FOLDER / f"{target}.txt"
    expect_kept(text, path, update=update_golden)


def test_no_other_text_is_kept() -> None:
    expect_only(TARGETS, FOLDER)
