"""Schema of the SQLite file: devices, units, trials, verdicts, and the winners as a view of these.

Law: a row is known by (problem, target, threads, device, session, configuration), so that rows that come
twice are one; the winner is computed, and follows every row that is added, corrected or pruned.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from imbrex.diagnostic import Diagnostic

__all__ = ["expect_ours", "prepare"]

VERSION: Final = 1
APPLICATION: Final = 0x496D6278
"""`Imbx`, by which the file is told from other programs' databases."""

SCHEMA: Final = """
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
  session text not null, at text not null,
  unique (unit, session)
);
create view tuned as
  select unit.*, device.name as name, device.hardware as hardware, device.conditions as conditions
  from unit join device on device.id = unit.device;
create view winner as
  select one.*, trial.median_ns, coalesce(trial.source, '') as source,
    coalesce(trial.compiler, '') as compiler, coalesce(trial.version, '') as version
  from (
    select tuned.problem, tuned.target, tuned.threads, tuned.name, tuned.hardware, verdict.at,
      verdict.session,
      case when verdict.low > 1 then verdict.configuration else verdict.pick end as configuration,
      case when verdict.low > 1 then verdict.gain else 1.0 end as gain
    from verdict join tuned on tuned.id = verdict.unit
    where verdict.id = (
      select other.id from tuned as same join verdict as other on other.unit = same.id
      where same.problem = tuned.problem and same.target = tuned.target and same.threads = tuned.threads
        and same.name = tuned.name and same.hardware = tuned.hardware
      order by other.at desc, other.id desc limit 1)
  ) as one
  left join trial on trial.id = (
    select tried.id from tuned as same join trial as tried on tried.unit = same.id
    where same.problem = one.problem and same.target = one.target and same.threads = one.threads
      and same.name = one.name and same.hardware = one.hardware and tried.configuration = one.configuration
    order by tried.at desc, tried.id desc limit 1)
  where coalesce(trial.status, 'ok') = 'ok';
"""


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Makes the tables of a new file; a Diagnostic for another program's, or another version's."""
    if not _is_empty(connection, path):
        return
    connection.execute("begin immediate")
    try:
        if _is_empty(connection, path):  # no other process made them meanwhile
            for statement in SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.execute(f"pragma application_id = {APPLICATION}")
            connection.execute(f"pragma user_version = {VERSION}")
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def expect_ours(connection: sqlite3.Connection, path: Path) -> None:
    """A Diagnostic for a file without our tables."""
    if _is_empty(connection, path):
        raise Diagnostic(f"the database {path} is empty")


def _is_empty(connection: sqlite3.Connection, path: Path) -> bool:
    """Are the tables still to be made?  A Diagnostic where there are others."""
    (application,) = connection.execute("pragma application_id").fetchone()
    (version,) = connection.execute("pragma user_version").fetchone()
    if (application, version) == (APPLICATION, VERSION):
        return False
    if application == APPLICATION:
        told = f"the database {path} has version {version}, and this Imbrex reads version {VERSION}"
        hint = "'imbrex db export' of the Imbrex that wrote it makes a text, which 'imbrex db import' takes"
        raise Diagnostic(told, hint=f"{hint}; or name another file with IMBREX_DB")
    if connection.execute("select 1 from sqlite_master").fetchone():
        told = f"the database {path} is another program's"
        raise Diagnostic(told, hint="name another file with IMBREX_DB")
    return True
