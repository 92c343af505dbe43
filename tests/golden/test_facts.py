"""Rows of tables: machines, types of elements, matrix instructions, field by field; sets of problems; what
the bounds of errors and the simulation of loops come to.

    pytest tests/golden --update-golden     writes what they hold now

A number of a row has its source in a field of it and nothing here to derive it from: that one changed is seen
here, and is compared with the source before it is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.golden.kept import expect_kept, expect_only
from tests.unit.timing.published import LOOPS

from imbrex.bench.gpu.sets import SETS
from imbrex.chip import CPU_ISAS, GPU_MACHINES
from imbrex.dtype import DTYPES
from imbrex.index.map import Map
from imbrex.problem import problem_text
from imbrex.timing.compute_unit import simulated
from imbrex.verify.bound import tolerance
from imbrex.verify.unit import PLAIN
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


def sets() -> Iterator[str]:
    """Sets of problems that are timed: how many, the first, the last, a digest of all with their peers."""
    for name, of in SETS.items():
        found = [
            f"{title} {problem_text(problem)} {times} {' '.join(of.peers)} {of.is_host}"
            for title, problem, times in of.problems()
        ]
        whole = sha256("\n".join(found).encode()).hexdigest()[:12]
        yield f"{name} {len(found)} {whole}: {found[0]} .. {found[-1]}"


def tolerances() -> Iterator[str]:
    """How far results may be from the exact ones, by type, unit, number of products and kind of data."""
    units = {unit.source: unit for gpu in GPU_MACHINES.values() for unit in gpu.units.values()}
    for unit in (PLAIN, *units.values()):
        for element, terms in product(("f16", "bf16", "f32", "f64", "f8e4m3fn"), (1, 33, 4096)):
            for data in ("any", "random", "whole"):
                found = tolerance(DTYPES[element], terms, data=data, elements=1000, unit=unit, alpha=1.5)
                numbers = " ".join(f"{getattr(found, field.name):.9g}" for field in fields(found))
                yield f"{unit.sum_bits} {unit.aligned_bits} {element} {terms} {data}: {numbers}"


def clocks() -> Iterator[str]:
    """Published loops in the simulation of a compute unit."""
    for one in LOOPS:
        trip = simulated(one.loop, GPU_MACHINES[one.chip], one.residents)
        yield f"{one.chip} {one.name}: {trip.clocks:.9g} clocks, {trip.busy:.9g} busy"


FACTS: dict[str, Callable[[], Iterator[str]]] = {
    "machines": machines,
    "types": types,
    "instructions": matrix_instructions,
    "sets": sets,
    "tolerances": tolerances,
    "clocks": clocks,
}


@pytest.mark.parametrize("name", FACTS)
def test_rows_hold_what_they_held(name: str, update_golden: bool) -> None:
    text, path = "".join(f"{line.rstrip()}\n" for line in FACTS[name]()), FOLDER / f"{name}.txt"
    expect_kept(text, path, update=update_golden)


def test_no_other_text_is_kept() -> None:
    expect_only(FACTS, FOLDER)
