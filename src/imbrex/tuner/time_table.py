"""Tables of times: what `times` found of many problems, as a file that a model is fitted to.

    {"about": .., "when": .., "series": [
    {"problem": .., "kind": .., "measured": [[configuration, us], ..]}, ..]}

Older tables, which are of products alone, have [tuning, schedule, us].  Databases of `imbrex tune` are read
as tables are, and so are texts of `imbrex db export`; all of them as they are or by gzip.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from imbrex.config.configuration import Configuration
from imbrex.config.configuration import parse as configuration_of
from imbrex.config.tiles import TileSchedule
from imbrex.config.tiles import parse as schedule_of
from imbrex.config.tuning import Tuning
from imbrex.config.tuning import parse as tuning_of
from imbrex.database.record import Trial
from imbrex.database.view import rows_in
from imbrex.tuner.times import Timed

__all__ = ["Time", "table", "times_in"]


class Time(NamedTuple):
    """One configuration's.  run: what times compare within.  kind: of the problem, if it is known.  outlined:
    how the problem becomes the product, if it is known.  when: a day, if it is known.
    """

    problem: str
    run: int
    kind: str
    outlined: Configuration | None
    tuning: Tuning
    schedule: TileSchedule
    us: float
    when: str


def table(about: Mapping[str, Any], found: Iterable[tuple[str, Timed]]) -> bytes:
    """The text of a table, by gzip; a line for each problem, the model's pick first.  found: with kinds."""
    rows = [json.dumps(_row(*pair), separators=(",", ":")) for pair in found if pair[1].microseconds]
    head = ",\n".join(f"{json.dumps(key)}:{json.dumps(value)}" for key, value in about.items())
    body = ",\n".join(rows)
    return gzip.compress(f'{{{head},\n"series":[\n{body}\n]}}\n'.encode(), mtime=0)


def _row(kind: str, one: Timed) -> dict[str, Any]:
    measured = [(text, round(us, 3)) for text, us in one.microseconds.items()]
    return {"problem": one.product.problem, "kind": kind, "measured": measured}


def times_in(path: Path) -> Iterator[Time]:
    """All times of a file that are of one product."""
    return _of_table(path) if ".json" in path.suffixes else _of_database(path)


def _of_table(path: Path) -> Iterator[Time]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    read = json.loads(data)
    when = read.get("when", "")
    for number, row in enumerate(read["series"]):
        where = row["problem"], number, row.get("kind", "")
        for *what, us in row["measured"]:
            match what:
                case [text]:
                    chosen = configuration_of(text)
                    if len(chosen.products) == 1:
                        yield Time(*where, *_alone(chosen), us, when)
                case [tuning, schedule]:
                    known = tuning_of(f"v1:warpgroup:{tuning}"), schedule_of(schedule)
                    yield Time(*where, None, *known, us, when)
                case _:
                    raise AssertionError(f"no row of times: {what}")


def _of_database(path: Path) -> Iterator[Time]:
    if path.suffix == ".gz":
        with tempfile.NamedTemporaryFile(suffix=".txt") as file:
            file.write(gzip.decompress(path.read_bytes()))
            file.flush()
            rows = rows_in(Path(file.name))
    else:
        rows = rows_in(path)
    for unit, record in rows:
        if isinstance(record, Trial) and record.status == "ok" and record.median_ns:
            chosen = configuration_of(record.configuration)
            if len(chosen.products) == 1:
                yield Time(unit.problem, 0, "", *_alone(chosen), record.median_ns / 1e3, record.when)


def _alone(chosen: Configuration) -> tuple[Configuration, Tuning, TileSchedule]:
    (product,) = chosen.products
    return replace(chosen, products=()), product.tuning, product.schedule
