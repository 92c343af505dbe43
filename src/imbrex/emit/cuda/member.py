"""Members of a kernel's struct as C++ text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from imbrex.index.expr import lin
from imbrex.index.rule import COUNT, Guard

__all__ = ["ELEMENT", "are_of_count", "boolean", "method", "static", "static_or_method"]

ELEMENT: Final = "int32_t batch, int32_t row, int32_t column"
"""Parameters of a function of one element of C."""


def static(result: str, name: str, parameters: str, value: str, *, is_constant: bool = False) -> str:
    """A function of its parameters alone; is_constant: the compiler can evaluate it."""
    kind = "static constexpr" if is_constant else "static"
    return f"IMBREX_MEMBER {kind} {result} {name}({parameters}) {{ return {value}; }}"


def method(result: str, name: str, parameters: str, value: str) -> str:
    """A function that reads the kernel's arguments."""
    return f"IMBREX_MEMBER {result} {name}({parameters}) const {{ return {value}; }}"


def static_or_method(result: str, name: str, parameters: str, value: str, *, of_count: bool) -> str:
    """A function of its parameters, and of the run-time size where there is one."""
    return (method if of_count else static)(result, name, parameters, value)


def are_of_count(guards: Sequence[Guard]) -> bool:
    """Does one of them compare with the run-time size, which a struct with them then has?"""
    return any(lin(guard.size).mentions(COUNT) for guard in guards)


def boolean(value: bool) -> str:
    """Text of a claim, as C++ spells it."""
    return "true" if value else "false"
