"""What llvm-mc and llvm-objdump say of every opcode number: the rows of `imbrex/cdna/table`, made again.

Each number of each format is put into words whose fields hold other registers, so that the text of the
disassembly tells which field an operand comes from and how many registers it has.

    python tests/cdna/opcode_table.py FOLDER     writes the tables
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

CHIPS = ("gfx908", "gfx90a", "gfx942", "gfx950")
SLOT_BYTES = 24
V = 256
"""Of a 9-bit source: the first vector register."""

Words = list[int]


def disassembled(chip: str, instructions: Sequence[Sequence[int]]) -> list[tuple[str, int] | None]:
    """Text and words of each; None where there is no such instruction."""
    with tempfile.TemporaryDirectory() as directory:
        source, binary = Path(directory, "a.s"), Path(directory, "a.o")
        lines = [".text", "k:"]
        for words in instructions:
            padded = [*words, *[0xBF800000] * (SLOT_BYTES // 4 - len(words))]
            lines.append(".long " + ",".join(map(hex, padded)))
        source.write_text("\n".join(lines) + "\n")
        machine = f"-mcpu={chip}"
        target = ["-triple=amdgcn-amd-amdhsa", machine, "-filetype=obj"]
        subprocess.run(["llvm-mc-22", *target, str(source), "-o", str(binary)], check=True)
        dump = ["llvm-objdump-22", "-d", f"-{machine}", str(binary)]
        text = subprocess.run(dump, capture_output=True, text=True, check=True).stdout
    found: list[tuple[str, int] | None] = [None] * len(instructions)
    for line, address, words in listing(text):
        if address % SLOT_BYTES == 0:
            found[address // SLOT_BYTES] = (line, words)
    return found


def listing(text: str) -> Iterator[tuple[str, int, int]]:
    """Each instruction of llvm-objdump's text: itself, its address, its words."""
    for line in text.splitlines():
        found = re.match(r"\s+(\S.*?)\s*// ([0-9A-Fa-f]{12}): ((?:[0-9A-F]{8} ?)+)", line)
        if found and not found[1].startswith(".long"):
            yield re.sub(r"\s+", " ", found[1]), int(found[2], 16), len(found[3].split())


def _two(low: int, high: int) -> Words:
    return [low & 0xFFFFFFFF, high & 0xFFFFFFFF]


def _vop3(op: int, sources: int, sdst: int) -> Words:
    src0, src1, src2 = (V + 16 if sources > 0 else 0, V + 32 if sources > 1 else 0, V + 64)
    return _two(0xD0000000 | op << 16 | sdst << 8 | 8, src0 | src1 << 9 | (src2 if sources > 2 else 0) << 18)


def _vop3_scalar(op: int, first: int, third: int) -> Words:
    """With scalar registers as the second and third source, as lane numbers and conditions are."""
    return _two(0xD0000000 | op << 16 | 8, first | 32 << 9 | third << 18)


def _vop3p(op: int, sources: int) -> Words:
    src0, src1, src2 = (V + 16, V + 32 if sources > 1 else 0, V + 64 if sources > 2 else 0)
    return _two(0xD3800000 | op << 16 | 8, src0 | src1 << 9 | src2 << 18)


def _ds(op: int, vdst: int, data1: int, data0: int, addr: int) -> Words:
    return _two(0xD8000000 | op << 17, vdst << 24 | data1 << 16 | data0 << 8 | addr)


def _flat(op: int, segment: int, vdst: int, data: int, addr: int) -> Words:
    """saddr is off (0x7f), which a flat access has no bits for."""
    off = 0x7F if segment else 0
    return _two(0xDC000000 | op << 18 | segment << 14, vdst << 24 | off << 16 | data << 8 | addr)


def _flat_forms(segment: int) -> Callable[[int], list[Words]]:
    forms = [(8, 32, 16), (0, 32, 16), (8, 0, 16), (0, 0, 16)]
    if segment == 1:  # scratch: `sve`, the bit that says there is a vector offset, is new in gfx940
        return lambda op: [
            *(_sve(op, *form) for form in forms),
            *(_flat(op, 1, *form) for form in forms),
        ]
    return lambda op: [_flat(op, segment, *form) for form in forms]


