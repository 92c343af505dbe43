"""Schema of the SQLite file: devices, units, trials, verdicts, calibrations, and the winners as a view.

Law: a row is known by (problem, target, threads, device, session, configuration), so that rows that come
twice are one; the winner is computed, and follows every row that is added, corrected or pruned.  A file of an
earlier version has all of its rows in the present one, where it may be written; else a copy of it has.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from imbrex.diagnostic import Diagnostic

__all__ = ["is_present", "prepare"]

VERSION: Final = 2
APPLICATION: Final = 0x496D6278
"""`Imbx`, by which the file is told from other programs' databases."""

_ROWS: Final = """
create table device (
  id integer primary key,
  name text not null, hardware text not null, conditions text not null,
  unique (name, hardware, conditions)
);
create table unit (
  id integer primary key,
  problem text not null, target text not null, threads integer not null,
  device integer not null references device on delete cascade,
  kind text not null,
  unique (problem, target, threads, device)
);
create index unit_kind on unit (target, kind);
create table trial (
  id integer primary key,
  unit integer not null references unit on delete cascade,
  configuration text not null,
  status text not null check (
    status in ('ok', 'wrong', 'failed', 'timeout', 'crashed', 'spilled', 'refused')),
  median_ns real, spread_ns real, samples integer not null, source text not null, compiler text not null,
  note text not null, session text not null, at text not null, is_cold integer not null,
  version text not null,
  unique (unit, configuration, session)
);
create table verdict (
  id integer primary key,
  unit integer not null references unit on delete cascade,
  configuration text not null, pick text not null,
  gain real not null, low real not null, high real not null, pairs integer not null,
  session text not null, at text not null, is_cold integer not null,
  unique (unit, session)
);
"""
_CALIBRATION: Final = """
create table calibration (
  id integer primary key,
  unit integer not null references unit on delete cascade,
  parameters text not null, before real not null, after real not null, times integer not null,
  session text not null, at text not null, version text not null,
  unique (unit, session)
);
"""
_TUNED: Final = """
create view tuned as
  select unit.*, device.name as name, device.hardware as hardware, device.conditions as conditions
  from unit join device on device.id = unit.device;
"""
_WINNER: Final = """
create view winner as
  select one.*, trial.median_ns, coalesce(trial.source, '') as source,
    coalesce(trial.compiler, '') as compiler, coalesce(trial.version, '') as version
  from (
    select tuned.problem, tuned.target, tuned.threads, tuned.name, tuned.hardware, verdict.at,
      verdict.session, verdict.is_cold,
      case when verdict.low > 1 then verdict.configuration else verdict.pick end as configuration,
      case when verdict.low > 1 then verdict.gain else 1.0 end as gain
    from verdict join tuned on tuned.id = verdict.unit
    where verdict.id = (
      select other.id from tuned as same join verdict as other on other.unit = same.id
      where same.problem = tuned.problem and same.target = tuned.target and same.threads = tuned.threads
        and same.name = tuned.name and same.hardware = tuned.hardware
      order by other.is_cold desc, other.at desc, other.id desc limit 1)
  ) as one
  left join trial on trial.id = (
    select tried.id from tuned as same join trial as tried on tried.unit = same.id
    where same.problem = one.problem and same.target = one.target and same.threads = one.threads
      and same.name = one.name and same.hardware = one.hardware and tried.configuration = one.configuration
      and (tried.is_cold = one.is_cold or tried.status <> 'ok')
    order by tried.at desc, tried.id desc limit 1)
  where coalesce(trial.status, 'ok') = 'ok';
"""
_SCHEMA: Final = _ROWS + _CALIBRATION + _TUNED + _WINNER
_UPGRADES: Final = {
    1: f"""
alter table verdict add column is_cold integer not null default 1;
update verdict set is_cold = coalesce((
  select min(trial.is_cold) from trial
  where trial.unit = verdict.unit and trial.session = verdict.session and trial.status = 'ok'), 1);
drop view winner;
{_CALIBRATION}{_WINNER}"""
}
"""What makes the present tables of those of an earlier version."""


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Makes the tables of a new file, or of an earlier version's; a Diagnostic for another program's, or a
    later version's.
    """
    if _version(connection, path) == VERSION:
        return
    connection.execute("begin immediate")
    try:
        found = _version(connection, path)  # another process may have made them meanwhile
        if found != VERSION:
            for statement in (_UPGRADES[found] if found else _SCHEMA).split(";\n"):
                connection.execute(statement)
            connection.execute(f"pragma application_id = {APPLICATION}")
            connection.execute(f"pragma user_version = {VERSION}")
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def is_present(connection: sqlite3.Connection, path: Path) -> bool:
    """Has the file the present tables, or an earlier version's?  A Diagnostic where it has neither."""
    found = _version(connection, path)
    if not found:
        raise Diagnostic(f"the database {path} is empty")
    return found == VERSION


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the tables, 0 where there are none; a Diagnostic where they are not ours."""
    (application,) = connection.execute("pragma application_id").fetchone()
    (version,) = connection.execute("pragma user_version").fetchone()
    if application == APPLICATION:
        if version == VERSION or version in _UPGRADES:
            return int(version)
        message = f"the database {path} has version {version}, and this Imbrex reads versions up to {VERSION}"
        hint = "'imbrex db export' of the Imbrex that wrote it makes a text, which 'imbrex db import' takes"
        raise Diagnostic(message, hint=f"{hint}; or name another file with IMBREX_DB")
    if connection.execute("select 1 from sqlite_master").fetchone():
        message = f"the database {path} is another program's"
        raise Diagnostic(message, hint="name another file with IMBREX_DB")
    return 0
