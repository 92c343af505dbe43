"""The formats of CDNA's instructions: by which bits each is known, and where its fields lie.

Source: AMD, "AMD Instinct MI300 Instruction Set Architecture" (CDNA3), chapter "Microcode Formats"; those of
gfx90a (CDNA2) and gfx950 (CDNA4) are the same but for the bits that are named here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["DPP", "FORMATS", "SDWA", "Format", "format_of"]

Bits = tuple[int, int]
"""The lowest bit of a field, and how many it has, in the words of an instruction, lowest word first."""


@dataclass(frozen=True, slots=True)
class Format:
    """first, mask: the first word masked equals `first`.  words: without a literal.  op: the number."""

    name: str
    mask: int
    first: int
    words: int
    op: Bits
    fields: Mapping[str, Bits]


_VECTOR = {"src0": (0, 9), "vsrc1": (9, 8), "vdst": (17, 8)}
_THREE = {"vdst": (0, 8), "src0": (32, 9), "src1": (41, 9), "src2": (50, 9), "clamp": (15, 1), "neg": (61, 3)}
_FLAT = {
    "offset": (0, 13), "lds": (13, 1), "glc": (16, 1), "slc": (17, 1), "scc": (25, 1),
    "addr": (32, 8), "data": (40, 8), "saddr": (48, 7), "acc": (55, 1), "vdst": (56, 8),
}  # fmt: skip

FORMATS = (
    Format("SOPP", 0xFF800000, 0xBF800000, 1, (16, 7), {"simm": (0, 16)}),
    Format("SOPC", 0xFF800000, 0xBF000000, 1, (16, 7), {"ssrc0": (0, 8), "ssrc1": (8, 8)}),
    Format("SOP1", 0xFF800000, 0xBE800000, 1, (8, 8), {"ssrc0": (0, 8), "sdst": (16, 7)}),
    Format("SOPK", 0xF0000000, 0xB0000000, 1, (23, 5), {"simm": (0, 16), "sdst": (16, 7)}),
    Format("SOP2", 0xC0000000, 0x80000000, 1, (23, 7), {"ssrc0": (0, 8), "ssrc1": (8, 8), "sdst": (16, 7)}),
    Format("SMEM", 0xFC000000, 0xC0000000, 2, (18, 8), {
        "sbase": (0, 6), "sdata": (6, 7), "soffset_en": (14, 1), "glc": (16, 1), "imm": (17, 1),
        "offset": (32, 21), "soffset": (57, 7),
    }),
    Format("VOPC", 0xFE000000, 0x7C000000, 1, (17, 8), {"src0": (0, 9), "vsrc1": (9, 8)}),
    Format("VOP1", 0xFE000000, 0x7E000000, 1, (9, 8), {"src0": (0, 9), "vdst": (17, 8)}),
    Format("VOP2", 0x80000000, 0x00000000, 1, (25, 6), _VECTOR),
    Format("VOP3P", 0xFF800000, 0xD3800000, 2, (16, 7), {
        **_THREE, "op_sel": (11, 3), "op_sel_hi2": (14, 1), "op_sel_hi": (59, 2), "neg_hi": (8, 3),
        "cbsz": (8, 3), "abid": (11, 4), "acc_cd": (15, 1), "acc": (59, 2), "blgp": (61, 3),
    }),
    Format("VOP3", 0xFC000000, 0xD0000000, 2, (16, 10), {
        **_THREE, "abs": (8, 3), "sdst": (8, 7), "op_sel": (11, 4), "omod": (59, 2),
    }),
    Format("DS", 0xFC000000, 0xD8000000, 2, (17, 8), {
        "offset": (0, 16), "offset0": (0, 8), "offset1": (8, 8), "gds": (16, 1), "acc": (25, 1),
        "addr": (32, 8), "data0": (40, 8), "data1": (48, 8), "vdst": (56, 8),
    }),
    Format("FLAT", 0xFC00C000, 0xDC000000, 2, (18, 7), _FLAT),
    Format("SCRATCH", 0xFC00C000, 0xDC004000, 2, (18, 7), _FLAT),
    Format("GLOBAL", 0xFC00C000, 0xDC008000, 2, (18, 7), _FLAT),
    Format("MUBUF", 0xFC000000, 0xE0000000, 2, (18, 7), {
        "offset": (0, 12), "offen": (12, 1), "idxen": (13, 1), "glc": (14, 1), "scc": (15, 1), "lds": (16, 1),
        "slc": (17, 1), "vaddr": (32, 8), "vdata": (40, 8), "srsrc": (48, 5), "acc": (55, 1),
        "soffset": (56, 8),
    }),
)  # fmt: skip
"""Encodings in the order in which they are tried.  glc, slc and scc are sc0, nt and sc1 from gfx940 on."""

SDWA: Mapping[str, Bits] = {
    "src0": (32, 8), "dst_sel": (40, 3), "dst_unused": (43, 2), "clamp": (45, 1), "omod": (46, 2),
    "sdst": (40, 7), "sd": (47, 1),
    "src0_sel": (48, 3), "src0_sext": (51, 1), "src0_neg": (52, 1), "src0_abs": (53, 1), "s0": (55, 1),
    "src1_sel": (56, 3), "src1_sext": (59, 1), "src1_neg": (60, 1), "src1_abs": (61, 1), "s1": (63, 1),
}  # fmt: skip
"""The second word where the first source is 249: parts of registers."""

DPP: Mapping[str, Bits] = {
    "src0": (32, 8), "ctrl": (40, 9), "bound_ctrl": (51, 1), "src0_neg": (52, 1), "src0_abs": (53, 1),
    "src1_neg": (54, 1), "src1_abs": (55, 1), "bank_mask": (56, 4), "row_mask": (60, 4),
}  # fmt: skip
"""The second word where the first source is 250: registers of other lanes."""


def format_of(word: int) -> Format | None:
    """The format of the instruction that begins with this word."""
    return next((f for f in FORMATS if word & f.mask == f.first), None)
