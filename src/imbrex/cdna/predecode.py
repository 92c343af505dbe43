"""Instructions as the core reads them: everything that can be known before they run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from ctypes import Array
from typing import Final

from imbrex.cdna.instruction import Instruction, Kind, Operand, signed
from imbrex.cdna.machine import InstructionStruct, OperandStruct, row_number

__all__ = ["predecoded"]

_OFFEN, _IDXEN, _TO_LDS, _RETURNS, _IS_SCALED, _IS_NARROW = (1 << k for k in range(6))
_TYPES = {
    "f32": 0, "f16": 1, "bf16": 2, "bf16_1k": 2, "i8": 3, "f64": 4, "xf32": 5, "fp8": 6, "bf8": 7, "i32": 11,
}  # fmt: skip
"""Types of matrix elements, by the core's numbers."""
_NARROW_TYPES: Final = (6, 7, 8, 9, 10)
_MATRIX = re.compile(r"v_(smfmac|mfma)_(f32|i32|f64)_(\d+)x(\d+)x(\d+)_?(?:\d+b_)?(\w+)")
_DPP_ROWS = {0x100: 2, 0x110: 3, 0x120: 4, 0x150: 13}
_DPP = {0x130: 5, 0x134: 6, 0x138: 7, 0x13C: 8, 0x140: 9, 0x141: 10, 0x142: 11, 0x143: 12}
OFF = Operand(Kind.OFF)


def predecoded(found: Sequence[Instruction]) -> Array[InstructionStruct]:
    """One struct each; a branch knows the position of its target."""
    positions = {instruction.address: position for position, instruction in enumerate(found)}
    structs = (InstructionStruct * max(1, len(found)))()
    for struct, instruction in zip(structs, found, strict=False):
        _fill(struct, instruction, positions)
    return structs


def _fill(to: InstructionStruct, found: Instruction, positions: Mapping[int, int]) -> None:
    to.address, to.row, to.first = found.address, -1, 1
    if found.row is None:
        return
    matrix = _MATRIX.fullmatch(found.name)
    to.row = row_number(f"v_{matrix[1]}" if matrix else found.name)
    operands = _ordered(found)
    to.operands = len(operands)
    for position, operand in enumerate(operands):
        _fill_operand(to.o[position], operand)
    _fill_modifiers(to, found)
    if found.row.format in ("SOPP", "SOPK"):
        to.simm, to.target = found.fields["simm"], positions.get(found.target, -1)
    if found.sdwa is not None:
        to.sdwa, to.dst_sel, to.dst_unused = 1, found.sdwa["dst_sel"], found.sdwa["dst_unused"]
        if found.row.format == "VOPC":
            to.dst_sel = 6
        else:
            to.clamp, to.omod = found.sdwa["clamp"], found.sdwa["omod"]
    if found.dpp is not None:
        _fill_dpp(to, found.dpp)
    if matrix:
        _fill_matrix(to, matrix, found)


def _fill_operand(to: OperandStruct, o: Operand) -> None:
    to.kind, to.index, to.count = o.kind, o.index, o.registers
    to.integer, to.real = o.integer, o.real
    part = o.part
    to.negative, to.absolute, to.is_signed = part.is_negative, part.is_absolute, part.is_signed
    to.select = part.select


def _ordered(found: Instruction) -> list[Operand]:
    """Operands as the core takes them: of memory a result, the address, its base, the data."""
    assert found.row is not None
    operands = [*found.operands, *found.scales]
    if found.row.format == "FLAT":
        is_store = "_store_" in found.name or "_atomic_" in found.name
        position = len(operands) - 1 if is_store else len(operands)
        operands.insert(position, OFF)
    elif found.row.format in ("GLOBAL", "SCRATCH") and ("_store_" in found.name or "_atomic_" in found.name):
        operands[-1], operands[-2] = operands[-2], operands[-1]
    elif found.name == "s_setreg_b32":
        operands = []
    return operands


def _fill_modifiers(to: InstructionStruct, found: Instruction) -> None:
    assert found.row is not None
    fields, format = found.fields, found.row.format
    if any(slot.field == "sdst" and format == "VOP3" for slot in found.row.slots):
        to.first = 2
    elif format == "VOP2" and any(slot.field == "vcc" for slot in found.row.slots[:2]):
        to.first = 2
    for name in ("clamp", "omod", "cbsz", "abid", "blgp", "bitop3", "offset0", "offset1", "offset"):
        setattr(to, name, fields.get(name, 0))
    if format == "VOP3" and to.first == 1:
        to.op_sel = fields["op_sel"]
        if found.name.startswith(("v_cvt_f32_fp8", "v_cvt_f32_bf8")):
            to.byte_sel = (fields["op_sel"] & 1) << 1 | fields["op_sel"] >> 1 & 1
    if format == "VOP3P":
        to.op_sel, to.neg_lo, to.neg_hi = fields["op_sel"], fields["neg"], fields["neg_hi"]
        to.op_sel_hi = fields["op_sel_hi"] | fields["op_sel_hi2"] << 2
    if format == "SMEM":  # beside a register; alone it is an operand
        both = fields["imm"] and fields["soffset_en"]
        to.offset = signed(fields["offset"], 21) if both else 0
    if format in ("GLOBAL", "SCRATCH"):
        to.offset = signed(fields["offset"], 13)
    if found.is_matrix:  # the bit says which registers take the result
        to.clamp = 0
    to.flags = _flags(found)


def _flags(found: Instruction) -> int:
    fields = found.fields
    is_memory = found.row is not None and found.row.format in ("FLAT", "GLOBAL", "SCRATCH", "MUBUF")
    flags = _OFFEN * fields.get("offen", 0) | _IDXEN * fields.get("idxen", 0)
    flags |= _TO_LDS * (is_memory and (fields["lds"] or "_load_lds_" in found.name))
    flags |= _RETURNS * (is_memory and "_atomic_" in found.name and fields["glc"])
    return flags


def _fill_dpp(to: InstructionStruct, second: Mapping[str, int]) -> None:
    control = second["ctrl"]
    if control < 0x100:
        to.dpp, to.dpp_argument = 1, control
    elif control & 0x1F0 in _DPP_ROWS:
        to.dpp, to.dpp_argument = _DPP_ROWS[control & 0x1F0], control & 15
    elif control in _DPP:
        to.dpp = _DPP[control]
    else:
        to.row = -1
    to.row_mask, to.bank_mask, to.bound_ctrl = second["row_mask"], second["bank_mask"], second["bound_ctrl"]


def _fill_matrix(to: InstructionStruct, matrix: re.Match[str], found: Instruction) -> None:
    _, result, m, n, k, operands = matrix.groups()
    to.m, to.n, to.k, to.c_type = int(m), int(n), int(k), _TYPES[result]
    if operands == "f8f6f4":
        to.a_type, to.b_type = (_NARROW_TYPES[min(found.fields[name], 4)] for name in ("cbsz", "blgp"))
        to.flags |= _IS_NARROW | (_IS_SCALED if found.scales else 0)
    elif pair := re.fullmatch(r"([bf]+p?8)_([bf]+p?8)", operands):
        to.a_type, to.b_type = _TYPES[pair[1]], _TYPES[pair[2]]
    else:
        to.a_type = to.b_type = _TYPES[operands]
