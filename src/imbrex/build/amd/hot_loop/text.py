"""A kernel's instructions, read from what clang prints with -S for amdgcn.

An instruction knows the registers that it writes and reads: a register is a name such as `v12`, `a3`, `s7`,
`vcc`, `exec` or `scc`.  Only what the questions of this folder need is read; nothing is simulated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from imbrex.diagnostic import Diagnostic, did_you_mean

__all__ = ["Code", "Inst", "read_code"]

_LABEL = re.compile(r"^([.\w$@]+):")
_REGISTER = re.compile(r"^-?\|?([vas])(\d+|\[(\d+):(\d+)\])\|?$")
_NAMED = {"vcc": ("vcc",), "vcc_lo": ("vcc",), "vcc_hi": ("vcc",), "m0": ("m0",), "exec": ("exec",)}
_STORES = ("ds_write", "buffer_store", "global_store", "flat_store", "scratch_store")
_COMPARISONS = ("s_cmp", "s_bitcmp")
_NO_UNIT = ("s_waitcnt", "s_barrier", "s_nop", "s_cbranch", "s_branch", "s_endpgm", "s_setprio")


@dataclass(frozen=True)
class Inst:
    """One instruction.  operands: as printed, without commas.  modifiers: what follows them (`offset:16`)."""

    name: str
    operands: tuple[str, ...]
    modifiers: tuple[str, ...] = ()

    @property
    def writes(self) -> frozenset[str]:
        """Registers that it gives a new value."""
        written = {r for operand in self.operands[: self._results] for r in registers(operand)}
        if self.name.startswith("v_cmpx") or "saveexec" in self.name:
            written.add("exec")
        sets_no_flag = ("s_mov", "s_load", "s_buffer_load", "s_mul_", *_NO_UNIT)
        if self.name.startswith("s_") and not self.name.startswith(sets_no_flag):
            written.add("scc")
        return frozenset(written)

    @property
    def reads(self) -> frozenset[str]:
        """Registers whose value it takes; the accumulators of a matrix instruction are among them."""
        read = {r for operand in self.operands[self._results :] for r in registers(operand)}
        if flag := re.match(r"s_cbranch_(scc|vcc|exec)", self.name):
            read.add(flag[1])
        if self.name.startswith(("s_cselect", "s_addc", "s_subb")):
            read.add("scc")
        return frozenset(read)

    @property
    def _results(self) -> int:
        """How many operands, the first ones, are results."""
        if self.name.startswith((*_STORES, *_COMPARISONS, *_NO_UNIT)) or "lds" in self.modifiers:
            return 0
        return 2 if re.match(r"v_(add|sub|subrev)b?c?_co_|v_mad_[ui]64_[ui]32", self.name) else 1

    @property
    def target(self) -> str | None:
        """The label that a branch goes to."""
        return self.operands[-1] if self.name.startswith(("s_cbranch", "s_branch")) else None


@dataclass(frozen=True)
class Code:
    """A kernel: its instructions in order, and the index of the instruction that each label names."""

    name: str
    insts: tuple[Inst, ...]
    labels: Mapping[str, int]


def registers(operand: str) -> tuple[str, ...]:
    """The registers that an operand names; none for a number, a label or a word."""
    if operand in _NAMED:
        return _NAMED[operand]
    found = _REGISTER.match(operand)
    if found is None:
        return ()
    if found[3] is None:
        return (found[1] + found[2],)
    return tuple(f"{found[1]}{i}" for i in range(int(found[3]), int(found[4]) + 1))


def read_code(assembly: str, kernel: str | None = None) -> Code:
    """`kernel` of that assembly text; the only one where no name is given; else a Diagnostic."""
    kernels = dict(_functions(assembly))
    if kernel is None and len(kernels) == 1:
        (kernel,) = kernels
    if kernel is None or kernel not in kernels:
        names = ", ".join(kernels) or "none"
        hint = did_you_mean(kernel, kernels) if kernel else f"name one of {names}"
        raise Diagnostic(f"the assembly holds the functions {names}; asked for {kernel}", hint=hint)
    insts: list[Inst] = []
    labels: dict[str, int] = {}
    for line in kernels[kernel]:
        bare = line.partition(";")[0].strip()
        if label := _LABEL.match(bare):
            labels[label[1]] = len(insts)
        elif bare and not bare.startswith("."):
            insts.append(_instruction(bare))
    return Code(kernel, tuple(insts), labels)


def _functions(assembly: str) -> Iterator[tuple[str, list[str]]]:
    """Name and lines of every function: from its label to the end that the compiler marks."""
    declared = set(re.findall(r"^\s*\.type\s+([\w$.@]+),@function", assembly, re.MULTILINE))
    name, lines = "", list[str]()
    for line in assembly.splitlines():
        label = _LABEL.match(line)
        if label and label[1] in declared:
            name, lines = label[1], []
        elif label and label[1].startswith(".Lfunc_end") and name:
            yield name, lines
            name = ""
        elif name:
            lines.append(line)


def _instruction(text: str) -> Inst:
    name, _, rest = text.partition(" ") if " " in text else text.partition("\t")
    fields = [field.strip() for field in rest.strip().split(",")] if rest.strip() else []
    if not fields:
        return Inst(name, ())
    *whole, last = fields
    words = last.split()
    operands = [*whole, *words[:1]]
    modifiers = words[1:]
    if name.startswith(("s_waitcnt", "s_sendmsg")):
        operands, modifiers = [], [*whole, *words]
    elif operands and ":" in operands[-1] and not _REGISTER.match(operands[-1]):
        modifiers = [operands.pop(), *modifiers]
    return Inst(_plain(name), tuple(operands), tuple(modifiers))


def _plain(name: str) -> str:
    """Without the encoding that the assembler may append."""
    return re.sub(r"_(e32|e64|sdwa|dpp|e64_dpp)$", "", name)
