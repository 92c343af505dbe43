"""One instruction as it stands in memory: its row, its operands, and the fields that modify it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from imbrex.cdna.table import Row

__all__ = ["ACCUMULATION", "WHOLE", "Instruction", "Kind", "Operand", "Part", "signed"]

ACCUMULATION = 256
"""Number of the first register of a lane that an accumulation register names."""


class Kind(IntEnum):
    """Where the value of an operand is.  The core knows these numbers."""

    VECTOR = 1
    SCALAR = 2
    INTEGER = 3
    LITERAL = 4
    FLOAT = 5
    OFF = 6
    SPECIAL = 7


@dataclass(frozen=True, slots=True)
class Part:
    """What of a source is used.  select: 0 to 3 a byte, 4 and 5 a half, 6 all of it."""

    select: int = 6
    is_signed: bool = False
    is_negative: bool = False
    is_absolute: bool = False


WHOLE = Part()


@dataclass(frozen=True, slots=True)
class Operand:
    """index: the first register; accumulation registers follow the 256 others; or which SPECIAL it is.

    registers: of 32 bits.  integer: of INTEGER and LITERAL.  real: of FLOAT.
    """

    kind: Kind
    index: int = 0
    registers: int = 1
    integer: int = 0
    real: float = 0.0
    part: Part = WHOLE


@dataclass(frozen=True, slots=True)
class Instruction:
    """row: None for words that are no instruction.  operands: as the row has them.

    fields: of its format.  sdwa, dpp: of its second word, where it has that.
    """

    address: int
    words: tuple[int, ...]
    row: Row | None
    operands: tuple[Operand, ...] = ()
    fields: Mapping[str, int] = field(default_factory=lambda: dict[str, int]())
    sdwa: Mapping[str, int] | None = None
    dpp: Mapping[str, int] | None = None
    scales: tuple[Operand, ...] = ()

    @property
    def name(self) -> str:
        """What is to be done; empty where nobody knows."""
        return "" if self.row is None else self.row.name

    @property
    def simm(self) -> int:
        """The signed number of 16 bits."""
        return signed(self.fields.get("simm", 0), 16)

    @property
    def target(self) -> int:
        """Address to which a branch or a call goes.  Words are counted from the next instruction."""
        return self.address + 4 + 4 * self.simm

    @property
    def is_matrix(self) -> bool:
        """Does it multiply matrices?"""
        return self.name.startswith(("v_mfma", "v_smfmac"))


def signed(value: int, bits: int) -> int:
    """A field of so many bits as a number in two's complement."""
    return value - (1 << bits) if value >> (bits - 1) else value
