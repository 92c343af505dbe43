"""Rows of tables: machines, types of elements, matrix instructions, field by field.

    pytest tests/golden --update-golden     writes what they hold now

A number of a row has its source in a field of it and nothing here to derive it from: that one changed is seen
here, and is compared with the source before it is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from imbrex.chip import CPU_ISAS, GPU_MACHINES
from imbrex.dtype import DTYPES
from imbrex.index.map import Map
from imbrex.view.mma.table import instructions

FOLDER = Path(__file__).parent / "facts"


def flat(name: str, value: Any) -> Iterator[str]:
    """A line for each number and word of a row."""
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from flat(f"{name}.{field.name}", getattr(value, field.name))
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from flat(f"{name}[{key}]", one)
    elif isinstance(value, frozenset):
        yield f"{name} {sorted(value)}"
    else:
        yield f"{name} {value}"


def machines() -> Iterator[str]:
    for name, machine in {**CPU_ISAS, **GPU_MACHINES}.items():
        yield from flat(name, machine)


def types() -> Iterator[str]:
    for name, of in DTYPES.items():
        yield from flat(name, of)


def matrix_instructions() -> Iterator[str]:
    """A line each: all fields in their order, of maps a digest."""
    for of in instructions():
        named = [(field.name, getattr(of, field.name)) for field in fields(of) if field.name != "source"]
        yield ", ".join(f"{name} {digest(one) if isinstance(one, Map) else one}" for name, one in named)


def digest(of: Map) -> str:
    return sha256(str(of).encode()).hexdigest()[:8]


FACTS: dict[str, Callable[[], Iterator[str]]] = {
    "machines": machines,
    "types": types,
    "instructions": matrix_instructions,
}


@pytest.mark.parametrize("name", FACTS)
def test_rows_hold_what_they_held(name: str, update_golden: bool) -> None:
    text, path = "".join(f"{line.rstrip()}\n" for line in FACTS[name]()), FOLDER / f"{name}.txt"
    if update_golden:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8"), f"{path}; see --update-golden"
