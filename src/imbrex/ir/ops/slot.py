"""How the operands and the configuration keys of an operation are written, read off its IRDL definition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.irdl import (
    IRDLOperation,
    OperandDef,
    OptOperandDef,
    RangeLengthConstraint,
    RangeOf,
    VarOperandDef,
)

from imbrex.ir.attrs import Literal

SIZES = "sizes"
"""The variadic operand whose values stand in the configuration."""


@dataclass(frozen=True)
class Slot:
    """How one operand definition is written: its name, and whether it is a memref, an index or either."""

    name: str
    is_memref: bool
    is_index: bool
    is_optional: bool
    is_variadic: bool

    @property
    def follows(self) -> str | None:
        """The operand after which these indices stand in brackets."""
        return (
            self.name.removesuffix("_index")
            if self.is_variadic and self.is_index and self.name != SIZES
            else None
        )

    @property
    def takes_the_rest(self) -> bool:
        """Is it the last of the operands, and takes all that follow?"""
        return self.is_variadic and self.is_memref


@cache
def slots_of(op: type[IRDLOperation]) -> tuple[Slot, ...]:
    """The operand definitions of an operation."""
    return tuple(_slot(name, d) for name, d in op.get_irdl_definition().operands)


def _slot(name: str, d: OperandDef) -> Slot:
    constr = d.constr.constraint if isinstance(d.constr, RangeLengthConstraint) else d.constr
    bases = (constr.constr.get_bases() if isinstance(constr, RangeOf) else None) or set()
    optional = isinstance(d, OptOperandDef)
    variadic = isinstance(d, VarOperandDef) and not optional
    return Slot(name, MemRefType in bases, IndexType in bases, optional, variadic)


@cache
def keys_of(op: type[IRDLOperation]) -> Mapping[str, type[Literal[Any]]]:
    """The attribute class of each configuration key, in the order of definition."""
    out: dict[str, type[Literal[Any]]] = {}
    for key, d in op.get_irdl_definition().properties.items():
        for base in d.constr.get_bases() or ():
            if issubclass(base, Literal):
                out[key] = base
    return out
