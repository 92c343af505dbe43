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


INDEXED = re.compile(r'"[+=]*[a-z]"\(([\w.]+)\[(\d+)\]\)')
REGISTERS = re.compile(r"\{%\d+(?:, %\d+)+\}")


def unordered(text: str) -> list[str]:
    """Operands of an instruction that are elements of one array and are not its first ones, in their order;
    and registers in braces whose numbers do not follow each other.
    """
    found: list[str] = []
    for statement in re.split(r";(?=[^\"]*(?:\"[^\"]*\"[^\"]*)*$)", text):
        places: dict[str, list[int]] = {}
        for name, place in INDEXED.findall(statement):
            places.setdefault(name, []).append(int(place))
        found += [f"{name}{have}" for name, have in places.items() if have != list(range(len(have)))]
    for braces in REGISTERS.findall(text):
        numbers = [int(n) for n in re.findall(r"\d+", braces)]
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            found.append(braces)
    return found


@pytest.mark.parametrize("file", sorted(path.name for path in PTX.glob("*.h")))
def test_operands_come_in_order(file: str) -> None:
    assert unordered((PTX / file).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        'asm("x {%1, %2, %3, %4};" ::"r"(to), "r"(x[0]), "r"(x[2]), "r"(x[2]), "r"(x[3]));',
        'IMBREX_LOAD(4, , "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[3]), "r"(c.at[3]));',
        'IMBREX_STORE(3, "{%2, %3, %4}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[3]));',
        'asm("x {%1, %2, %4};" ::"r"(to));',
    ],
)
def test_control_operands_out_of_order_are_seen(text: str) -> None:
    assert unordered(text)