def _sve(op: int, vdst: int, data: int, addr: int) -> Words:
    words = _flat(op, 1, vdst, data, addr)
    return [words[0] | 1 << 13, words[1]]


def _mubuf(op: int) -> list[Words]:
    low = 0xE0000000 | op << 18 | 1 << 12
    return [_two(low, 4 << 24 | 6 << 16 | 8 << 8 | 16), _two(0xE0000000 | op << 18, 0)]


FORMATS: dict[str, tuple[int, Callable[[int], list[Words]]]] = {
    "SOP2": (96, lambda op: [[0x80000000 | op << 23 | 8 << 16 | 32 << 8 | 16]]),
    "SOPK": (29, lambda op: [[0xB0000000 | op << 23 | 8 << 16 | 0x64],
                             [0xB0000000 | op << 23 | 8 << 16 | 0x64, 0x12345]]),
    "SOP1": (256, lambda op: [[0xBE800000 | 8 << 16 | op << 8 | 16]]),
    "SOPC": (128, lambda op: [[0xBF000000 | op << 16 | 32 << 8 | 16]]),
    "SOPP": (128, lambda op: [[0xBF800000 | op << 16]]),
    "SMEM": (256, lambda op: [_two(0xC0000000 | op << 18 | 1 << 17 | 16 << 6 | 4, 0x10)]),
    "VOP2": (62, lambda op: [[op << 25 | 8 << 17 | 32 << 9 | (V + 16), 0x12345]]),
    "VOP1": (256, lambda op: [[0x7E000000 | 8 << 17 | op << 9 | (V + 16)], [0x7E000000 | op << 9]]),
    "VOPC": (256, lambda op: [[0x7C000000 | op << 17 | 32 << 9 | (V + 16)]]),
    "VOP3": (896, lambda op: [
        _vop3(op, 3, 40), _vop3(op, 2, 40), _vop3(op, 3, 0), _vop3(op, 2, 0),
        _vop3_scalar(op, V + 16, 64), _vop3_scalar(op, V + 16, 0), _vop3_scalar(op, 16, 0),
        _vop3(op, 1, 0), _vop3(op, 0, 0), _two(0xD0000000 | op << 16, 0),
    ]),
    "VOP3P": (128, lambda op: [
        _vop3p(op, 3), _vop3p(op, 2), _vop3p(op, 1),
    ]),
    "DS": (256, lambda op: [_ds(op, *form) for form in (
        (8, 48, 32, 16), (0, 48, 32, 16), (8, 0, 32, 16), (8, 0, 0, 16), (0, 0, 32, 16), (0, 0, 0, 16),
        (8, 0, 0, 0), (0, 0, 32, 0), (0, 0, 0, 0),
    )]),
    "FLAT": (128, _flat_forms(0)),
    "SCRATCH": (128, _flat_forms(1)),
    "GLOBAL": (128, _flat_forms(2)),
    "MUBUF": (128, _mubuf),
}  # fmt: skip
"""Numbers of a format, and words to try for each, of which the first that means something counts."""

FIELDS = {
    "SOP2": {8: "sdst", 16: "ssrc0", 32: "ssrc1"},
    "SOPK": {8: "sdst"},
    "SOP1": {8: "sdst", 16: "ssrc0"},
    "SOPC": {16: "ssrc0", 32: "ssrc1"},
    "SOPP": {},
    "SMEM": {16: "sdata", 8: "sbase"},
    "VOP2": {8: "vdst", 16: "src0", 32: "vsrc1"},
    "VOP1": {8: "vdst", 16: "src0"},
    "VOPC": {16: "src0", 32: "vsrc1"},
    "VOP3": {8: "vdst", 16: "src0", 32: "src1", 64: "src2", 40: "sdst"},
    "VOP3P": {8: "vdst", 16: "src0", 32: "src1", 64: "src2"},
    "DS": {8: "vdst", 16: "addr", 32: "data0", 48: "data1"},
    "FLAT": {8: "vdst", 16: "addr", 32: "data"},
    "SCRATCH": {8: "vdst", 16: "addr", 32: "data"},
    "GLOBAL": {8: "vdst", 16: "addr", 32: "data"},
    "MUBUF": {8: "vdata", 16: "vaddr", 24: "srsrc", 4: "soffset"},
}
"""Which field holds the register of that number in the words above."""

