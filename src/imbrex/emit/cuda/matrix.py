"""A matrix instruction of warpgroups as a function on registers: the text of its assembly.

Sums come first in the text, then the descriptors of A and B, then whether the instruction adds to the sums or
starts them.  Types of 16 bits say which of their operands are d major; integers are not scaled.
"""

from __future__ import annotations

from imbrex.view.mma import Instruction
from imbrex.view.shared_tile import Major

__all__ = ["multiply", "sum_type"]

HALVES = ("f16", "bf16")
"""Types of operands that wgmma reads along either dim."""
TEXT_LENGTH = 100


def sum_type(one: Instruction) -> str:
    """The C type of a sum."""
    return "int32_t" if one.c_type == "s32" else "float"


def multiply(one: Instruction, majors: tuple[Major, Major]) -> list[str]:
    """`multiply(d, a, b, adds)`: d = a * b, and + d where `adds`; d: the first of some columns' sums."""
    count, kind = one.c_elements, sum_type(one)
    letter = "f" if kind == "float" else "r"
    registers = [f"%{i}" for i in range(count)]
    tail = [] if letter == "r" else ["1", "1"]
    if one.a_type in HALVES:
        tail += [str(int(m == "d")) for m in majors]
    operands = ", ".join([f"%{count}", f"%{count + 1}", "adds", *tail])
    bound = [f'"+{letter}"(d[{i}])' for i in range(count)]
    return [
        f"// {one.mnemonic}",
        f"IMBREX_MEMBER static void multiply({kind} *d, uint64_t a, uint64_t b, bool adds) {{",
        f'  asm volatile("{{\\n.reg .pred adds;\\nsetp.ne.b32 adds, %{count + 2}, 0;\\n"',
        f'               "{one.mnemonic} {{"',
        *(f'               "{text}"' for text in _wrapped(registers)),
        f'               "}}, {operands};\\n}}"',
        *(f"               {':' if not i else ' '} {text}" for i, text in enumerate(_wrapped(bound))),
        '               : "l"(a), "l"(b), "r"(int32_t(adds)));',
        "}",
    ]


def _wrapped(words: list[str]) -> list[str]:
    """The words with commas between them, in lines."""
    lines, line = list[str](), ""
    for i, word in enumerate(words):
        text = word if i + 1 == len(words) else f"{word}, "
        if len(line) + len(text) > TEXT_LENGTH:
            lines.append(line)
            line = ""
        line += text
    return [*lines, line]
