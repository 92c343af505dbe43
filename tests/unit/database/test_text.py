"""Text of a database: it round-trips, reads well in version control, and errors have their place."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imbrex.database import Calibration, Database, Device, Trial, Unit, Verdict
from imbrex.database.prune import Prune
from imbrex.database.record import Status
from imbrex.database.rows import Row
from imbrex.database.text import HEAD, read, text
from imbrex.database.view import differences, only_winners, rows_in, summaries
from imbrex.diagnostic import Diagnostic

DEVICE = Device("A CPU @ 3 GHz", (("isa", "avx2"), ("l2", "1048576")), (("usable_threads", "2"),))
UNIT = Unit("gemm -t f32 -m 8 -n 8 -k 8 -transA 0 -transB 0 -g 1", "cpu", DEVICE, 1)
A, PICK = "v2:direct+product=a", "v2:direct+product=pick"
DATA = Path(__file__).parent / "data"
WHEN = "2026-11-22T10:00:00.000000+00:00"
ROWS: list[Row] = [
    (UNIT, Trial(A, "ok", 10.5, 0.25, 7, "d1", "ziglang 0.17.0", "", "s1", WHEN, True, "0.1.0")),
    (UNIT, Trial(PICK, "wrong", note="element (0, 0):\tis 1,\nshould be 2\\", session="s1", when=WHEN)),
    (UNIT, Verdict(A, PICK, 1.5, 1.4, 1.6, 20, "s1", WHEN)),
    (replace(UNIT, problem="", threads=0), Calibration((("prices.copy", 4.25),), 0.06, 0.03, 99, "c", WHEN)),
]

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
times = st.one_of(st.none(), st.floats(0, 1e12))
statuses: list[Status] = ["ok", "wrong", "failed", "timeout", "crashed", "spilled", "refused"]
letters = st.text(f"{ascii_lowercase}_", min_size=1, max_size=12)
facts = st.lists(st.tuples(letters, st.text(st.characters(categories=["L", "N"]), max_size=12)))
devices = st.builds(Device, words, facts.map(tuple), facts.map(tuple))
units = st.builds(Unit, words, words, devices, st.integers(0, 256))
trials = st.builds(
    Trial, words, st.sampled_from(statuses), times, times, st.integers(0, 10**6), words, words, words, words,
    words, st.booleans(), words,
)  # fmt: skip
gains = st.floats(0, 100)
counts = st.integers(0, 1000)
verdicts = st.builds(Verdict, words, words, gains, gains, gains, counts, words, words, st.booleans())
names = st.text(f"{ascii_lowercase}_.", min_size=1, max_size=12)
fitted = st.lists(st.tuples(names, st.floats(0, exclude_min=True, allow_infinity=False))).map(tuple)
calibrations = st.builds(Calibration, fitted, gains, gains, counts, words, words, words)
rows = st.lists(st.tuples(units, trials | verdicts | calibrations), max_size=6)


@given(rows)
@settings(max_examples=40, deadline=None)
def test_reading_undoes_writing(found: list[Row]) -> None:
    lines = text(found)
    assert set(read(lines)) == set(found)
    assert text(read(lines)) == lines
    assert text(reversed(found)) == lines


def test_a_database_is_its_text(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Database(path) as db:
        db.add(ROWS)
    lines = text(rows_in(path))
    assert text(ROWS) == lines
    (tmp_path / "t.txt").write_text(lines, newline="\r\n")
    assert set(rows_in(tmp_path / "t.txt")) == set(ROWS)


def test_a_text_of_version_1_is_read() -> None:
    """Whether caches were defeated is said by the trials of a verdict's session."""
    found = read((DATA / "version_1.txt").read_text())
    told = {r.session: r.is_cold for _, r in found if isinstance(r, Verdict)}
    assert told == {"s1": True, "s2": False} and len(found) == 5


