"""What memory must have of elements of fewer than 8 bits, and of packs that lie along m or n."""

from __future__ import annotations

from collections.abc import Mapping

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import SCALED, DType

__all__ = ["expect_blocks", "expect_whole_rows"]


def expect_blocks(role: str, count: int, dtype: DType) -> None:
    """Elements have packs, of which there are whole blocks.  role: a or b, of that type of a product; count:
    its m, or n.
    """
    of, other = dtype.operands if role == "a" else dtype.operands[::-1]
    size, stored = {
        "a": ("m", "[m, k]: transpose_a false"),
        "b": ("n", "[n, k]: transpose_b true (-transB 1)"),
    }[role]
    if of.pack == 1:
        message = f"{role} of {dtype}, of {of.bits} bits beside {other.bits}, lies along k"
        raise Diagnostic(message, hint=f"store {role} as {stored}", subject=f"transpose_{role}")
    if count % SCALED:
        message = f"{role} of {dtype} has packs along {size}, in blocks of {SCALED}, and {size} is {count}"
        more = -(-count // SCALED) * SCALED
        hint = f"fill {role} up to {size} {more} with zeros, or store it as {stored}"
        raise Diagnostic(message, hint=hint, subject=size)


def expect_whole_rows(gaps: Mapping[str, int], dtype: DType) -> None:
    """Leading dimensions and batch strides are whole blocks."""
    for name, value in gaps.items():
        if value % SCALED:
            message = f"{name} must be a multiple of {SCALED} elements of {dtype}, got {value}"
            raise Diagnostic(message, hint="a row is of whole blocks", subject=name)
