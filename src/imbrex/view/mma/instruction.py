"""Instruction: one matrix instruction of one shape and operand types, as facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DTYPES, SCALED
from imbrex.index.map import Map

__all__ = ["BITS", "BUILTIN_TYPES", "OPERANDS", "SCALED", "Instruction", "Operand"]

Operand: TypeAlias = Literal["a", "b", "c"]
OPERANDS: Final[tuple[Operand, ...]] = get_args(Operand)

BITS: Mapping[str, int] = {
    **{t.name: t.bits for t in DTYPES.values()},
    "xf32": 32, "iu8": 8, "fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4, "iu4": 4,
    "s32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8,
}  # fmt: skip
"""Bits of an element in a register, by our names and by those that instruction sets have besides: AMD's, then
NVIDIA's.  xf32 is an f32 of which the unit drops low bits; iu8 and iu4 are signed or unsigned as an argument
of the builtin says."""

BUILTIN_TYPES: Mapping[str, str] = {
    "float": "float", "double": "double", "int": "int", "long": "long",
    "float2": "float", "float4": "float", "float8": "float", "float16": "float", "float32": "float",
    "double4": "double", "half4": "_Float16", "half8": "_Float16", "half16": "_Float16",
    "short2": "short", "short4": "short", "short8": "short", "short16": "short", "bf16x8": "__bf16",
    "int2": "int", "int4": "int", "int8": "int", "int16": "int", "int32": "int",
}  # fmt: skip
"""Argument type of a builtin -> C type of its elements; the number that the name ends in counts them, none is
a scalar.  bf16 goes as `short` where the builtin is older than `__bf16`, and elements of 8 bits and fewer as
whole words: four i8 in an `int`, eight in a `long`."""

FORMATS: Mapping[str, Mapping[str, str]] = {
    "gfx942": {"fp8": "f8e4m3fnuz", "bf8": "f8e5m2fnuz"},
    "gfx950": {"fp8": "f8e4m3fn", "bf8": "f8e5m2", "fp6": "f6e2m3fn", "bf6": "f6e3m2fn", "fp4": "f4e2m1fn"},
    "gfx12": {"fp8": "f8e4m3fn", "bf8": "f8e5m2"},
    "sm_90a": {"e4m3": "f8e4m3fn", "e5m2": "f8e5m2", "s8": "i8", "s32": "i32"},
}
"""Chip -> what the instruction set's names of narrow floats and of integers mean there."""


