"""Trust: who else could change what lies at a path.

What the cache holds is loaded and run, so whoever can write there can run code as this user.  Hashes do not
help: who can write a library can write its hash.  So a directory counts only where no other user can change
it, or any directory or link on the way to it.
Law: after `resolved(path, owners)` nobody but the owners and the superuser can change what the path it gives
leads to.  A directory with the sticky bit, as /tmp, may be passed: there nobody moves what is another's.
Windows has neither owners nor modes of this kind: there nothing is checked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Objection", "fault", "read_owned", "resolved", "superuser", "this_user"]

_MOST_LINKS = 40  # as Linux itself
_ACCESS_LIST = "system.posix_acl_access"

Owners = frozenset[int]


class Objection(Exception):
    """Why a path is not trusted, as the end of a sentence about it."""


def this_user() -> int:
    """The user as whom files are made."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


def superuser() -> Owners:
    """0, and whoever owns the root: another number in a container with a user namespace of its own."""
    return frozenset({0, os.stat("/").st_uid})


def resolved(path: Path, owners: Owners) -> Path:
    """The absolute path without links, of what is there and what is still to be made; an Objection where
    others could change it, an OSError where it cannot be looked at.

    owners: who may own what is passed, besides the superuser.
    """
    trusted, here = owners | superuser(), path
    for here, status in _passed(path):
        if status is not None and (reason := _fault(here, status, trusted, is_passed=True)):
            raise Objection(reason)
    return here


def fault(path: Path, status: os.stat_result, owners: Owners) -> str | None:
    """Why what is there is not the owners' alone: a link, another's, or open to others; or None."""
    return f"'{path}' is a link" if stat.S_ISLNK(status.st_mode) else _fault(path, status, owners)


def read_owned(path: Path, owners: Owners, most_bytes: int) -> bytes:
    """What a file holds; an OSError where it is a link, a pipe, another's, or longer than `most_bytes`."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(descriptor)
        if reason := fault(path, status, owners):
            raise OSError(reason)
        if status.st_size > most_bytes:
            raise OSError(f"'{path}' has {status.st_size} bytes, more than {most_bytes}")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(most_bytes + 1)
    finally:
        os.close(descriptor)


def _passed(path: Path) -> Iterator[tuple[Path, os.stat_result | None]]:
    """Every directory and link from the root to `path`, links followed, what they lead to last; None for what
    is not there.
    """
    absolute = path.absolute()
    here, todo, links = Path(absolute.anchor), list(reversed(absolute.parts[1:])), 0
    yield here, os.lstat(here)
    while todo:
        part = todo.pop()
        if part == "..":
            here = here.parent
            continue
        at = here / part
        try:
            status = os.lstat(at)
        except FileNotFoundError:
            yield at.joinpath(*reversed(todo)), None
            return
        yield at, status
        if not stat.S_ISLNK(status.st_mode):
            here = at
            continue
        links += 1
        if links > _MOST_LINKS:
            raise Objection(f"'{at}' is one of too many links")
        target = Path(os.readlink(at))
        todo += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        here = Path(target.anchor) if target.is_absolute() else here
    yield here, os.lstat(here)


def _fault(path: Path, status: os.stat_result, owners: Owners, is_passed: bool = False) -> str | None:
    """is_passed: on the way to something else, where the sticky bit keeps what is there in its place."""
    mode = status.st_mode
    if not (stat.S_ISDIR(mode) or (stat.S_ISLNK(mode) if is_passed else stat.S_ISREG(mode))):
        return f"'{path}' is no directory" if is_passed else f"'{path}' is neither file nor directory"
    if not hasattr(os, "geteuid"):
        return None
    if status.st_uid not in owners:
        return f"'{path}' is of user {status.st_uid}"
    is_fixed = stat.S_ISLNK(mode) or (is_passed and mode & stat.S_ISVTX)
    if not is_fixed and _is_open(status, owners, path):
        return f"others may write to '{path}' (mode {stat.S_IMODE(mode):o})"
    return None


def _is_open(status: os.stat_result, owners: Owners, path: Path) -> bool:
    """May others write?  A group that is one owner's alone, as many systems give each user, is no other."""
    if status.st_mode & stat.S_IWOTH:
        return True
    if not status.st_mode & stat.S_IWGRP:
        return False
    return _has_access_list(path) or not any(_is_alone(status.st_gid, owner) for owner in owners)


def _has_access_list(path: Path) -> bool:
    """Who is named in one may write where the mode says that the group may."""
    try:
        return _ACCESS_LIST in os.listxattr(path)
    except (OSError, AttributeError):
        return False


def _is_alone(group: int, owner: int) -> bool:
    """Is it the owner's own group: of that name, with nobody else in it?"""
    import grp
    import pwd

    try:
        name, found = pwd.getpwuid(owner).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == name and set(found.gr_mem) <= {name}