def test_one_row_more_is_one_line_more() -> None:
    before, after = text(ROWS[:2]).splitlines(), text(ROWS[:3]).splitlines()
    assert len(after) == len(before) + 1 and set(before) < set(after)
    assert (
        before[0] == HEAD
        and before[1].startswith("device\t")
        and "\tA CPU @ 3 GHz\tisa=avx2 l2=" in before[1]
    )


@pytest.mark.parametrize(
    ("old", "new", "message", "word"),
    [
        (HEAD, "# something else", "this is no text of a tuning database", "# something else"),
        ("\ntrial\t", "\ntrail\t", "unknown kind of line 'trail'", "trail"),
        ("\t10.5\t", "\tfast\t", "'fast' is no value of median_ns", "fast"),
        ("\tok\t", "\tfine\t", "unknown status 'fine'", "fine"),
        ("copy=4.25", "copy=-4.25", "'prices.copy' is no number above 0", "prices.copy=-4.25"),
        ("isa=avx2", "isa", "'isa' is no NAME=VALUE", "isa l2=1048576"),
        ("\t1.4\t", "\t", "a verdict has 13 fields, got 12", "1"),
        ("\t1\tgemm", "\tone\tgemm", "'one' is no value of threads", "one"),
        ("device\t", "# device\t", "no line tells what device '", None),
    ],
)
def test_errors_have_their_place(old: str, new: str, message: str, word: str | None) -> None:
    lines = text(ROWS).replace(old, new)
    with pytest.raises(Diagnostic, match=re.escape(message)) as caught:
        read(lines, "t.txt")
    error = caught.value
    assert error.file == "t.txt" and error.line is not None and error.col is not None
    line = lines.split("\n")[error.line - 1]
    if word is not None:
        assert line[error.col - 1 :][: error.length] == word


def test_merging_twice_is_merging_once(tmp_path: Path) -> None:
    with Database(tmp_path / "t.db") as db:
        for _ in range(2):
            db.add(ROWS)
            assert db.count() == 4
    assert set(rows_in(tmp_path / "t.db")) == set(ROWS)


def test_winners_alone_make_the_same_winners() -> None:
    more: list[Row] = [
        *ROWS,
        (UNIT, Trial(A, "ok", 11.0, session="s0", when="2026-01", source="d0")),
        (UNIT, Verdict(PICK, PICK, 1.0, 1.0, 1.0, 20, "s0", "2026-01")),
        (replace(UNIT, threads=2), Trial(A, "ok", 11.0, session="s0", when="2026-01")),
    ]
    kept = only_winners(more)
    assert set(kept) == {ROWS[0], ROWS[2]}
    told = [(s.key, s.winner) for s in summaries(more) if s.winner]
    assert told == [(s.key, s.winner) for s in summaries(kept)]


def test_what_differs() -> None:
    faster = [(UNIT, replace(r, median_ns=5.25) if isinstance(r, Trial) else r) for _, r in ROWS[:1]] + ROWS[
        1:
    ]
    (found,) = differences(ROWS, faster)
    assert found.ratio == 2.0
    assert differences(ROWS, ROWS) == []
    (alone,) = differences(ROWS, [])
    assert alone.second is None and alone.ratio is None


@pytest.mark.parametrize(
    ("which", "left"),
    [
        (Prune(target="sm_90a"), 4),
        (Prune(target="cpu", device="a cpu"), 0),
        (Prune(device="GPU"), 4),
        (Prune(version="0.1.0"), 0),
        (Prune(version="0.0.9"), 4),
        (Prune(before="2026-11-22"), 4),
        (Prune(before="2026-11-23"), 0),
    ],
)
def test_prune(which: Prune, left: int, tmp_path: Path) -> None:
    with Database(tmp_path / "t.db") as db:
        db.add(ROWS)
        assert db.prune(which, is_rehearsal=True) == 4 - left and db.count() == 4
        assert db.prune(which) == 4 - left and db.count() == left
