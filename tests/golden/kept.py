"""Texts that are kept beside the tests of this folder: what each holds, and that no other one is there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

__all__ = ["expect_kept", "expect_only"]


def expect_kept(text: str, path: Path, *, update: bool) -> None:
    """The file holds this text; update: writes it first."""
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8"), f"{path}; see --update-golden"


def expect_only(names: Iterable[str], folder: Path) -> None:
    """The folder holds files of these names, whatever their endings, and nothing else."""
    assert {path.stem for path in folder.iterdir()} == set(names), f"{folder} has others"
