"""Machine code to instructions: each format once, and words that are none."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imbrex.cdna.decode import decode, decoded
from imbrex.cdna.encoding import FORMATS
from imbrex.cdna.generation import executed
from imbrex.cdna.table import rows
from imbrex.cdna.text import instruction_text

CASES = [
    ("gfx90a", "s_add_u32 s2, s0, s1", (0x80020100,)),
    ("gfx942", "s_waitcnt vmcnt(3) lgkmcnt(0)", (0xBF8C0073,)),
    ("gfx942", "s_load_dwordx4 s[8:11], s[0:1], 0x10", (0xC00A0200, 0x10)),
    ("gfx942", "v_cvt_f32_f16_e32 v1, v2", (0x7E021702,)),
    ("gfx942", "v_mul_f32_e32 v1, 0x40490fdb, v2", (0x0A0204FF, 0x40490FDB)),
    ("gfx942", "v_cmp_lt_i32_e32 vcc, 1, v0", (0x7D820081,)),
    ("gfx942", "v_fma_f32 v0, -v1, |v2|, 1.0 clamp mul:2", (0xD1CB8200, 0x2BCA0501)),
    ("gfx942", "v_add_f32_dpp v0, v1, v2 row_shl:1 row_mask:0xf bank_mask:0xf", (0x020004FA, 0xFF010101)),
    ("gfx942", "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", (0xD3CC8000, 0x04020500)),
    ("gfx90a", "v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]", (0xD3CC8000, 0x04020500)),
    ("gfx942", "ds_read2_b64 v[4:7], v1 offset1:8", (0xD8EE0800, 0x04000001)),
    ("gfx942", "global_load_dwordx4 v[4:7], v0, s[2:3] offset:-16 sc1", (0xDE5C9FF0, 0x04020000)),
    ("gfx90a", "buffer_load_dword v1, v0, s[4:7], 0 offen offset:4", (0xE0501004, 0x80010100)),
]  # fmt: skip


@pytest.mark.parametrize(("chip", "text", "words"), CASES, ids=[text.split()[0] for _, text, _ in CASES])
def test_each_format(chip: str, text: str, words: tuple[int, ...]) -> None:
    found = decode([*words, 0xBF800000, 0xBF800000], 0x100, chip)
    assert (instruction_text(found, chip), found.words) == (text, words)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (128, "0"),
        (192, "64"),
        (193, "-1"),
        (208, "-16"),
        (235, "src_shared_base"),
        (236, "src_shared_limit"),
        (237, "src_private_base"),
        (238, "src_private_limit"),
        (240, "0.5"),
        (247, "-4.0"),
        (251, "src_vccz"),
        (252, "src_execz"),
        (253, "src_scc"),
    ],
)
def test_constants_and_special_registers(code: int, name: str) -> None:
    """Numbers of scalar operands by AMD's table."""
    found = decode([0xBE820100 | code, 0, 0], 0, "gfx942")
    assert instruction_text(found, "gfx942") == f"s_mov_b64 s[2:3], {name}"


@pytest.mark.parametrize("chip", executed())
@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=8))
def test_every_word_belongs_to_one_instruction(chip: str, words: list[int]) -> None:
    found = decoded(struct.pack(f"<{len(words)}I", *words), 0x40, chip)
    assert [word for instruction in found for word in instruction.words] == words
    assert [i.address for i in found[1:]] == [i.address + 4 * len(i.words) for i in found[:-1]]


def test_what_is_no_instruction_has_no_row() -> None:
    """A number that the format does not have, a format that there is not, half an instruction, no literal."""
    assert decode([0xBFFF0000], 0, "gfx942").row is None
    assert decode([0xF8000000, 0], 0, "gfx942").row is None
    assert decode([0xD1CB8200], 0, "gfx942").row is None
    assert decode([0x7E0002FF], 0, "gfx942").row is None
    assert decode([0x7E0002FF, 7], 0, "gfx942").row is not None
    assert instruction_text(decode([0xBFFF0000], 0, "gfx942"), "gfx942") == ".long 0xbfff0000"


@pytest.mark.parametrize("chip", executed())
def test_the_operands_of_a_row_are_fields_of_its_format(chip: str) -> None:
    fields = {format.name: format.fields for format in FORMATS}
    implied = {"vcc", "literal"}
    for row in rows(chip).values():
        assert all(slot.field in implied or slot.field in fields[row.format] for slot in row.slots), row
        assert row.op < 1 << next(f.op[1] for f in FORMATS if f.name == row.format)


def test_chips_differ_where_their_documents_do() -> None:
    """bf16 products of gfx90a begin anew at other numbers, and gfx950 alone reads LDS transposed."""
    old, new, newest = (rows(chip) for chip in executed())
    assert old["VOP3P", 0x67].mnemonic == "v_mfma_f32_16x16x16bf16_1k"
    assert new["VOP3P", 0x61].mnemonic == "v_mfma_f32_16x16x16_bf16"
    assert ("DS", 227) in newest and ("DS", 227) not in new
