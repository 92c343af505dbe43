"""Imports of a process that has read IR, where its working directory was removed."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

import imbrex.ir.dialect  # noqa: F401


def test_what_is_not_there_is_no_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own modules ask for some that are only elsewhere: `subprocess` for `msvcrt`."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(FileNotFoundError):
        os.getcwd()
    with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
        importlib.import_module("nothing_of_this_name")
