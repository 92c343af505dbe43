"""DType: what is known of one element type.  The rows are in `imbrex.dtype`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Final

import numpy as np

from imbrex.cached import cached_property

__all__ = ["ACROSS", "BLOCK", "DTYPES", "HELD", "PACKED", "PAIRS", "PANELS", "DType"]


@dataclass(frozen=True, repr=False)
class DType:
    """An element type.

    c_name: what C++ calls it in memory; a struct of the device headers where C++ has no arithmetic on it.
    array_type: of the elements of an array, in NumPy or `ml_dtypes`.  dlpack_code: DLDataTypeCode; None where
    another row has the same arrays.  accumulator_name, output_name: names in `DTYPES`.
    pack: neighbours along k that memory holds as one, of which mlir_name and c_name speak.
    significand_bits: with the leading one; 0 for integers, which never round.  min_exponent: of the smallest
    normal number.  poison: bits that no kernel computes: of a float a quiet NaN with a payload of its own,
    its NaN with the sign, or its only one.  largest_finite: given for a float whose largest value is not the
    one that IEEE 754 would have.  read_bits: of the significand that a product reads, where they are fewer
    than memory holds.  element_name: of a microscaled type, in `DTYPES`.  pair: elements of A and of B where
    they differ, in `DTYPES`; bits are then those of the wider one, and pack is what a kernel counts k in.
    array_row: of a row of PACKED, that of the arrays of these elements.  in_memory: of a row of HELD, that of
    the packs that it holds; padded_bytes: from one to the next of these.  across: of a product, operands, of
    "ab", whose packs lie along m or n; of a row of ACROSS, "k".  is_operand: are there products of
    it?  tensor_map: CUtensorMapDataType; None where there is none.  miopen, hipblaslt, compute: what
    MIOpenDriver calls a convolution of this type, and hipblaslt-bench a matrix of it and arithmetic in it.
    aliases: other names that users may give.
    """

    name: str
    bits: int
    c_name: str
    mlir_name: str
    array_type: str
    dlpack_code: int | None
    accumulator_name: str
    output_name: str
    significand_bits: int
    min_exponent: int
    poison: int
    largest_finite: float | None = None
    read_bits: int | None = None
    element_name: str | None = None
    pair: tuple[str, str] | None = None
    array_row: str | None = None
    in_memory: DType | None = None
    padded_bytes: int | None = None
    across: str = ""
    pack: int = 1
    is_operand: bool = True
    tensor_map: str | None = None
    miopen: str | None = None
    hipblaslt: str | None = None
    compute: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        return self.significand_bits > 0

    @property
    def bytes(self) -> int:
        """Bytes of one element of an array, or of a pack; of two types of elements, those of the wider."""
        return self.padded_bytes or self.bits * self.pack // 8

    @property
    def is_half(self) -> bool:
        """Is it a float of 16 bits?"""
        return self.is_float and self.bits == 16

    @property
    def multiplied_bits(self) -> int:
        """Bits of an element that a product reads, sign and exponent with it: 19 of tf32."""
        return self.bits - (0 if self.read_bits is None else self.significand_bits - self.read_bits)

    @property
    def is_microscaled(self) -> bool:
        return self.element_name is not None

    @property
    def element(self) -> DType:
        """The type of the elements of an array, A's of two: of a microscaled type, without its scales."""
        return self.operands[0]

    @property
    def operands(self) -> tuple[DType, DType]:
        """The types of the elements of A and of B."""
        if self.pair is not None:
            return DTYPES[self.pair[0]], DTYPES[self.pair[1]]
        name = self.element_name or self.name.removesuffix(f"_across_{self.across}")
        own = DTYPES.get(name, self) if self.element_name or self.across else self
        return own, own

    @cached_property
    def packs(self) -> tuple[DType, DType]:
        """A's and B's elements in packs of as many neighbours along k, as a kernel counts them."""
        a, b = (
            ACROSS[of.name] if role in self.across else PACKED.get((of.name, self.pack), of)
            for role, of in zip("ab", self.operands, strict=True)
        )
        return a, b

    @property
    def along_k(self) -> DType:
        """The row of packs along k that become of these in a lane's registers."""
        return PACKED.get((self.in_array.name, self.pack), self.in_array) if self.across else self.loaded

    @property
    def in_array(self) -> DType:
        """The row of an array of these elements, of which a kernel may count larger packs."""
        return self if self.array_row is None else DTYPES[self.array_row]

    @property
    def in_lds(self) -> DType:
        """The row of these elements in LDS of a GPU."""
        return HELD.get(self.name, self)

    @property
    def loaded(self) -> DType:
        """The row of these elements in memory and registers."""
        return self.in_memory or self

    @property
    def exchanged(self) -> DType:
        """The type of the transposed product, in which B plays A."""
        found = self
        if self.pair is not None:
            own = self.pair[::-1], self.is_microscaled
            found = next(t for t in PAIRS.values() if (t.pair, t.is_microscaled) == own)
        if not self.across:
            return found
        return found.lying({"a": "b", "b": "a", "ab": "ab"}[self.across])

    def lying(self, across: str) -> DType:
        """The product of such packs where those of these operands, of "ab", lie along m or n."""
        if not across:
            return self
        name = self.name.removesuffix(f"_across_{self.across}")
        return replace(self, name=f"{name}_across_{across}", across=across, pack=BLOCK)

    @property
    def single_mlir_name(self) -> str:
        """What MLIR calls one element of a pack."""
        return self.mlir_name.removeprefix("vector<").removesuffix(">").rsplit("x", 1)[-1]

    @property
    def mlir_shape(self) -> tuple[int, ...]:
        """The shape of MLIR's vector of a pack; none of a single element."""
        if not self.mlir_name.startswith("vector<"):
            return ()
        return tuple(map(int, self.mlir_name.removeprefix("vector<").split("x")[:-1]))

    @property
    def array_name(self) -> str:
        """What NumPy calls the element type of an array."""
        return self.array_type.split(".")[1]

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The element type of an array that a kernel takes: of a pack of bytes, these."""
        if self.pack == 1:
            return self.unpacked
        return np.dtype(np.uint8 if self.bytes == 1 else f"V{self.bytes}")

    @cached_property
    def unpacked(self) -> np.dtype[Any]:
        """The type of an array of single elements; `ml_dtypes` is imported at first use."""
        module, name = self.array_type.split(".")
        return np.dtype(getattr(import_module(module), name))

    @property
    def accumulator(self) -> DType:
        """The type in which sums of products are kept."""
        return DTYPES[self.accumulator_name]

    @property
    def output(self) -> DType:
        """The type of a result whose operands have this type: of 8-bit types their accumulator, otherwise the
        same.
        """
        return DTYPES[self.output_name]

    @property
    def unit_roundoff(self) -> float:
        """Largest relative error of one rounding to nearest; 0 for integers."""
        return 2.0**-self.significand_bits if self.is_float else 0.0

    @property
    def read_error(self) -> float:
        """Largest relative error of one operand as a product reads it; 0 where it reads all of it."""
        return 0.0 if self.read_bits is None else 2.0 ** (1 - self.read_bits)

    @property
    def smallest_normal(self) -> float:
        return 2.0**self.min_exponent if self.is_float else 0.0

    @property
    def smallest_subnormal(self) -> float:
        return 2.0 ** (self.min_exponent - self.significand_bits + 1) if self.is_float else 0.0

    def nearest(self, value: float) -> float:
        """The number of this float type next to `value`: infinity beyond the largest."""
        with np.errstate(over="ignore"):
            return float(self.unpacked.type(value))

    @property
    def largest(self) -> float:
        """The largest finite value."""
        if not self.is_float:
            return float(2 ** (self.bits - 1) - 1)
        if self.largest_finite is not None:
            return self.largest_finite
        return (2.0 - 2.0 ** (1 - self.significand_bits)) * 2.0 ** (1 - self.min_exponent)


BLOCK: Final = 16
"""Rows and columns of a block of packs that lie across k: each of 16 neighbours along m or n at one k."""

DTYPES: Final = dict[str, DType]()
"""Every row by its name, filled where the rows are."""
PAIRS: Final = dict[str, DType]()
"""Products of two types of elements, which matrix instructions of AMD's multiply."""
PANELS: Final = dict[str, DType]()
"""Types of which no array is, but panels of a narrower one that some unit multiplies, by name."""
PACKED: Final = dict[tuple[str, int], DType]()
"""Elements in larger packs than their arrays', by the row of these and what a pack has."""
HELD: Final = dict[str, DType]()
"""Packs of 12 bytes as LDS holds them, 16 from one to the next, by the row of these packs."""
ACROSS: Final = dict[str, DType]()
"""Packs of 16 neighbours along m or n, by the row of the array of these elements."""
