"""Members of a kernel's struct as C++ text."""

from __future__ import annotations

__all__ = ["boolean", "method", "static"]


def static(result: str, name: str, parameters: str, value: str, *, is_constant: bool = False) -> str:
    """A function of its parameters alone; is_constant: the compiler can evaluate it."""
    kind = "static constexpr" if is_constant else "static"
    return f"IMBREX_MEMBER {kind} {result} {name}({parameters}) {{ return {value}; }}"


def method(result: str, name: str, parameters: str, value: str) -> str:
    """A function that reads the kernel's arguments."""
    return f"IMBREX_MEMBER {result} {name}({parameters}) const {{ return {value}; }}"


def boolean(value: bool) -> str:
    """As C++ spells it."""
    return "true" if value else "false"
