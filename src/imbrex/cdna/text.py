"""An instruction as LLVM's disassembler writes it, for messages and for comparison with that program.

Hints of the memory hierarchy stand by their names of the chip; hardware registers and messages are numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from imbrex.cdna.generation import facts_of
from imbrex.cdna.instruction import ACCUMULATION, Instruction, Kind, Operand, signed

__all__ = ["instruction_text"]

_NAMED = {102: "flat_scratch", 104: "xnack_mask", 106: "vcc", 126: "exec"}
_SPECIALS = {
    1: "src_scc", 2: "src_vccz", 3: "src_execz",
    4: "src_shared_base", 5: "src_shared_limit", 6: "src_private_base", 7: "src_private_limit",
}  # fmt: skip
_SELECTS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
_OMOD = ("", "mul:2", "mul:4", "div:2")
_BRANCHES = ("s_branch", "s_cbranch", "s_call_b64")


def instruction_text(found: Instruction, chip: str) -> str:
    """The whole of it: mnemonic, operands, modifiers."""
    if found.row is None:
        return ".long " + ", ".join(f"0x{word:08x}" for word in found.words)
    name = found.row.mnemonic
    if found.sdwa is not None or found.dpp is not None:
        name = found.row.name + ("_sdwa" if found.sdwa is not None else "_dpp")
    if found.scales:
        name = name.replace("v_mfma_", "v_mfma_scale_")
    modifiers = " ".join(word for word in _modifiers(found, chip) if word)
    operands = ", ".join(
        [_operand(o, found) for o in found.operands] + [_operand(o, found) for o in found.scales]
    )
    return " ".join(part for part in (name, operands, modifiers) if part)


def _operand(o: Operand, found: Instruction) -> str:
    text = _value(o, found)
    part = o.part
    if part.is_signed:
        text = f"sext({text})"
    if part.is_absolute:
        text = f"|{text}|"
    if part.is_negative:
        text = f"-{text}" if o.kind in (Kind.VECTOR, Kind.SCALAR) or part.is_absolute else f"neg({text})"
    return text


def _value(o: Operand, found: Instruction) -> str:
    match o.kind:
        case Kind.VECTOR:
            letter, first = ("a", o.index - ACCUMULATION) if o.index >= ACCUMULATION else ("v", o.index)
            return _range(letter, first, o.registers)
        case Kind.SCALAR:
            return _scalar(o.index, o.registers)
        case Kind.INTEGER:
            return str(o.integer)
        case Kind.FLOAT:
            return str(o.real) if abs(o.real) >= 0.5 else "0.15915494"
        case Kind.OFF:
            return "off"
        case Kind.SPECIAL:
            return _SPECIALS[o.index]
        case Kind.LITERAL:
            return _literal(o, found)


def _literal(o: Operand, found: Instruction) -> str:
    name = found.name
    if name.startswith(_BRANCHES):
        return str(o.integer)
    if name == "s_waitcnt":
        return _waits(o.integer)
    if found.row is not None and found.row.format == "SOPP":
        return str(o.integer)
    return f"0x{o.integer:x}" if o.integer >= 0 else f"-0x{-o.integer:x}"


def _waits(simm: int) -> str:
    """How many accesses of each kind may be under way: those that are not waited for are left out."""
    counts = {"vmcnt": simm & 15 | simm >> 14 << 4, "expcnt": simm >> 4 & 7, "lgkmcnt": simm >> 8 & 15}
    most = {"vmcnt": 63, "expcnt": 7, "lgkmcnt": 15}
    waits = [f"{name}({count})" for name, count in counts.items() if count != most[name]]
    return " ".join(waits)


def _range(letter: str, first: int, count: int) -> str:
    return f"{letter}{first}" if count == 1 else f"{letter}[{first}:{first + count - 1}]"


def _scalar(index: int, count: int) -> str:
    if index < 102:
        return _range("s", index, count)
    if 108 <= index <= 123:
        return _range("ttmp", index - 108, count)
    if index == 124:
        return "m0"
    base = _NAMED.get(index & ~1)
    if base is None:
        return f"s{index}?"
    return base if count == 2 else base + ("_hi" if index & 1 else "_lo")


def _modifiers(found: Instruction, chip: str) -> Iterator[str]:
    assert found.row is not None
    fields = found.fields
    match found.row.format:
        case "VOP3":
            yield from _vop3(found)
        case "VOP3P":
            yield from _vop3p(found)
        case "DS":
            yield from _ds(found)
        case "FLAT" | "GLOBAL" | "SCRATCH":
            offset = fields["offset"] if found.row.format == "FLAT" else signed(fields["offset"], 13)
            yield f"offset:{offset}" if offset else ""
            yield from _scopes(found, chip)
        case "MUBUF":
            yield from (word for word in ("idxen", "offen") if fields[word] and found.operands)
            yield f"offset:{fields['offset']}" if fields["offset"] else ""
            yield from _scopes(found, chip)
            yield "lds" if fields["lds"] else ""
        case "SMEM":
            both = fields["imm"] and fields["soffset_en"]
            yield f"offset:0x{fields['offset']:x}" if both else ""
            yield "glc" if fields["glc"] else ""
        case _:
            yield from _sdwa(found) if found.sdwa is not None else _dpp(found)


def _scopes(found: Instruction, chip: str) -> Iterator[str]:
    words = zip(("glc", "slc", "scc"), facts_of(chip).scopes, strict=True)
    return (word for bit, word in words if found.fields[bit])


def _bits(value: int, count: int) -> str:
    return "[" + ",".join(str(value >> k & 1) for k in range(count)) + "]"


def _sources(found: Instruction) -> int:
    assert found.row is not None
    return sum(slot.field.startswith("src") for slot in found.row.slots)


def _vop3(found: Instruction) -> Iterator[str]:
    fields, count = found.fields, _sources(found)
    has_carry = found.row is not None and any(slot.field == "sdst" for slot in found.row.slots)
    if fields["op_sel"] and not has_carry:
        used = [fields["op_sel"] >> k & 1 for k in range(count)] + [fields["op_sel"] >> 3]
        yield "op_sel:[" + ",".join(map(str, used)) + "]"
    yield f"bitop3:0x{fields['bitop3']:x}" if fields.get("bitop3") else ""
    yield "clamp" if fields["clamp"] else ""
    yield _OMOD[fields["omod"]]


def _vop3p(found: Instruction) -> Iterator[str]:
    fields, count = found.fields, _sources(found)
    if found.name.startswith("v_accvgpr"):
        return
    if found.is_matrix:
        yield from _matrix(found)
        return
    high = fields["op_sel_hi"] | fields["op_sel_hi2"] << 2
    usual = 0 if "_mix" in found.name or found.name.startswith(("v_dot4", "v_dot8")) else (1 << count) - 1
    yield "op_sel:" + _bits(fields["op_sel"], count) if fields["op_sel"] else ""
    differs = high & (1 << count) - 1 != usual
    yield (
        "op_sel_hi:" + _bits(high, count)
        if differs and not found.name.startswith(("v_dot4", "v_dot8"))
        else ""
    )
    if "_mix" not in found.name:
        yield "neg_lo:" + _bits(fields["neg"], count) if fields["neg"] else ""
        yield "neg_hi:" + _bits(fields["neg_hi"], count) if fields["neg_hi"] else ""
    yield "clamp" if fields["clamp"] else ""


def _matrix(found: Instruction) -> Iterator[str]:
    fields = found.fields
    if found.scales:
        yield "op_sel:" + _bits(fields["op_sel"], 2) if fields["op_sel"] & 3 else ""
        yield "op_sel_hi:" + _bits(fields["op_sel_hi"], 2)
    if "_f64" in found.name[7:10] and fields["blgp"]:
        yield "neg:" + _bits(fields["blgp"], 3)
        return
    for word in ("cbsz", "abid", "blgp"):
        is_scaled = found.name.endswith("f8f6f4") and word == "abid"
        yield f"{word}:{fields[word]}" if fields[word] and not is_scaled else ""


def _ds(found: Instruction) -> Iterator[str]:
    fields = found.fields
    if re.search(r"(read|write|wrxchg)2", found.name):
        yield f"offset0:{fields['offset0']}" if fields["offset0"] else ""
        yield f"offset1:{fields['offset1']}" if fields["offset1"] else ""
    else:
        yield f"offset:{fields['offset']}" if fields["offset"] else ""
    yield "gds" if fields["gds"] else ""


def _sdwa(found: Instruction) -> Iterator[str]:
    second = found.sdwa
    assert second is not None and found.row is not None
    is_compare = found.row.format == "VOPC"
    if not is_compare:
        yield "clamp" if second["clamp"] else ""
        yield _OMOD[second["omod"]]
        yield f"dst_sel:{_SELECTS[second['dst_sel']]}" if second["dst_sel"] < 7 else "dst_sel:?"
        yield f"dst_unused:{_UNUSED[second['dst_unused']]}" if second["dst_unused"] < 3 else "dst_unused:?"
    for position in range(_sources(found) + any(s.field == "vsrc1" for s in found.row.slots)):
        yield (
            f"src{position}_sel:{_SELECTS[second[f'src{position}_sel']]}"
            if second[f"src{position}_sel"] < 7
            else "?"
        )


def _dpp(found: Instruction) -> Iterator[str]:
    second = found.dpp
    if second is None:
        return
    yield _lanes(second["ctrl"])
    yield f"row_mask:0x{second['row_mask']:x}"
    yield f"bank_mask:0x{second['bank_mask']:x}"
    yield "bound_ctrl:1" if second["bound_ctrl"] else ""


def _lanes(ctrl: int) -> str:
    if ctrl < 0x100:
        return "quad_perm:[" + ",".join(str(ctrl >> 2 * k & 3) for k in range(4)) + "]"
    rows = {0x100: "row_shl", 0x110: "row_shr", 0x120: "row_ror", 0x150: "row_newbcast"}
    if ctrl & 0x1F0 in rows:
        return f"{rows[ctrl & 0x1F0]}:{ctrl & 15}"
    return {
        0x130: "wave_shl:1", 0x134: "wave_rol:1", 0x138: "wave_shr:1", 0x13C: "wave_ror:1",
        0x140: "row_mirror", 0x141: "row_half_mirror", 0x142: "row_bcast:15", 0x143: "row_bcast:31",
    }.get(ctrl, f"dpp:{ctrl}")  # fmt: skip
