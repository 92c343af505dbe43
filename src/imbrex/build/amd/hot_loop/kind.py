"""What an instruction does, as far as the hot loop's budget is concerned."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from imbrex.build.amd.hot_loop.text import Inst

__all__ = ["Access", "Unit", "access_of", "unit_of"]

Unit = Literal["matrix", "valu", "salu", "lds", "vmem", "smem", "wait", "barrier", "branch", "other"]

_LDS_BYTES = {
    "b8": 1,
    "u8": 1,
    "i8": 1,
    "b16": 2,
    "u16": 2,
    "i16": 2,
    "b32": 4,
    "b64": 8,
    "b96": 12,
    "b128": 16,
}
_VMEM_BYTES = {
    "ubyte": 1, "sbyte": 1, "byte": 1, "ushort": 2, "sshort": 2, "short": 2, "dword": 4, "dwordx2": 8,
    "dwordx3": 12, "dwordx4": 16,
}  # fmt: skip


@dataclass(frozen=True)
class Access:
    """One memory instruction.  bytes: of one lane.  direct: from global memory straight to LDS."""

    space: Literal["lds", "global"]
    way: Literal["read", "write", "atomic"]
    bytes: int
    direct: bool = False


def unit_of(inst: Inst) -> Unit:
    """The unit that executes it; `other` is nothing but a slot of the wave (s_nop, s_setprio)."""
    name = inst.name
    if name.startswith(("v_mfma", "v_smfmac", "v_wmma", "v_swmmac")):
        return "matrix"
    if name.startswith("v_"):
        return "valu"
    if name.startswith("ds_"):
        return "lds"
    if name.startswith(("buffer_", "global_", "flat_", "scratch_")):
        return "vmem"
    if name.startswith(("s_load", "s_buffer_load", "s_store", "s_dcache")):
        return "smem"
    if name.startswith("s_wait"):
        return "wait"
    if name.startswith("s_barrier"):
        return "barrier"
    if name.startswith(("s_cbranch", "s_branch")):
        return "branch"
    if name.startswith(("s_nop", "s_setprio", "s_sleep", "s_endpgm", "s_set_gpr_idx", "s_inst_prefetch")):
        return "other"
    return "salu"


def access_of(inst: Inst) -> Access | None:
    """The memory access that it makes; None for any other instruction, and for LDS used as a lane swap."""
    if inst.name.startswith("ds_"):
        return _lds_access(inst.name)
    found = re.match(r"(?:buffer|global|flat|scratch)_(load|store|atomic)_(?:lds_)?(\w+)", inst.name)
    if found is None:
        return None
    kind = found[2].removesuffix("_d16").removesuffix("_d16_hi")
    wide = _VMEM_BYTES.get(kind, 4)
    direct = "lds" in inst.modifiers or "_lds_" in inst.name
    match found[1]:
        case "load":
            return Access("global", "read", wide, direct)
        case "store":
            return Access("global", "write", wide)
        case _:
            return Access("global", "atomic", 8 if inst.name.endswith("_x2") else 4)


def _lds_access(name: str) -> Access | None:
    found = re.match(r"ds_(read|write)(2)?(?:st64)?(?:_addtid|_tr\d*)?_([bui]\d+)", name)
    if found is None:
        swap = name.startswith(("ds_bpermute", "ds_permute", "ds_swizzle"))
        return None if swap else Access("lds", "atomic", 4)
    width = _LDS_BYTES[found[3]] * (2 if found[2] else 1)
    return Access("lds", "read" if found[1] == "read" else "write", width)
