"""Every kernel of sm_90a in the record of hashes, run by a CPU: minutes, so on demand only."""

from __future__ import annotations

import os

import pytest
from tests.hashes.hash_cases import HOPPER, HashCase, hash_cases

import imbrex

if not os.environ.get("IMBREX_EMULATE_ALL"):
    pytest.skip("IMBREX_EMULATE_ALL=1 asks for it", allow_module_level=True)

CASES = {str(case): case for case in hash_cases() if case.target == HOPPER}


@pytest.mark.parametrize("case", CASES)
def test_is_right(case: str) -> None:
    one: HashCase = CASES[case]
    kernel = imbrex.compile(
        one.problem, HOPPER, one.tuning, emulate=True, algorithm=one.algorithm, schedule=one.schedule
    )
    found = kernel.check(values="integer")
    assert found.is_right, str(found)