@dataclass(frozen=True, repr=False)
class Instruction:
    """D = A B + C on the matrix unit, by all lanes of a wave, or of a warpgroup of 128, together; equal where
    the names are equal.

    name: family, type of C, MxNxK, blocks, types of A and B: `mfma_f32_32x32x1_2b_f32`.
    builtin_operand, builtin_result: types of the builtin's A or B and of its C, in `BUILTIN_TYPES`.
    arguments: the builtin's arguments in order, with a, b and c in their places.  Where compilers have no
    builtin, the three are empty, and the arguments are those of the mnemonic, which is written as assembly.
    chips: those that have it.  cycles: of each, from one issue to the next on one SIMD; a warpgroup has four.
    a, b, c: (lane, register) -> (block, m, k), (block, k, n), (block, m, n); see `layout`.  b: None where it
    is read from shared memory; then a is for A in registers, and A may be in shared memory, too.
    c_register_bits: what an element of C takes in a register: more than its width where half is left unused.
    scale_a, scale_b: (lane, register) -> (block, m, k), (block, k, n), where k counts runs of SCALED
    neighbours: what each lane's scale belongs to, where the instruction takes some; the builtin's last four
    arguments are a byte and the register that holds it, of A and of B, and 0 stands for no scales.
    spelled_as_builtin: chips whose assemblers call it what compilers call the builtin.
    pack: neighbours along k that count as one in k, a and b; 1 but of `in_packs`.
    """

    name: str
    m: int = field(compare=False)
    n: int = field(compare=False)
    k: int = field(compare=False)
    blocks: int = field(compare=False)
    a_type: str = field(compare=False)
    b_type: str = field(compare=False)
    c_type: str = field(compare=False)
    wave: int = field(compare=False)
    builtin: str = field(compare=False)
    mnemonic: str = field(compare=False)
    chips: tuple[str, ...] = field(compare=False)
    cycles: Mapping[str, int] = field(compare=False)
    source: str = field(compare=False)
    a: Map = field(compare=False)
    b: Map | None = field(compare=False)
    c: Map = field(compare=False)
    builtin_operand: str = field(compare=False)
    builtin_result: str = field(compare=False)
    arguments: tuple[str, ...] = field(compare=False)
    c_register_bits: int = field(compare=False)
    spelled_as_builtin: tuple[str, ...] = field(default=(), compare=False)
    scale_a: Map | None = field(default=None, compare=False)
    scale_b: Map | None = field(default=None, compare=False)
    pack: int = field(default=1, compare=False)

    def __repr__(self) -> str:
        return self.name

    @property
    def a_elements(self) -> int:
        """Elements of A, or packs, that a lane holds."""
        return dict(self.a.upper)["register"]

    @property
    def b_elements(self) -> int:
        return dict(self.map("b").upper)["register"]

    @property
    def c_elements(self) -> int:
        return dict(self.c.upper)["register"]

    @property
    def flops(self) -> int:
        """Multiplications and additions of one issue."""
        return 2 * self.m * self.n * self.k * self.pack * self.blocks

    @property
    def scaled(self) -> int:
        """Neighbours along k that share a scale, counted as k is."""
        return SCALED // self.pack

    def rate(self, chip: str) -> int:
        """Operations of one SIMD in a cycle."""
        return self.flops // self.cycles[chip]

    def fits(self, chip: str) -> bool:
        return chip in self.chips

    @property
    def held(self) -> tuple[Operand, ...]:
        """The operands that lanes hold in registers, A where they may."""
        return ("a", "c") if self.b is None else ("a", "b", "c")

    @property
    def lane_group(self) -> int:
        """Lanes that lie along a row or a column, or that are a warp of a warpgroup."""
        return self.n if self.wave <= 64 else 32

    def map(self, operand: Operand) -> Map:
        """The operand's layout; a Diagnostic where no lane holds it."""
        found = {"a": self.a, "b": self.b, "c": self.c}[operand]
        if found is None:
            message = f"no lane holds {operand.upper()} of {self.name}: it is read from shared memory"
            raise Diagnostic(message, hint="A and C have layouts in registers")
        return found

    def element(self, operand: Operand) -> str:
        """The type of the operand's elements as the instruction set names it."""
        return {"a": self.a_type, "b": self.b_type, "c": self.c_type}[operand]

    def format(self, operand: Operand, chip: str) -> str:
        """The type of the operand's elements as `imbrex.dtype` names it: on gfx942, fp8 is f8e4m3fnuz."""
        assert self.fits(chip), (self.name, chip)
        element = self.element(operand)
        return FORMATS.get(chip, {}).get(element, "f32" if element == "xf32" else element)

    def register_bits(self, operand: Operand) -> int:
        """Bits that an element takes in the lane's registers."""
        return self.c_register_bits if operand == "c" else BITS[self.element(operand)]

    def registers(self, operand: Operand) -> int:
        """32-bit registers of a lane that hold the operand."""
        elements = dict(self.map(operand).upper)["register"] * (1 if operand == "c" else self.pack)
        return -(-elements * self.register_bits(operand) // 32)

    def mnemonic_on(self, chip: str) -> str:
        """The mnemonic as that chip's assembler spells it."""
        assert self.fits(chip), (self.name, chip)
        if chip in self.spelled_as_builtin:
            return "v_" + self.builtin.removeprefix("__builtin_amdgcn_")
        return self.mnemonic
