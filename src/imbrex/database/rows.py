"""Rows as values: how units, trials and verdicts stand in the tables, and are read from them.

Law: `add` of what `rows` gives changes nothing: rows that come twice are one, and of two that differ the
later one stays.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from typing import Any, Final, TypeAlias, get_args

from imbrex.database.near import shape_of
from imbrex.database.record import (
    Calibration,
    Device,
    Fact,
    Parameters,
    Status,
    Trial,
    Unit,
    Verdict,
    later,
    now,
)

__all__ = [
    "Record", "Row", "add", "calibration_of", "facts_of", "facts_text", "parameters_of", "parameters_text",
    "rows", "trial_of", "unit_of", "verdict_of",
]  # fmt: skip

Record: TypeAlias = Trial | Verdict | Calibration
Row: TypeAlias = tuple[Unit, Record]

NOTE_CHARACTERS: Final = 1000
_TRIAL: Final = (
    "configuration", "status", "median_ns", "spread_ns", "samples", "source", "compiler", "note", "session",
    "at", "is_cold", "version",
)  # fmt: skip
_VERDICT: Final = ("configuration", "pick", "gain", "low", "high", "pairs", "session", "at", "is_cold")
_CALIBRATION: Final = ("parameters", "before", "after", "times", "session", "at", "version")
_UNIT: Final = ("problem", "target", "threads", "name", "hardware", "conditions")


def _insert(table: str, columns: tuple[str, ...], known_by: str) -> str:
    """A statement; its last value says whether the new row stays where both are there, however old it is."""
    values = ", ".join("?" * (len(columns) + 1))
    changed = ", ".join(f"{column} = excluded.{column}" for column in columns)
    return (
        f"insert into {table} (unit, {', '.join(columns)}) values ({values}) on conflict ({known_by}) "
        f"do update set {changed} where ? or excluded.at > {table}.at"
    )


_ADD_TRIAL: Final = _insert("trial", _TRIAL, "unit, configuration, session")
_ADD_VERDICT: Final = _insert("verdict", _VERDICT, "unit, session")
_ADD_CALIBRATION: Final = _insert("calibration", _CALIBRATION, "unit, session")


def add(connection: sqlite3.Connection, row: Row, is_newest: bool = False) -> Row:
    """Keeps a row, and gives it as it was kept.  is_newest: it was made now, and comes after all of its unit,
    whatever the clock says.
    """
    unit, record = row
    number = _number(connection, unit)
    at = _after(connection, type(record).__name__.lower(), number, record.when) if is_newest else record.when
    match record:
        case Trial():
            kept = replace(record, when=at, note=_plain(record.note))
            values = (
                kept.configuration, kept.status, kept.median_ns, kept.spread_ns, kept.samples, kept.source,
                kept.compiler, kept.note, kept.session, at, kept.is_cold, kept.version,
            )  # fmt: skip
            connection.execute(_ADD_TRIAL, (number, *values, is_newest))
            return unit, kept
        case Verdict():
            bounds = (record.gain, record.low, record.high, record.pairs)
            judged = (record.configuration, record.pick, *bounds, record.session, at, record.is_cold)
            connection.execute(_ADD_VERDICT, (number, *judged, is_newest))
            return unit, replace(record, when=at)
        case Calibration():
            measured = (parameters_text(record.parameters), record.before, record.after, record.times)
            fitted = (*measured, record.session, at, record.version)
            connection.execute(_ADD_CALIBRATION, (number, *fitted, is_newest))
            return unit, replace(record, when=at)


def _number(connection: sqlite3.Connection, unit: Unit) -> int:
    """The number of a unit's row, which is made where it is not there; as that of its device."""
    device = (unit.device.name, facts_text(unit.device.hardware), facts_text(unit.device.conditions))
    columns = "name, hardware, conditions"
    number = _found_or_made(connection, "device", columns, device)
    columns, kind = "problem, target, threads, device, kind", shape_of(unit.problem).kind
    return _found_or_made(
        connection, "unit", columns, (unit.problem, unit.target, unit.threads, number, kind)
    )


