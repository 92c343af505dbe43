"""The tables and the decoder beside LLVM's disassembler, where that is installed.

Random fields are a control: words that no compiler of ours emits.  What LLVM takes and we print otherwise on
purpose is normalised: numbers of hardware registers and messages, and 1 / (2 pi) in doubles.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from dataclasses import replace
from importlib.resources import files

import pytest
from tests.cdna.opcode_table import body, disassembled, listing, tables

from imbrex.cdna.code_object import load_code_object
from imbrex.cdna.decode import decode
from imbrex.cdna.encoding import FORMATS
from imbrex.cdna.generation import executed
from imbrex.cdna.table import Row, rows
from imbrex.cdna.text import instruction_text
from imbrex.kernel import compile
from imbrex.problem import Conv2d, Gemm, Problem

TOOLS = ("llvm-mc-22", "llvm-objdump-22")
pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in TOOLS), reason=f"{' or '.join(TOOLS)} is not installed"
)

CONV = Conv2d("forward", 2, 6, 9, 7, 10, 3, 2, stride=(2, 1), dilation=(1, 2), pad_h=(1, 0), pad_w=(0, 2))
KERNELS: list[tuple[Problem, str | None, str]] = [
    (Gemm(37, 41, 29, transpose_a=True, dtype="f64"), None, "gfx90a"),
    (Gemm(33, 70, 52, transpose_b=True, batch=2, dtype="i8"), None, "gfx942"),
    (Gemm(33, 70, 52, transpose_b=True, batch=2, dtype="f8e4m3fn"), None, "gfx950"),
    (replace(CONV, direction="backward_data"), "v1:general:64,32,32,4,2,2", "gfx90a"),
    (replace(CONV, direction="backward_weight", dtype="bf16"), None, "gfx950"),
    (Gemm(17, 34, 33, epilogue="tanh(x) + silu(residual)"), None, "gfx942"),
]


def test_the_tables_are_what_llvm_says() -> None:
    for format, found in tables().items():
        text = (files("imbrex.cdna") / "table" / f"{format.lower()}.txt").read_text(encoding="utf-8")
        assert [line for line in text.splitlines() if not line.startswith("#")] == body(found), format


@pytest.mark.parametrize(("problem", "tuning", "chip"), KERNELS, ids=str)
def test_every_instruction_of_a_kernel_reads_the_same(
    problem: Problem, tuning: str | None, chip: str
) -> None:
    path = compile(problem, chip, tuning).library.path
    command = ["llvm-objdump-22", "-d", f"--mcpu={chip}", str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    code = load_code_object(path.read_bytes())
    ours = {i.address: instruction_text(i, chip) for i in code.instructions}
    theirs = {address: re.sub(r" <.*>$", "", text) for text, address, _ in listing(said)}
    assert len(theirs) > 100
    wrong = {
        a: (text, ours.get(a)) for a, text in theirs.items() if ours.get(a) != text and "_end" not in text
    }
    assert not wrong and not code.unknown


REGISTERS = (
    "src0", "src1", "src2", "vsrc1", "vdst", "ssrc0", "ssrc1", "sdst", "addr", "data", "data0", "data1",
    "vdata", "vaddr", "srsrc", "sbase", "sdata", "saddr", "soffset",
)  # fmt: skip
CODES = [0, 2, 4, 16, 100, 106, 124, 126, 128, 150, 192, 193, 208, 256, 258, 300, 510]
"""Not the constants that are floats: to 16-bit integers LLVM writes them as their bits."""
MODIFIERS = (
    "simm", "offset", "offset0", "offset1", "clamp", "omod", "neg", "abs", "glc", "slc", "offen", "op_sel_hi",
)  # fmt: skip
LEFT_OUT = (
    "reg_b32", "imm32", "sendmsg", "gpr_idx", "s_nop", "s_set", "swizzle", "perflevel", "s_trap", "fork",
    "dot2c", "dot4c", "dot8c", "cvt_sr", "s_sleep", "s_endpgm", "dcache", "buffer_wb", "buffer_inv",
    "scalef32", "pk_u8",
)  # fmt: skip
"""Whose numbers LLVM writes in its own way, or whose idle fields it reads."""


def _random_words(row: Row, source: random.Random) -> list[int] | None:
    """Words of an instruction with other registers and modifiers; None where its text is not compared."""
    format = next(f for f in FORMATS if f.name == row.format)
    used = {slot.field for slot in row.slots}
    whole = format.first | row.op << format.op[0]
    for name, (low, count) in format.fields.items():
        if name in REGISTERS and name in used:
            code = source.choice([c for c in CODES if c < 1 << count])
            whole |= (code & ~3 if name in ("sbase", "sdata", "sdst") else code) << low
        elif name in MODIFIERS and source.random() < 0.3 and not (name == "abs" and "sdst" in used):
            whole |= source.getrandbits(count) << low
    words = [whole & 0xFFFFFFFF, whole >> 32]
    return None if any(word in row.mnemonic for word in LEFT_OUT) else words[: format.words]


@pytest.mark.parametrize("chip", executed())
def test_random_fields_read_the_same(chip: str) -> None:
    source = random.Random(chip)
    known = list(rows(chip).values())
    tried = [words for row in source.choices(known, k=1500) if (words := _random_words(row, source))]
    padded = [[*words, 0xBF800000, 0xBF800000] for words in tried]
    wrong: dict[str, tuple[str, str]] = {}
    count = 0
    for words, said in zip(padded, disassembled(chip, tried), strict=True):
        if said is None or "/*" in said[0]:
            continue
        theirs, found = re.sub(r" <.*>$", "", said[0]), decode(words, 0, chip)
        count += 1
        if instruction_text(found, chip) != theirs or len(found.words) != said[1]:
            wrong[theirs] = instruction_text(found, chip), " ".join(map(hex, words))
    assert count > 500 and not wrong
