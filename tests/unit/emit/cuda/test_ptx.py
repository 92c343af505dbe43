"""PTX stands in one folder: all other headers and the printer call its functions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import imbrex

EMIT = Path(imbrex.__file__).parent / "emit"
PTX = EMIT / "device" / "cuda" / "ptx"
OTHERS = sorted(
    path.relative_to(EMIT).as_posix()
    for folder in ("cuda", "device/cuda", "device/gpu", "device/common", "gpu")
    for path in (EMIT / folder).rglob("*")
    if path.suffix in (".h", ".py") and PTX not in path.parents
)
WRITTEN = re.compile(r"\b(asm|__asm__|__asm)\b")


@pytest.mark.parametrize("file", OTHERS)
def test_others_have_none(file: str) -> None:
    assert not WRITTEN.search((EMIT / file).read_text(encoding="utf-8"))


def test_control_the_folder_has_some() -> None:
    assert any(WRITTEN.search(path.read_text(encoding="utf-8")) for path in PTX.glob("*.h"))
