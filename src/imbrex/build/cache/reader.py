"""Reader: entries and recipes of one cache directory, read and never changed.

Law: what it gives is intact, belongs to the owners, and lies in the directory: no link is followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from imbrex.build.cache.digest import digest
from imbrex.build.cache.entry import is_intact, parsed
from imbrex.build.cache.location import reason
from imbrex.build.cache.trust import Objection, fault, read_owned, resolved, superuser, this_user

__all__ = ["Json", "Reader", "is_key", "opened", "opened_shared"]

Json = dict[str, Any]

VERSION = "v1"
_MOST_RECIPE_BYTES = 1 << 24
_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Reader:
    """root: of this version's entries, without links on the way.  owners: whose files count."""

    root: Path
    owners: frozenset[int]

    def entry(self, key: str) -> Path:
        """Where the object under `key` lies."""
        assert is_key(key), key
        return self.root / "objects" / key

    def recipe(self, key: str) -> Path:
        """Where the recipe under `key` lies."""
        assert is_key(key), key
        return self.root / "recipes" / f"{key}.json"

    def is_intact(self, key: str, needed: Collection[str]) -> bool:
        """Is there an object, whole, with the files that are needed?"""
        return is_intact(self.entry(key), needed, self.owners)

    def recall(self, key: str) -> Json:
        """The recipe under `key`; a FileNotFoundError where there is none, a ValueError where it is damaged,
        an OSError where it cannot be read.
        """
        stored = _fields(read_owned(self.recipe(key), self.owners, _MOST_RECIPE_BYTES))
        body = stored.get("recipe")
        if not isinstance(body, str) or stored.get("sha256") != digest([key, body]):
            raise ValueError("it is no recipe, or the hash differs")
        return _fields(body)


def _fields(text: bytes | str) -> Json:
    found = parsed(text)
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    return cast("Json", found)


def is_key(text: str) -> bool:
    """Is it a digest, and so the name of a file and no path?"""
    return _KEY.fullmatch(text) is not None


def opened(directory: Path) -> Reader:
    """This user's cache, whose directory may still be to be made; an Objection where it is not to be used."""
    root = _resolved(directory, frozenset({this_user()}))
    _check_own(root, frozenset({this_user()}))
    return Reader(root, frozenset({this_user()}) | superuser())


def opened_shared(directory: Path) -> Reader:
    """Somebody's cache, trusted for it was named; an Objection where others than its owner can change it."""
    try:
        owner = frozenset({os.stat(directory / VERSION).st_uid})
    except (OSError, ValueError) as error:
        raise Objection(reason(error).lower()) from None
    root = _resolved(directory, owner | {this_user()})
    _check_own(root, owner)
    return Reader(root, owner | superuser())


def _resolved(directory: Path, owners: frozenset[int]) -> Path:
    try:
        return resolved(directory / VERSION, owners)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise Objection(reason(error).lower()) from None


def _check_own(root: Path, owners: frozenset[int]) -> None:
    """Nobody but these may own it, or write in it, or in what is directly in it."""
    for path in (root, *(root / part for part in ("objects", "recipes", "incoming"))):
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise Objection(reason(error).lower()) from None
        if found_fault := fault(path, status, owners if path == root else owners | superuser()):
            raise Objection(found_fault)
