"""Workers of the tests are threads of their process, which compile as the test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    from imbrex.run import workers
    from imbrex.run.isolated import Failed, answered

    class InProcess:
        def __init__(self, function: Callable[[Any], Any]) -> None:
            self.function = function

        def __call__(self, argument: object, limit_s: float = 60.0) -> Any:
            is_result, _, answer = answered(self.function, argument)
            return answer if is_result else Failed("error", answer)

        def end(self) -> None: ...

    monkeypatch.setattr(workers, "Isolated", InProcess)
