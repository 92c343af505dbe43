"""On a network's file system: rows go through an inbox, and one process merges them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from imbrex.database import Database, Device, Trial, Unit, Verdict
from imbrex.database.location import is_on_network
from imbrex.database.lookup import advice
from imbrex.database.prune import Prune
from imbrex.database.view import rows_in
from imbrex.database.warning import DatabaseWarning
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import CPU

DEVICE = Device("A CPU", (("isa", "avx2"),))
UNIT = Unit("gemm -t f32 -m 8 -n 8 -k 8 -transA 0 -transB 0 -g 1", "cpu", DEVICE, 1)
A, B, PICK = "v2:direct+product=a", "v2:direct+product=b", "v2:direct+product=pick"

MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:20 / /home rw,relatime shared:1 - nfs4 server:/home rw
24 23 0:21 / /home/me/local\\040disk rw - xfs /dev/vdb rw
25 22 0:22 / /scratch rw - lustre mds:/scratch rw
"""


@pytest.mark.parametrize(
    ("path", "is_so"),
    [
        ("/var/lib/t.db", False),
        ("/home/me/.local/share/imbrex/t.db", True),
        ("/home/me/local disk/t.db", False),
        ("/homeless/t.db", False),
        ("/scratch/t.db", True),
    ],
)
def test_the_type_of_the_mount_tells(
    path: str, is_so: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    monkeypatch.setattr("imbrex.database.location._existing", lambda path: path.parent)
    assert is_on_network(Path(path), tmp_path / "mounts") == is_so
    assert not is_on_network(Path(path), tmp_path / "no such")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in a folder that passes for a network's."""
    for module in ("store", "connection"):
        monkeypatch.setattr(f"imbrex.database.{module}.is_on_network", lambda _: True)
    return tmp_path / "t.db"


def waiting(path: Path) -> int:
    return len(list(path.with_name("t.db.inbox").glob("*.txt")))


def test_rows_are_on_the_disk_before_they_are_merged(path: Path) -> None:
    db = Database(path)
    db.record(UNIT, Trial(A, "ok", 10.0, session="s"))
    db.conclude(UNIT, Verdict(A, PICK, 1.5, 1.4, 1.6, 20, "s"))
    assert waiting(path) == 2 and not path.exists()
    best = db.best(UNIT)
    assert best is not None and best.configuration == A
    with Database(path) as other:  # as after `db` was killed
        assert [trial.configuration for trial in other.trials(UNIT)] == [A]
    assert waiting(path) == 0 and len(rows_in(path)) == 2
    assert sorted(p.name for p in path.parent.iterdir()) == ["t.db", "t.db.inbox", "t.db.lock"]
    db.record(UNIT, Trial(B, "ok", 5.0, session="s"))
    db.close()
    assert waiting(path) == 0 and len(rows_in(path)) == 3


def test_who_does_not_get_the_lock_leaves_the_rows(path: Path) -> None:
    with Database(path) as db:
        db.record(UNIT, Trial(A, "ok", 10.0))
        lock = FileLock(f"{path}.lock")
        lock.acquire()
    assert waiting(path) == 1
    lock.release()
    Database(path).close()
    assert waiting(path) == 0 and len(rows_in(path)) == 1


WRITER = """
import sys
from pathlib import Path
import imbrex.database.store as store, imbrex.database.connection as connection
store.is_on_network = connection.is_on_network = lambda path: True
sys.path.insert(0, str(Path({here!r}).parent))
from test_inbox import UNIT, Trial
for i in range(5):
    with store.Database(Path(sys.argv[1])) as db:
        for j in range(3):
            db.record(UNIT, Trial(f"v2:{{i}}-{{j}}", "ok", 1.0, session=sys.argv[2]))
"""


def test_processes_write_and_merge_at_once(path: Path) -> None:
    command = [sys.executable, "-c", WRITER.format(here=__file__), str(path)]
    writers = [subprocess.Popen([*command, name]) for name in ("a", "b", "c")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    with Database(path) as db:
        assert len(db.trials(UNIT)) == 45


def test_a_text_that_cannot_be_read_is_left_and_said(path: Path) -> None:
    with Database(path) as db:
        db.record(UNIT, Trial(A, "ok", 10.0))
        bad = path.with_name("t.db.inbox") / "bad.txt"
        bad.write_text("half a li")
        with pytest.warns(DatabaseWarning, match=r"bad\.txt is not merged: this is no text"):
            db._inbox.merge()  # type: ignore[union-attr]
    assert waiting(path) == 1 and len(rows_in(path)) == 1


def test_rows_of_a_damaged_file_are_saved(path: Path) -> None:
    with Database(path) as db:
        for i in range(20):
            db.record(UNIT, Trial(f"v2:{i}", "ok", float(i), session="s"))
    data = bytearray(path.read_bytes())
    data[-4096:] = b"\xff" * 4096
    path.write_bytes(data)
    with pytest.warns(DatabaseWarning, match=r"was damaged"), Database(path) as db:
        db.record(UNIT, Trial(A, "ok", 1.0))
    assert path.with_name("t.db.corrupt").exists() and len(rows_in(path)) >= 1


def test_prune(path: Path) -> None:
    with Database(path) as db:
        db.record(UNIT, Trial(A, "ok", 10.0))
        assert db.prune(Prune(target="cpu"), is_rehearsal=True) == 1
        assert db.prune(Prune(target="cpu")) == 1
        assert db.trials(UNIT) == []
    assert rows_in(path) == []


def test_a_full_disk_is_said_and_keeps_what_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with Database(path) as db:
        db.record(UNIT, Trial(A, "ok", 10.0))
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", full)
            with pytest.raises(Diagnostic, match="cannot be written: no space left on device"):
                db.record(UNIT, Trial(B, "ok", 5.0))
        assert [trial.configuration for trial in db.trials(UNIT)] == [A]
    assert len(rows_in(path)) == 1


def test_look_ups_read_the_merged_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMBREX_DB", str(path))
    find: Callable[[], object] = lambda: advice(UNIT.problem, CPU, 1)  # noqa: E731
    monkeypatch.setattr("imbrex.database.lookup.device_of", lambda target: DEVICE)
    assert find() is None
    with Database(path) as db:
        db.record(UNIT, Trial(A, "ok", 10.0, session="s"))
        db.conclude(UNIT, Verdict(A, PICK, 1.5, 1.4, 1.6, 20, "s"))
        assert find() is None
    found = advice(UNIT.problem, CPU, 1)
    assert found is not None and found.measured is not None
