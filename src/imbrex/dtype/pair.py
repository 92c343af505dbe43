"""Types that follow from others: microscaled ones, and those of products of two types of elements.

Law: a type of two says of an element what holds for both, and is in PAIRS for either order of each two of a
family, whose elements one matrix instruction multiplies in any pairs.

Elements of A and of B may be of different bits, and memory may hold other packs of them.  Along k a kernel
counts packs of as many neighbours of both as the longer pack has: 2 for 8 bits by 4, 16 where one has 6.
`packs` are the two types of elements that are so counted: the same memory as the arrays', in larger packs,
rows of PACKED, which no array has.

LDS holds packs of 12 bytes 16 from one to the next, in rows of HELD: so loads past the registers put them
there, and reads that transpose want them.

An operand whose rows are k has packs along m or n, of 16 elements, rows of ACROSS.  A kernel sees 16 x 16
of its elements as it sees others, [k / 16, m]: `view.gemm.blocks` says which pack lies where, and lanes
transpose a block as they read it from LDS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Final

from imbrex.dtype.row import ACROSS, BLOCK, DTYPES, HELD, PACKED, PAIRS, DType

__all__ = [
    "SCALED", "fill_across", "fill_held", "fill_pairs", "microscaled", "product_of", "product_of_packs",
    "scaled",
]  # fmt: skip

SCALED: Final = 32
"""Neighbours along k that share a scale."""

_PAIRED: Final = dict[tuple[tuple[str, str], bool], DType]()
"""Types of two by their elements, without scales and with them."""


def scaled(of: DType, alias: str) -> DType:
    """The microscaled type of these elements."""
    return replace(
        of, name=f"mx{of}", element_name=of.name, is_operand=True, dlpack_code=None, tensor_map=None,
        miopen=None, hipblaslt=None, aliases=(alias,),
    )  # fmt: skip


def fill_pairs(family: Sequence[DType]) -> None:
    """Puts the types of all pairs of a family into PAIRS, and the packs that they are counted in into
    PACKED.
    """
    for a, b in permutations(family, 2):
        own = a.element.name, b.element.name
        made = _paired(a, b, own)
        PAIRS[made.name] = _PAIRED[own, made.is_microscaled] = made
        for of in made.operands:
            if of.pack < made.pack:
                PACKED[of.name, made.pack] = _repacked(of, made.pack)


def fill_across(arrays: Sequence[DType]) -> None:
    """Puts packs along m or n of the elements of these arrays into ACROSS."""
    for of in arrays:
        found = PACKED.get((of.name, BLOCK), of)
        ACROSS[of.name] = replace(
            found, name=f"{of}_across", across="k", array_row=of.name, is_operand=False,
            c_name=f"imbrex::across<{found.c_name}>",
            mlir_name=f"vector<{BLOCK}x1x{of.single_mlir_name}>", dlpack_code=None, tensor_map=None,
            miopen=None, hipblaslt=None, aliases=(),
        )  # fmt: skip


def fill_held(packs: Sequence[DType]) -> None:
    """Puts what LDS holds of packs of 12 bytes into HELD."""
    for of in packs:
        if of.bytes == 12:
            HELD[of.name] = replace(
                of, name=f"{of}_held", in_memory=of, padded_bytes=16, is_operand=False,
                array_row=of.in_array.name, c_name=f"imbrex::held<{of.c_name}>",
                mlir_name=f"vector<1x{of.mlir_name.removeprefix('vector<')}", dlpack_code=None,
                tensor_map=None, miopen=None, hipblaslt=None, aliases=(),
            )  # fmt: skip


def _paired(a: DType, b: DType, own: tuple[str, str]) -> DType:
    """The significand is that of the finer one, the range what both have."""
    finer = max(a, b, key=lambda of: of.significand_bits)
    aliases = tuple(f"{x}_{y}" for x in a.aliases for y in b.aliases)
    return replace(
        finer, name=f"{a}_{b}", pair=own, bits=max(a.bits, b.bits),
        pack=max(a.pack, b.pack), largest_finite=min(a.largest, b.largest),
        min_exponent=max(a.min_exponent, b.min_exponent), is_operand=a.is_operand and b.is_operand,
        dlpack_code=None, tensor_map=None, miopen=None, hipblaslt=None, aliases=aliases,
    )  # fmt: skip


def _repacked(of: DType, pack: int) -> DType:
    """The same elements in packs of so many, as `device/common/packed.h` and MLIR have them."""
    return replace(
        of, name=f"{of}_x{pack}", array_row=of.name, pack=pack, is_operand=False,
        c_name=f"{of.c_name.removesuffix(f'_x{of.pack}')}_x{pack}",
        mlir_name=f"vector<{pack}x{of.single_mlir_name}>", dlpack_code=None, tensor_map=None, miopen=None,
        hipblaslt=None, aliases=(),
    )  # fmt: skip


def product_of(a: DType, b: DType) -> DType | None:
    """The type of a product of such elements of A by such of B; None where there is none."""
    return a if a == b else _PAIRED.get(((a.name, b.name), False))


def product_of_packs(a: DType, b: DType) -> DType | None:
    """The same of elements as a kernel counts them; None also where it would count others of such arrays."""
    found = product_of(a.in_array, b.in_array)
    if found is not None:
        found = found.lying("".join(role for role, of in (("a", a), ("b", b)) if of.across))
    return found if found is not None and found.packs == (a.loaded, b.loaded) else None


def microscaled(of: DType) -> DType | None:
    """The microscaled type of these elements, or of these two; None where there is none."""
    own = of.element.name if of.across else of.name
    found = next((t for t in DTYPES.values() if t.element_name == own), None)
    if of.pair is not None:
        found = _PAIRED.get((of.pair, True))
    return found and found.lying(of.across)
