"""Answers about matrix instructions: what `imbrex explain mma` prints, apart from how.

An answer is a grid of texts for people and spreadsheets, and a value for programs.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from imbrex.cli.text import json_text
from imbrex.index.map import Map
from imbrex.numeral import counted
from imbrex.view.mma import (
    CHIPS,
    OPERANDS,
    SCALED,
    Element,
    Instruction,
    LaneRegister,
    Operand,
    element_at,
    element_text,
    elements,
    lane_registers,
    lane_registers_of,
    register_text,
)

__all__ = [
    "OPERANDS",
    "Answer",
    "described",
    "element_of",
    "listing",
    "matrix",
    "register_file",
    "register_of",
    "written",
]


@dataclass(frozen=True)
class Answer:
    """columns and rows are the grid; value is the same as JSON has it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    value: Any


def written(answers: Sequence[Answer], form: str) -> str:
    """The answers in one of the forms `table`, `csv` and `json`."""
    match form:
        case "json":
            return json_text([a.value for a in answers] if len(answers) > 1 else answers[0].value)
        case "csv":
            return "\n".join(_csv(a, is_titled=len(answers) > 1) for a in answers).rstrip("\n")
        case _:
            return "\n\n".join(_table(a) for a in answers)


def described(found: Instruction, chosen: Sequence[Operand]) -> Answer:
    """All that the table knows of an instruction, and the formulas of the chosen layouts."""
    held = ", ".join(f"{o.upper()} {found.registers(o)}" for o in found.held)
    rows = [
        ("product", f"{found.blocks} of C[{found.m}][{found.n}] {found.c_type} += "
                    f"A[{found.m}][{found.k}] {found.a_type} * B[{found.k}][{found.n}] {found.b_type}"),
        ("wave", counted(found.wave, "lane")),
        ("registers", f"{held}, of 32 bits, a lane"),
        *([("shared memory", "B, and A where it is not in registers")] if found.b is None else []),
        _call(found),
        *((chip, _on_chip(found, chip)) for chip in found.chips),
        *((o.upper(), _formulas(found.map(o))) for o in chosen),
        *((f"scale of {side}", _scale(layout)) for side, layout in _scales(found, chosen)),
        ("source", found.source),
    ]  # fmt: skip
    value = {
        **listing([found]).value[0],
        "registers": {o: found.registers(o) for o in found.held},
        "layouts": {o: _formulas(found.map(o)) for o in chosen},
        "scales": {side.lower(): _formulas(layout) for side, layout in _scales(found, chosen)},
        "maps": {o: str(found.map(o)).splitlines() for o in chosen},
    }
    return Answer(found.name, ("fact", "value"), tuple(rows), value)


def _scales(found: Instruction, chosen: Sequence[Operand]) -> list[tuple[str, Map]]:
    """Layouts of the scales of those operands that have some."""
    layouts: dict[Operand, Map | None] = {"a": found.scale_a, "b": found.scale_b}
    return [(o.upper(), layout) for o in chosen if (layout := layouts.get(o)) is not None]


def _scale(layout: Map) -> str:
    return f"{_formulas(layout)}: k counts runs of {SCALED}; one byte of the lane's register, 2^(byte - 127)"


def _call(found: Instruction) -> tuple[str, str]:
    """The builtin, or the assembly where compilers have none."""
    if not found.builtin:
        return "assembly", f"{found.mnemonic} {', '.join(found.arguments)}"
    typed = {"a": found.builtin_operand, "b": found.builtin_operand, "c": found.builtin_result}
    arguments = ", ".join(f"{typed[word]} {word}" if word in typed else word for word in found.arguments)
    return "builtin", f"{found.builtin_result} {found.builtin}({arguments})"


def _on_chip(found: Instruction, chip: str) -> str:
    formats = ", ".join(
        f"{found.element(o)} is {name}"
        for o in OPERANDS[: 1 if found.a_type == found.b_type else 2]
        if (name := found.format(o, chip)) != found.element(o)
    )
    cycles, rate = found.cycles[chip], found.rate(chip)
    units = "each SIMD" if found.wave <= 64 else "the four SIMDs of a multiprocessor"
    text = f"{found.mnemonic_on(chip)}, {counted(cycles, 'cycle')}, {rate} operations a cycle on {units}"
    return f"{text}; {formats}" if formats else text


def _formulas(layout: Map) -> str:
    """`m = lane % 32, k = ...`: what the layout's rules come to."""
    point = layout.symbolic
    made = [f"{d.name} = {x}" for d, x in zip(layout.lower, point.coords, strict=True) if d.size > 1]
    return ", ".join(made) + "".join(f", where {guard}" for guard in point.guards)


