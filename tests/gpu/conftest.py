"""The GPU of these tests: one worker process that a hang or a crash ends, and kernels compiled beforehand by
all cores.  Everything is skipped, with the reason, where there is no GPU of the target, or no torch.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

sys.path.insert(0, str(Path(__file__).parent))  # the workers import these modules by their names

from gpu_case import TARGET, Case

from imbrex.bench.prepare import prepare
from imbrex.diagnostic import Diagnostic
from imbrex.run.isolated import Failed, Isolated

LIMIT_S = 60.0
UNWRITTEN = "no kernel computes the epilogue"
"""What compile says of parts that nobody has written yet; all other refusals fail."""


def missing() -> str | None:
    """Why these tests cannot run here."""
    from imbrex.run.cuda.driver import require_gpu

    try:
        require_gpu(TARGET)
    except Diagnostic as error:
        return error.message
    return None if importlib.util.find_spec("torch") else "torch is not installed"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """More than a thousand cases are one skipped test where none can run."""
    if "case" in metafunc.fixturenames:
        reason = missing()
        metafunc.parametrize("case", [_none(reason)] if reason is not None else _all(), ids=str)


def _all() -> list[Case]:
    from gpu_cases import all_cases

    return all_cases()


def _none(reason: str) -> ParameterSet:
    return pytest.param(None, marks=pytest.mark.skip(reason=reason), id="all cases")


@pytest.fixture(scope="session")
def gpu() -> None:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def compiled(gpu: None, request: pytest.FixtureRequest, worker_id: str, kernel_cache: Path) -> None:
    """All kernels that the selected tests want; a refusal is said by the test that meets it."""
    if worker_id != "master":
        return  # each worker compiles what it meets
    found = [item.callspec.params.get("case") for item in request.session.items if hasattr(item, "callspec")]
    prepare((case.wanted for case in found if isinstance(case, Case)), os.cpu_count() or 1)


@pytest.fixture(scope="session")
def on_gpu(compiled: None) -> Iterator[Callable[[Case], None]]:
    """Checks a case; the test fails with what went wrong, a hang and a crash too."""
    import gpu_check

    yield from _judged(gpu_check.checked)


@pytest.fixture(scope="session")
def call_on_gpu(gpu: None, kernel_cache: Path) -> Iterator[Callable[[str], None]]:
    """Performs a function of `gpu_calls`."""
    import gpu_calls

    yield from _judged(gpu_calls.perform)


def _judged(function: Callable[[Any], str | None]) -> Iterator[Callable[[Any], None]]:
    with Isolated(function) as worker:

        def judge(argument: object) -> None:
            answer = worker(argument, LIMIT_S)
            if isinstance(answer, Failed):
                pytest.fail(f"{answer.kind}: {answer.message}", pytrace=False)
            if answer is not None and UNWRITTEN in answer:
                pytest.skip(answer)
            if answer is not None:
                pytest.fail(answer, pytrace=False)

        yield judge
