"""Where the user's database lies, and whether that is a network's file system."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

from imbrex.diagnostic import Diagnostic

__all__ = ["OFF", "is_on_network", "shipped_text", "switch_off", "user_path"]

VARIABLE: Final = "IMBREX_DB"
OFF: Final = "off"
FILE: Final = "tuning.db"
SHIPPED: Final = Path(__file__).parent / "shipped"
NETWORKED: Final = frozenset(
    """
    9p acfs afs beegfs ceph cifs coda davfs fuse.ceph fuse.cephfs fuse.glusterfs fuse.s3fs fuse.sshfs
    fuse.gcsfuse gfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 pvfs2 smb2 smb3 smbfs virtiofs
    """.split()
)
"""Types of mounts whose files other hosts may have open: shared memory, on which a write-ahead log stands, is
not theirs (sqlite.org/wal.html).
"""


def switch_off() -> None:
    """Does what IMBREX_DB=off does, for this process and those that it starts."""
    os.environ[VARIABLE] = OFF


def user_path() -> Path | None:
    """IMBREX_DB, else where this system keeps data of users; None where IMBREX_DB is `off`."""
    given = os.environ.get(VARIABLE, "")
    return None if given.strip().lower() == OFF else _found(given)


@cache
def _found(given: str) -> Path:
    """The path that is given, or the system's; found once."""
    try:
        if given:
            return Path(given).expanduser().absolute()
        import platformdirs  # here: where the file is named nobody waits for it

        return platformdirs.user_data_path("imbrex", appauthor=False) / FILE
    except (RuntimeError, OSError):
        raise Diagnostic("no place for the database: this user has no home", hint="set IMBREX_DB") from None


@cache
def shipped_text(target: str) -> Path | None:
    """The text for a target that comes with Imbrex; None where there is none."""
    path = SHIPPED / f"{target}.txt"
    return path if path.exists() else None


def is_on_network(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> bool:
    """Whether other hosts may write there; False where the system does not tell.

    The mount of a path is the last one whose place begins it (Linux, proc(5), mountinfo: field 5 is the
    place, with spaces as \\040; the type stands behind a dash).
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        parts = _existing(path).resolve().parts
    except OSError:
        return False
    longest, kind = -1, ""
    for line in lines:
        fields, _, rest = line.partition(" - ")
        place = Path(_unescaped(fields.split(" ")[4])).parts
        if len(place) >= longest and parts[: len(place)] == place:
            longest, kind = len(place), rest.partition(" ")[0]
    return kind in NETWORKED


def _existing(path: Path) -> Path:
    """The nearest folder above that is there."""
    return next((folder for folder in path.parents if folder.exists()), Path("/"))


def _unescaped(text: str) -> str:
    for code, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, letter)
    return text
