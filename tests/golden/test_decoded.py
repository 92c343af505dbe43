"""How random words of every row read: the text of an instruction, and what the emulator is told of it.

    pytest tests/golden --update-golden     writes how they read now

A digest for each format of each chip, of words whose fields are drawn.  `tests/cdna/test_llvm.py` compares
texts with LLVM's where that is installed; what changes is seen here without it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from tests.golden.kept import expect_kept, expect_only

from imbrex.cdna.decode import decode
from imbrex.cdna.encoding import FORMATS
from imbrex.cdna.generation import executed
from imbrex.cdna.instruction import Instruction
from imbrex.cdna.predecode import predecoded
from imbrex.cdna.table import Row, rows
from imbrex.cdna.text import instruction_text
from imbrex.diagnostic import Diagnostic

FOLDER = Path(__file__).parent / "decoded"
DRAWN = 2
PARTS, LANES = 249, 250
"""First sources that say that a second word follows, of parts of registers or of other lanes."""


def words(row: Row, source: random.Random) -> list[int]:
    """An instruction of a row with other bits in all of its fields, and what may follow it."""
    of = next(format for format in FORMATS if format.name == row.format)
    whole = of.first | row.op << of.op[0]
    for low, count in of.fields.values():
        whole |= source.getrandbits(count) << low
    if of.words == 1 and "src0" in of.fields and source.random() < 0.5:
        whole = whole & ~0x1FF | source.choice((PARTS, LANES))
    return [whole & 0xFFFFFFFF, whole >> 32 or source.getrandbits(32), source.getrandbits(32), 0xBF800000]


def text(found: Instruction, chip: str) -> str:
    return f"{instruction_text(found, chip)} {len(found.words)}"


def told(found: Instruction, _: str) -> str:
    try:
        return bytes(predecoded([found])).hex()
    except Diagnostic as error:
        return error.message


def said(chip: str, read: Callable[[Instruction, str], str]) -> Iterator[str]:
    """A line for each format: how many, the first, a digest of all."""
    texts = defaultdict[str, list[str]](list)
    for row in rows(chip).values():
        source = random.Random(f"{chip} {row.mnemonic}")
        drawn = (decode(words(row, source), 0x100, chip) for _ in range(DRAWN))
        texts[row.format] += [read(found, chip) for found in drawn]
    for name, found in texts.items():
        digest = sha256("\n".join(found).encode()).hexdigest()[:12]
        yield f"{name} {len(found)} {digest}: {found[0][:40]}\n"


@pytest.mark.parametrize("chip", executed())
def test_words_read_as_they_read(chip: str, update_golden: bool) -> None:
    expect_kept("".join(said(chip, text)), FOLDER / f"{chip}.txt", update=update_golden)


@pytest.mark.parametrize("chip", executed())
def test_the_emulator_is_told_what_it_was_told(chip: str, update_golden: bool) -> None:
    expect_kept("".join(said(chip, told)), FOLDER / f"{chip}_told.txt", update=update_golden)


def test_no_other_text_is_kept() -> None:
    expect_only((f"{chip}{end}" for chip in executed() for end in ("", "_told")), FOLDER)
