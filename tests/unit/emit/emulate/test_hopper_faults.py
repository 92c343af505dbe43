"""Controls: headers that lack a wait, a fence or a meeting, or have something wrong, are found out."""

from __future__ import annotations

import pytest
from tests.pairs import one_in
from tests.unit.emit.emulate.hopper_cases import CASES
from tests.unit.emit.emulate.hopper_mutants import MUTANTS
from tests.unit.emit.emulate.hopper_runs import built, ran

from imbrex.diagnostic import Diagnostic

SEEDS = 4
"""Orders of warps, of which one shows it."""


@pytest.mark.parametrize("mutant", one_in(2, list(MUTANTS)))
def test_a_mutant_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = MUTANTS[mutant]
    told = ""
    try:
        kernel = built(one.case, (one.file, one.line, one.becomes))
        for seed in range(SEEDS):
            monkeypatch.setenv("IMBREX_EMULATE_SEED", str(seed))
            found = ran(CASES[one.case], kernel)
            if not found.is_right:
                told = str(found)
                break
    except Diagnostic as error:
        told = str(error)
    assert told, "nobody has noticed"
    assert one.said in told