USUAL = {"vdst": "v", "vsrc1": "v", "addr": "v", "data": "v", "data0": "v", "data1": "v", "vdata": "v",
         "vaddr": "v", "src0": "sv", "src1": "sv", "src2": "sv"}  # fmt: skip
"""Registers of a field where its row says nothing else; the other fields hold scalar ones."""
CONSTANTS = {"VOP2": "literal:1", "SMEM": "offset:1", "SOPK": "simm:1", "SOPP": "simm:1", "SOPC": "ssrc1:1"}
"""Of a format: what is printed as a number."""
LEFT_OUT = ("v_interp", "s_atc_probe")
"""Of graphics; of the host's page tables."""


def operands(format: str, text: str) -> list[str]:
    """`field:registers` of each, or `field.class:registers` for other registers than usual."""
    found: list[str] = []
    for word in text.split(", ") if text else []:
        match = re.fullmatch(r"([sva])(?:(\d+)|\[(\d+):(\d+)\])", word)
        if word == "off":
            found.append("saddr:2" if format == "GLOBAL" else "saddr:1")
        elif word == "vcc":
            found.append("vcc:2")
        elif match is None:
            found.append("literal:1" if word == "-1.0" else CONSTANTS[format])
        else:
            first = int(match[2] or match[3])
            count = int(match[4]) - first + 1 if match[4] else 1
            field = FIELDS[format][first]
            is_usual = match[1] in USUAL.get(field, "s")
            found.append(f"{field}{'' if is_usual else '.' + match[1]}:{count}")
    return found


def split(text: str) -> tuple[str, str]:
    """Mnemonic and operands, without what modifies them."""
    name, _, rest = text.partition(" ")
    rest = re.sub(r"/\*.*?\*/|\(.*?\)", "", rest)
    return name, re.split(r" (?=[a-z_0-9]+:|offen)", rest)[0]


Rows = dict[str, dict[tuple[int, str, str], list[str]]]


def tables() -> Rows:
    """Of each format: chips by number, name and operands."""
    tried = [(format, op, words) for format, (count, of) in FORMATS.items()
             for op in range(count) for words in of(op)]  # fmt: skip
    found: dict[tuple[str, int], dict[str, list[str]]] = {}
    for chip in CHIPS:
        for (format, op, _), answer in zip(
            tried, disassembled(chip, [words for _, _, words in tried]), strict=True
        ):
            if answer is not None and not answer[0].startswith(LEFT_OUT):
                found.setdefault((format, op), {}).setdefault(chip, []).append(answer[0])
    rows: Rows = {format: {} for format in FORMATS}
    for (format, op), of_chips in sorted(found.items()):
        for chip, answers in of_chips.items():
            name, given = split(_best(answers))
            row = (op, name, " ".join(operands(format, given)))
            rows[format].setdefault(row, []).append(chip)
    return rows


def _best(answers: Sequence[str]) -> str:
    """The first without a register that the assembler would refuse there, and to registers, not to LDS."""
    return next((a for a in answers if "/*" not in a and not a.endswith(" lds")), answers[0])


def body(rows: dict[tuple[int, str, str], list[str]]) -> list[str]:
    width = max(len(name) for _, name, _ in rows)
    return [
        f"{op:<4} {name:<{width}}  {' '.join(c.removeprefix('gfx') for c in chips):<15}  {given}".rstrip()
        for (op, name, given), chips in rows.items()
    ]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for format, rows in tables().items():
        path = folder / f"{format.lower()}.txt"
        kept = path.read_text().splitlines() if path.exists() else []
        head = [line for line in kept if line.startswith("#")]
        path.write_text("\n".join([*head, *body(rows)]) + "\n")
