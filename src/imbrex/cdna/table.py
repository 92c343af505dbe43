"""The instructions of CDNA: one row each, read from the files of `table/`, which name their sources.

A row has the number of the opcode in its format, the mnemonic, the chips that have it, and its operands as
`field:registers`; `field.s` and `field.a` say that the field holds scalar or accumulation registers.
Law: of one chip, no two rows have one format and number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from imbrex.cdna.encoding import FORMATS
from imbrex.chip import GPU_MACHINES

__all__ = ["Row", "Slot", "rows"]

_TABLE = Path(__file__).parent / "table"
_SUFFIX = re.compile(r"_e(32|64)$")


@dataclass(frozen=True, slots=True)
class Slot:
    """One operand.  registers: how many of 32 bits.  kind: `s`, `a`, or empty: what the field usually has."""

    field: str
    kind: str
    registers: int


@dataclass(frozen=True, slots=True)
class Row:
    """mnemonic: as assemblers write it, with `_e32` or `_e64` where both forms exist."""

    format: str
    op: int
    mnemonic: str
    slots: tuple[Slot, ...]

    @property
    def name(self) -> str:
        """The mnemonic without its form: what is to be done."""
        return _SUFFIX.sub("", self.mnemonic)


@cache
def rows(chip: str) -> dict[tuple[str, int], Row]:
    """Every instruction of a chip by format and number."""
    found: dict[tuple[str, int], Row] = {}
    own = GPU_MACHINES[chip].chip
    for format in FORMATS:
        text = (_TABLE / f"{format.name.lower()}.txt").read_text(encoding="utf-8")
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            op, mnemonic, *rest = line.split()
            chips = [f"gfx{word}" for word in rest if ":" not in word]
            if own in chips:
                slots = tuple(_slot(word) for word in rest if ":" in word)
                found[format.name, int(op)] = Row(format.name, int(op), mnemonic, slots)
    return found


def _slot(word: str) -> Slot:
    name, _, count = word.partition(":")
    field, _, kind = name.partition(".")
    return Slot(field, kind, int(count))
