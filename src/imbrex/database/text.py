"""Text of a database: a line a device, trial, verdict, calibration, with tabs between the fields, sorted.

    device   0f3c9a12  NVIDIA H200  multiprocessors=132 clock_khz=1980000  driver=13010
    trial    sm_90a  0f3c9a12  0  gemm -t f16 -m 4096 ...  v2:direct+...  ok  52100.0  310.0  24  ...
    verdict  sm_90a  0f3c9a12  0  gemm -t f16 -m 4096 ...  v2:direct+...  v2:direct+...  1.17  1.12  1.21 ...

Law: `read` undoes `text` but for the order of rows.  Of two texts that differ in a row only its line differs,
so that a version control shows what was added.  Every error has file, line and column.  A text of version 1
is read, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from imbrex.database.record import Calibration, Device, Trial, Unit, Verdict
from imbrex.database.rows import (
    Record,
    Row,
    calibration_of,
    facts_of,
    facts_text,
    parameters_of,
    parameters_text,
    trial_of,
    verdict_of,
)
from imbrex.diagnostic import Diagnostic, did_you_mean

__all__ = ["FIELDS", "HEAD", "read", "text"]

HEAD: Final = "# imbrex tuning database, version 2"
_VERSION_1: Final = "# imbrex tuning database, version 1"
"""The first line of texts whose verdicts leave to trials whether caches were defeated."""
UNIT: Final = ("target", "device", "threads", "problem")
TRIAL: Final = (
    "configuration", "status", "median_ns", "spread_ns", "samples", "source", "compiler", "note", "session",
    "when", "is_cold", "version",
)  # fmt: skip
VERDICT: Final = ("configuration", "pick", "gain", "low", "high", "pairs", "session", "when", "is_cold")
CALIBRATION: Final = ("parameters", "before", "after", "times", "session", "when", "version")
FIELDS: Final = {
    "device": ("device", "name", "hardware", "conditions"),
    "trial": (*UNIT, *TRIAL),
    "verdict": (*UNIT, *VERDICT),
    "calibration": (*UNIT, *CALIBRATION),
}
_ESCAPES: Final = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_PLAIN: Final = {escape: letter for letter, escape in _ESCAPES.items()}


def text(rows: Iterable[Row]) -> str:
    """The lines of these rows, and of the devices that they are of."""
    lines: set[str] = set()
    for unit, record in rows:
        device, name = unit.device, _name(unit.device)
        facts = (facts_text(device.hardware), facts_text(device.conditions))
        lines.add(_line("device", name, device.name, *facts))
        of = (unit.target, name, unit.threads, unit.problem)
        match record:
            case Trial():
                lines.add(_line("trial", *of, *(getattr(record, field) for field in TRIAL)))
            case Verdict():
                lines.add(_line("verdict", *of, *(getattr(record, field) for field in VERDICT)))
            case Calibration():
                values = (getattr(record, field) for field in CALIBRATION[1:])
                lines.add(_line("calibration", *of, parameters_text(record.parameters), *values))
    return "\n".join([HEAD, *sorted(lines), ""])


def _name(device: Device) -> str:
    """What lines call a device: a short digest of all that is known of it."""
    spelt = "\n".join((device.name, facts_text(device.hardware), facts_text(device.conditions)))
    return sha256(spelt.encode()).hexdigest()[:12]


def _line(*fields: object) -> str:
    return "\t".join(_spelled(field) for field in fields)


def _spelled(field: object) -> str:
    match field:
        case None:
            return "-"
        case bool():
            return str(int(field))
        case float():
            return repr(field)
        case _:
            return re.sub(r"[\\\t\n\r]", lambda found: _ESCAPES[found[0]], str(field))


@dataclass(frozen=True)
class _Line:
    """A line and its place."""

    text: str
    file: str | None
    number: int

    @property
    def fields(self) -> list[str]:
        return self.text.split("\t")

    def error(self, message: str, number: int, hint: str | None = None) -> Diagnostic:
        """An error with carets under a field."""
        fields = self.fields
        number = min(number, len(fields) - 1)
        start, length = sum(len(field) + 1 for field in fields[:number]), max(1, len(fields[number]))
        return Diagnostic(message, self.file, self.number, start + 1, self.text, length, hint)


def read(lines: str, file: str | None = None) -> list[Row]:
    """The rows of a text; a Diagnostic with its place for the first line that is none."""
    found = list(_lines(lines, file))
    devices = dict(_device(line) for line in found if line.fields[0] == "device")
    rows = [_row(line, devices) for line in found if line.fields[0] != "device"]
    return _of_version_1(rows) if lines.startswith(_VERSION_1) else rows


def _of_version_1(rows: list[Row]) -> list[Row]:
    """Rows whose verdicts say what the trials of their session do."""
    warm = {(unit, of.session) for unit, of in rows if isinstance(of, Trial) and not of.is_cold}
    return [
        (unit, replace(of, is_cold=(unit, of.session) not in warm) if isinstance(of, Verdict) else of)
        for unit, of in rows
    ]


def _lines(lines: str, file: str | None) -> Iterator[_Line]:
    first, *rest = lines.split("\n")
    head = _Line(first.rstrip("\r"), file, 1)
    if head.text not in (HEAD, _VERSION_1):
        hint = f"it begins with '{HEAD}'"
        raise head.error("this is no text of a tuning database that this Imbrex reads", 0, hint)
    for number, line in enumerate(rest, 2):
        one = _Line(line.rstrip("\r"), file, number)
        if head.text == _VERSION_1 and one.fields[0] == "verdict":
            one = replace(one, text=f"{one.text}\t1")
        word, *fields = one.fields
        if not one.text or word.startswith("#"):
            continue
        if word not in FIELDS:
            hint = did_you_mean(word, FIELDS) or f"known: {', '.join(FIELDS)}"
            raise one.error(f"unknown kind of line '{word}'", 0, hint)
        if len(fields) != len(FIELDS[word]):
            message = f"a {word} has {len(FIELDS[word])} fields, got {len(fields)}"
            raise one.error(message, len(fields), f"with tabs between them: {', '.join(FIELDS[word])}")
        yield one


def _device(line: _Line) -> tuple[str, Device]:
    _, short, name, hardware, conditions = line.fields
    facts = [_parsed(line, 3 + i, facts_of, value) for i, value in enumerate((hardware, conditions))]
    return short, Device(_unescaped(name), *facts)


def _row(line: _Line, devices: dict[str, Device]) -> Row:
    kind, target, short, threads, problem, *fields = line.fields
    if short not in devices:
        raise line.error(f"no line tells what device '{short}' is", 2)
    count = _parsed(line, 3, int, threads)
    unit = Unit(_unescaped(problem), _unescaped(target), devices[short], count)
    names = FIELDS[kind][len(UNIT) :]
    values = tuple(_value(line, 5 + i, name, fields[i]) for i, name in enumerate(names))
    try:
        return unit, _MADE[kind](values)
    except ValueError as error:  # a status that there is not
        raise line.error(str(error), 6) from None


_READ: Final[dict[str, Callable[[str], Any]]] = {
    "median_ns": lambda word: None if word == "-" else float(word),
    "spread_ns": lambda word: None if word == "-" else float(word),
    "gain": float,
    "low": float,
    "high": float,
    "parameters": parameters_of,
    "before": float,
    "after": float,
    "times": int,
    "samples": int,
    "pairs": int,
    "is_cold": lambda word: {"0": False, "1": True}[word],
}
"""Fields that are no texts."""
_MADE: Final[dict[str, Callable[[tuple[Any, ...]], Record]]] = {
    "trial": trial_of,
    "verdict": verdict_of,
    "calibration": calibration_of,
}


def _value(line: _Line, number: int, name: str, field: str) -> Any:
    return _parsed(line, number, _READ.get(name, _unescaped), field)


def _parsed(line: _Line, number: int, read: Callable[[str], Any], field: str) -> Any:
    try:
        return read(field)
    except (ValueError, KeyError) as error:
        why = f": {error}" if read in (facts_of, parameters_of) else ""
        column = FIELDS[line.fields[0]][number - 1]
        raise line.error(f"'{field}' is no value of {column}{why}", number) from None


def _unescaped(field: str) -> str:
    return re.sub(r"\\[\\tnr]", lambda found: _PLAIN[found[0]], field)