def listing(found: Sequence[Instruction]) -> Answer:
    """The instructions, and the cycles that each takes on each chip."""
    chips = [chip for chip in CHIPS if any(i.fits(chip) for i in found)]
    columns = ("instruction", "A", "B", "C", "MxNxK", "blocks", "wave", *chips)
    rows = [
        (
            i.name, i.a_type, i.b_type, i.c_type, f"{i.m}x{i.n}x{i.k}", str(i.blocks), str(i.wave),
            *(str(i.cycles.get(chip, "-")) for chip in chips),
        )
        for i in found
    ]  # fmt: skip
    value = [
        {
            "instruction": i.name, "a": i.a_type, "b": i.b_type, "c": i.c_type,
            "m": i.m, "n": i.n, "k": i.k, "blocks": i.blocks, "wave": i.wave,
            "builtin": i.builtin, "mnemonic": i.mnemonic, "cycles": dict(i.cycles), "source": i.source,
        }
        for i in found
    ]  # fmt: skip
    return Answer(
        f"{counted(len(found), 'matrix instruction')}; cycles on each chip", columns, tuple(rows), value
    )


def register_of(found: Instruction, operand: Operand, wanted: Element) -> Answer:
    """Where an element is held."""
    cells = [(wanted, location) for location in lane_registers_of(found, operand, wanted)]
    return _cells(found, operand, f"registers of {element_text(found, operand, wanted)}", cells)


def element_of(found: Instruction, operand: Operand, location: LaneRegister) -> Answer:
    """What a lane's register holds."""
    held = element_at(found, operand, location)
    title = f"lane {location.lane}, register {location.register} of {operand.upper()}"
    return _cells(found, operand, title if held else f"{title}: nothing", [(held, location)] if held else [])


def matrix(found: Instruction, operand: Operand) -> list[Answer]:
    """Where every element is held, `lanes:register`; one grid a block."""
    held = lane_registers(found, operand)
    blocks, rows, columns = (d.size for d in found.map(operand).lower)
    return [
        Answer(
            f"{_of(found, operand)}{f', block {b}' if blocks > 1 else ''}: lane:register of each element",
            (_axes(operand), *map(str, range(columns))),
            tuple(
                (str(r), *(_location_text(found, operand, held[Element(r, c, b)]) for c in range(columns)))
                for r in range(rows)
            ),
            _value(found, operand, [(e, p) for e, ps in held.items() if e.block == b for p in ps]),
        )
        for b in range(blocks)
    ]


def register_file(found: Instruction, operand: Operand) -> Answer:
    """What every lane's registers hold."""
    held = elements(found, operand).tolist()
    names = [register_text(found, operand, register) for register in range(len(held[0]))]
    texts = tuple(
        (str(lane), *(element_text(found, operand, Element(*e)) if e[0] >= 0 else "" for e in registers))
        for lane, registers in enumerate(held)
    )
    cells = [
        (Element(*e), LaneRegister(lane, register))
        for lane, registers in enumerate(held)
        for register, e in enumerate(registers)
        if e[0] >= 0
    ]
    title = f"{_of(found, operand)}: element in each lane's register"
    return Answer(title, ("lane", *names), texts, _value(found, operand, cells))


def _cells(
    found: Instruction, operand: Operand, title: str, cells: Sequence[tuple[Element, LaneRegister]]
) -> Answer:
    rows = tuple(
        (
            element_text(found, operand, element),
            str(location.lane),
            str(location.register),
            register_text(found, operand, location.register),
        )
        for element, location in cells
    )
    columns = ("element", "lane", "register", "bits")
    return Answer(f"{found.name}: {title}", columns, rows, _value(found, operand, cells))


def _value(
    found: Instruction, operand: Operand, cells: Sequence[tuple[Element, LaneRegister]]
) -> dict[str, Any]:
    listed = [
        {**e._asdict(), **p._asdict(), "bits": register_text(found, operand, p.register)} for e, p in cells
    ]
    return {"instruction": found.name, "operand": operand, "cells": listed}


def _of(found: Instruction, operand: Operand) -> str:
    _, rows, columns = found.map(operand).lower
    return f"{operand.upper()} of {found.name}, {rows} x {columns}"


def _axes(operand: Operand) -> str:
    return {"a": "m\\k", "b": "k\\n", "c": "m\\n"}[operand]


def _location_text(found: Instruction, operand: Operand, held: Sequence[LaneRegister]) -> str:
    lanes = ",".join(str(location.lane) for location in held)
    return f"{lanes}:{register_text(found, operand, held[0].register)}"


def _table(answer: Answer) -> str:
    """The first column on the left, the others on the right, as wide as they are."""
    rows = (answer.columns, *answer.rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(answer.columns))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
    return "\n".join([answer.title, *(line.rstrip() for line in lines)])


def _csv(answer: Answer, *, is_titled: bool) -> str:
    text = io.StringIO()
    if is_titled:
        text.write(f"# {answer.title}\n")
    csv.writer(text, lineterminator="\n").writerows([answer.columns, *answer.rows])
    return text.getvalue()
