"""Report: what came back from a machine with the GPU: results, and times beside what the model predicts."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imbrex.diagnostic import Diagnostic
from imbrex.kit.runner.main import FORMAT
from imbrex.limit import read_bounded

__all__ = ["Found", "Report", "read"]


@dataclass(frozen=True)
class Found:
    """What came of a kernel.  time_s: of a call, the median; said: why it is wrong."""

    problem: str
    configuration: str
    is_right: bool
    said: str
    flops: int
    time_s: float | None
    predicted_s: float | None

    @property
    def ratio(self) -> float | None:
        """Measured over predicted time."""
        return self.time_s / self.predicted_s if self.time_s and self.predicted_s else None


@dataclass(frozen=True)
class Report:
    """kit: its digest.  version: of the Imbrex that made it."""

    kit: str
    version: str
    target: str
    when: str
    device: str
    cases: tuple[Found, ...]

    @property
    def wrong(self) -> tuple[Found, ...]:
        return tuple(one for one in self.cases if not one.is_right)

    @property
    def mean_ratio(self) -> float | None:
        """Geometric mean of measured over predicted times."""
        ratios = [one.ratio for one in self.cases if one.ratio is not None]
        return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None

    @property
    def order(self) -> float | None:
        """Kendall's tau of measured and predicted speed: of two kernels, how much more often the model says
        rightly which has more operations a second than wrongly.
        """
        speeds = [
            (one.flops / one.time_s, one.flops / one.predicted_s)
            for one in self.cases
            if one.time_s and one.predicted_s
        ]
        return _tau(speeds) if len(speeds) > 1 else None


def read(path: Path) -> Report:
    """The report in a file; a Diagnostic where it is none."""
    try:
        with path.open("rb") as file:
            text = read_bounded(file, str(path))
    except OSError as error:
        raise Diagnostic(f"cannot read '{path}': {(error.strerror or str(error)).lower()}") from None
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            message = f"'{path}' is a report of format {document['format']}, and this version reads {FORMAT}"
            raise Diagnostic(message, hint="read it with the version that made the kit")
        device = document["device"]
        named = f"{device['name']} ({device['chip']}), HIP {device['runtime']}" if device else "none"
        cases = tuple(_found(one) for one in document["cases"])
        return Report(document["kit"], document["imbrex"], document["target"], document["when"], named, cases)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        message = f"'{path}' is no report of a kit's program: {why}"
        raise Diagnostic(message, hint="verify.py of a kit writes report.json") from None


def _found(one: dict[str, Any]) -> Found:
    wrong = [f"{p['values']}: {p['told']}" for p in one.get("passes", []) if not p["is_right"]]
    wrong += [one["error"]] if "error" in one else []
    time_s = float(one["time_s"]["median"]) if "time_s" in one else None
    predicted = None if one["predicted_s"] is None else float(one["predicted_s"])
    known = str(one["problem"]), str(one["configuration"]), bool(one["is_right"])
    return Found(*known, "; ".join(wrong), int(one["flops"]), time_s, predicted)


def _tau(pairs: Sequence[tuple[float, float]]) -> float:
    signs = [
        math.copysign(1, (a - c) * (b - d)) if a != c and b != d else 0.0
        for i, (a, b) in enumerate(pairs)
        for c, d in pairs[:i]
    ]
    return sum(signs) / len(signs)
