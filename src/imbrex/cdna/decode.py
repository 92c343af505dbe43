"""Machine code to instructions.

Law: every word belongs to one instruction; what is none has no row, and is an error where it is executed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence

from imbrex.cdna.encoding import DPP, FORMATS, SDWA, Format, format_of
from imbrex.cdna.generation import facts_of
from imbrex.cdna.instruction import Instruction, Kind, Operand, Part, signed
from imbrex.cdna.operand import DPP_SOURCE, LITERAL, SDWA_SOURCE, VCC, scalar, source, vector
from imbrex.cdna.table import Row, Slot, rows

__all__ = ["decode", "decoded"]

Fields = Mapping[str, int]

_LOAD_SCALE = 44
"""Opcode of VOP3P that holds the scales of the matrix instruction in the next two words."""
_NARROW_REGISTERS = {0: 8, 1: 8, 2: 6, 3: 6, 4: 4}
"""Registers of an f8f6f4 operand, by its format: fp8, bf8, fp6, bf6, fp4."""


def decoded(code: bytes, address: int, chip: str) -> list[Instruction]:
    """All instructions of a section that begins at `address`."""
    words = struct.unpack(f"<{len(code) // 4}I", code)
    return list(_walk(words, address, chip))


def _walk(words: Sequence[int], address: int, chip: str) -> Iterator[Instruction]:
    at = 0
    while at < len(words):
        found = decode(words[at : at + 4], address + 4 * at, chip)
        yield found
        at += len(found.words)


def decode(words: Sequence[int], address: int, chip: str) -> Instruction:
    """The instruction that these words begin with; they may end before it does."""
    format = format_of(words[0])
    if format is None or len(words) < format.words:
        return Instruction(address, tuple(words[:1]), None)
    has_scales = facts_of(chip).has_scales and format.name == "VOP3P"
    if has_scales and _bits(words[0], format.op) == _LOAD_SCALE:
        return _scaled(words, address, chip)
    whole = words[0] | (words[1] << 32 if len(words) > 1 else 0)
    row = rows(chip).get((format.name, _bits(whole, format.op)))
    if row is None:
        return Instruction(address, tuple(words[: format.words]), None)
    fields = {name: _bits(whole, bits) for name, bits in format.fields.items()}
    if format.name == "SCRATCH" and facts_of(chip).has_vector_offsets:
        fields |= {"sve": fields["lds"], "lds": 0}
    if row.name.startswith("v_bitop3"):
        truth = fields["neg"] | fields["abs"] << 3 | fields["omod"] << 6
        fields |= {"bitop3": truth, "neg": 0, "abs": 0, "omod": 0}
    return _with_row(format, row, words, whole, address, fields)


def _with_row(
    format: Format, row: Row, words: Sequence[int], whole: int, address: int, fields: Fields
) -> Instruction:
    """A known instruction, with the literal or the second word of SDWA or DPP that follows, if any."""
    first = fields.get("src0") if format.words == 1 else None
    sdwa = _parts(whole, SDWA) if first == SDWA_SOURCE else None
    dpp = _parts(whole, DPP) if first == DPP_SOURCE else None
    literal = 0
    count = format.words + (sdwa is not None or dpp is not None)
    if _takes_literal(format, row, fields):
        count, literal = format.words + 1, words[format.words] if len(words) > format.words else 0
    if len(words) < count:
        return Instruction(address, tuple(words[:1]), None)
    operands = [_operand(slot, row, fields, literal, sdwa, dpp) for slot in _slots(row, fields)]
    known = tuple(o for o in operands if o is not None)
    is_whole = len(known) == len(operands)
    return Instruction(address, tuple(words[:count]), row if is_whole else None, known, fields, sdwa, dpp)


def _takes_literal(format: Format, row: Row, fields: Fields) -> bool:
    if any(slot.field == "literal" for slot in row.slots):
        return True
    named = {slot.field for slot in row.slots}
    return format.words == 1 and any(fields[n] == LITERAL for n in ("ssrc0", "ssrc1", "src0") if n in named)


def _slots(row: Row, fields: Fields) -> Iterator[Slot]:
    """The operands that this instruction has: an atomic returns what was there where its bit says so."""
    if row.format in ("FLAT", "GLOBAL") and "_atomic_" in row.name and fields["glc"]:
        yield Slot("vdst", "", _returned(row))
    to_lds = row.format == "MUBUF" and fields["lds"]
    no_offset = row.format == "MUBUF" and not (fields["offen"] or fields["idxen"])
    for slot in row.slots:
        if to_lds and slot.field == "vdata":
            continue
        if row.format == "VOP3P" and row.name.endswith("f8f6f4") and slot.field in ("src0", "src1"):
            kind = fields["cbsz" if slot.field == "src0" else "blgp"]
            slot = Slot(slot.field, slot.kind, _NARROW_REGISTERS.get(kind, 8))
        if slot.field == "vaddr":
            slot = Slot("off" if no_offset else "vaddr", "", 2 if fields["offen"] and fields["idxen"] else 1)
        if slot.field == "addr" and row.format == "GLOBAL" and fields["saddr"] != _OFF:
            slot = Slot("addr", "", 1)
        yield slot


_OFF = 0x7F


def _returned(row: Row) -> int:
    data = next(slot.registers for slot in row.slots if slot.field == "data")
    return data // 2 if "cmpswap" in row.name else data


def _operand(
    slot: Slot, row: Row, fields: Fields, literal: int, sdwa: Fields | None, dpp: Fields | None
) -> Operand | None:
    """None where the field names nothing."""
    name, count = slot.field, slot.registers
    match name:
        case "src0" | "src1" | "src2" | "vsrc1":
            return _source(slot, row, fields, literal, sdwa, dpp)
        case "ssrc0" | "ssrc1" | "soffset":
            return scalar(fields[name], count, literal)
        case "sdst" if sdwa is None:
            return scalar(fields["sdst"], count)
        case "sdata":
            return scalar(fields[name], count)
        case "vcc":
            is_result = sdwa is not None and row.format == "VOPC" and sdwa["sd"]
            return scalar(sdwa["sdst"] if is_result and sdwa else VCC, count)
        case "literal":
            return scalar(LITERAL, 1, literal)
        case "simm":
            return scalar(LITERAL, 1, fields["simm"])
        case "sbase" | "srsrc":
            return scalar(fields[name] * (2 if name == "sbase" else 4), count)
        case "offset":
            return _scalar_offset(fields)
        case "saddr" | "off" | "addr" | "vaddr":
            return _address(name, row, fields, count)
        case _:
            accumulates = slot.kind == "a" or _accumulates(row, name, fields)
            return scalar(fields[name], count) if slot.kind == "s" else vector(
                fields[name], count, accumulates
            )  # fmt: skip


def _source(
    slot: Slot, row: Row, fields: Fields, literal: int, sdwa: Fields | None, dpp: Fields | None
) -> Operand | None:
    """Source operand of a vector instruction, with what is used of it."""
    name = slot.field
    position = 1 if name == "vsrc1" else int(name[3])
    second = sdwa or dpp
    if second is not None and position < 2:
        pre = f"src{position}_"
        part = Part(
            second.get(pre + "sel", 6), bool(second.get(pre + "sext", 0)),
            bool(second[pre + "neg"]), bool(second[pre + "abs"]),
        )  # fmt: skip
        code = second["src0"] if position == 0 else fields["vsrc1"]
        if sdwa is not None and sdwa[f"s{position}"]:
            return scalar(code, slot.registers, part=part)
        return vector(code, slot.registers, part=part)
    if name == "vsrc1":
        return vector(fields[name], slot.registers)
    part = Part(6, False, *_signs(row, fields, position))
    accumulates = slot.kind == "a" or _accumulates(row, name, fields)
    return source(fields[name], slot.registers, literal, part, accumulates)


def _signs(row: Row, fields: Fields, position: int) -> tuple[bool, bool]:
    """Whether a source is negated, and whether made absolute before."""
    if row.format == "VOP3":
        has_abs = not any(slot.field == "sdst" for slot in row.slots)
        return bool(fields["neg"] >> position & 1), has_abs and bool(fields["abs"] >> position & 1)
    if row.format == "VOP3P" and "_mix" in row.name:
        return bool(fields["neg"] >> position & 1), bool(fields["neg_hi"] >> position & 1)
    return False, False


def _accumulates(row: Row, name: str, fields: Fields) -> bool:
    """Whether the bits of the format say that this field holds accumulation registers."""
    if row.format == "VOP3P" and row.name.startswith(("v_mfma", "v_smfmac")):
        if name in ("vdst", "src2"):
            return bool(fields["acc_cd"]) and not (name == "src2" and row.name.startswith("v_smfmac"))
        return bool(fields["acc"] >> int(name[3]) & 1)
    return row.format in ("DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF") and bool(fields["acc"])


def _scalar_offset(fields: Fields) -> Operand | None:
    """Offset of a scalar load: a number of 21 bits with its sign, or a register."""
    if fields["soffset_en"]:
        return scalar(fields["soffset"], 1)
    if not fields["imm"]:
        return scalar(fields["offset"] & 0x7F, 1)
    return scalar(LITERAL, 1, signed(fields["offset"], 21))


def _address(name: str, row: Row, fields: Fields, count: int) -> Operand | None:
    """Address in memory: registers of the lanes, a scalar beside them, or nothing."""
    off = Operand(Kind.OFF)
    if name == "off":
        return off
    if name == "saddr":
        return off if fields["saddr"] == _OFF else scalar(fields["saddr"], count)
    if row.format == "SCRATCH" and not _has_vector_offset(fields):
        return off
    return vector(fields[name], count)


def _has_vector_offset(fields: Fields) -> bool:
    """Has this access of scratch a vector offset?  gfx940 and later have a bit for it, others one for LDS."""
    return bool(fields["sve"]) if "sve" in fields else fields["saddr"] == _OFF


def _scaled(words: Sequence[int], address: int, chip: str) -> Instruction:
    """A matrix instruction with the scales that stand before it."""
    if len(words) < 4:
        return Instruction(address, tuple(words[:1]), None)
    found = decode(words[2:], address + 8, chip)
    if not found.name.endswith("f8f6f4"):
        return Instruction(address, tuple(words[:2]), None)
    load = next(f for f in FORMATS if f.name == "VOP3P")
    fields = {name: _bits(words[0] | words[1] << 32, bits) for name, bits in load.fields.items()}
    scales = tuple(o for name in ("src0", "src1") if (o := source(fields[name], 1)) is not None)
    merged = {**found.fields, "op_sel": fields["op_sel"], "op_sel_hi": fields["op_sel_hi"]}
    return Instruction(address, tuple(words[:4]), found.row, found.operands, merged, scales=scales)


def _parts(whole: int, of: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    return {name: _bits(whole, bits) for name, bits in of.items()}


def _bits(whole: int, bits: tuple[int, int]) -> int:
    low, count = bits
    return whole >> low & (1 << count) - 1