def _found_or_made(
    connection: sqlite3.Connection, table: str, columns: str, values: tuple[str | int, ...]
) -> int:
    """The number of the row with these values."""
    marks = ", ".join("?" * len(values))
    connection.execute(f"insert or ignore into {table} ({columns}) values ({marks})", values)
    found = connection.execute(f"select id from {table} where ({columns}) = ({marks})", values)
    return int(found.fetchone()[0])


def _after(connection: sqlite3.Connection, table: str, unit: int, when: str) -> str:
    """`when`, or this moment; but behind all that the unit has: a clock may step back."""
    when = when or now()
    (latest,) = connection.execute(f"select max(at) from {table} where unit = ?", (unit,)).fetchone()
    return when if latest is None or when > latest else later(latest)


def _plain(text: str) -> str:
    """What a database's text can hold, and a reader's eyes."""
    return text[:NOTE_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def rows(connection: sqlite3.Connection) -> Iterator[Row]:
    """All trials, all verdicts, then all calibrations, in the order in which they were added."""
    unit = ", ".join(f"tuned.{column}" for column in _UNIT)
    kinds = (
        ("trial", _TRIAL, trial_of),
        ("verdict", _VERDICT, verdict_of),
        ("calibration", _CALIBRATION, calibration_of),
    )
    for table, columns, made in kinds:
        query = f"select {unit}, {', '.join(f'{table}.{column}' for column in columns)} from {table}"
        for found in connection.execute(f"{query} join tuned on tuned.id = {table}.unit order by {table}.id"):
            yield unit_of(found[: len(_UNIT)]), made(found[len(_UNIT) :])


def unit_of(values: tuple[Any, ...]) -> Unit:
    """The unit that stands in columns; ValueError and TypeError where it does not."""
    problem, target, threads, name, hardware, conditions = values
    device = Device(str(name), facts_of(str(hardware)), facts_of(str(conditions)))
    return Unit(str(problem), str(target), device, int(threads))


def trial_of(values: tuple[Any, ...]) -> Trial:
    """The trial that stands in columns; ValueError and TypeError where it does not."""
    configuration, status, median, spread, samples, source, compiler, note, session, at, is_cold, version = (
        values
    )
    if status not in get_args(Status):
        raise ValueError(f"unknown status '{status}'; known: {', '.join(get_args(Status))}")
    return Trial(
        str(configuration), status, _number_or_none(median), _number_or_none(spread), int(samples),
        str(source), str(compiler), str(note), str(session), str(at), bool(is_cold), str(version),
    )  # fmt: skip


def verdict_of(values: tuple[Any, ...]) -> Verdict:
    """The verdict that stands in columns; ValueError and TypeError where it does not."""
    configuration, pick, gain, low, high, pairs, session, at, is_cold = values
    bounds = float(gain), float(low), float(high)
    return Verdict(str(configuration), str(pick), *bounds, int(pairs), str(session), str(at), bool(is_cold))


def calibration_of(values: tuple[Any, ...]) -> Calibration:
    """The calibration that stands in columns; ValueError and TypeError where it does not."""
    parameters, before, after, times, session, at, version = values
    found: Parameters = parameters_of(parameters) if isinstance(parameters, str) else parameters
    return Calibration(found, float(before), float(after), int(times), str(session), str(at), str(version))


def _number_or_none(value: Any) -> float | None:
    return None if value is None else float(value)


def facts_text(facts: tuple[Fact, ...]) -> str:
    """`isa=avx512 l2=1048576`."""
    return " ".join(f"{name}={value}" for name, value in facts)


def facts_of(text: str) -> tuple[Fact, ...]:
    """What `facts_text` wrote; ValueError for another text."""
    found: list[Fact] = []
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ValueError(f"'{word}' is no NAME=VALUE")
        found.append((name, value))
    return tuple(found)


def parameters_text(parameters: Parameters) -> str:
    """`copy=4.25 stream.l2=0.001`."""
    return facts_text(tuple((name, repr(value)) for name, value in parameters))


def parameters_of(text: str) -> Parameters:
    """What `parameters_text` wrote; ValueError for another text, or a value that is no number above 0."""
    found = tuple((name, float(value)) for name, value in facts_of(text))
    if wrong := next((name for name, value in found if not 0 < value < inf), None):
        raise ValueError(f"'{wrong}' is no number above 0")
    return found
