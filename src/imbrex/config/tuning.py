"""Tuning: one of the seven kinds; its text form, one line.

    v1:general:block_size,m_per_block,n_per_block,k_per_block,m_per_thread,n_per_thread
    v1:xdlops:m_per_block,n_per_block,k_per_block,m_per_wave,n_per_wave,kpack,
              auto|INSTRUCTION,xor|padded|plain|tiled,staged|direct|ahead|staged_ahead,straight|swapped,
              interleave,buffers
    v1:warpgroup:m_per_block,n_per_block,k_per_block,stages,consumers,cluster_m,cluster_n,
                 cooperative|pingpong,straight|swapped,group
    v1:halo:images,rows,loaded,width,taps,channels,n_per_block,diagonal,stages,consumers,
            cooperative|pingpong
    v1:lines:images,lines,width,window_rows,window_columns,channels,n_per_block,diagonal,stages,
             consumers,cooperative|pingpong
    v1:halo_weight:images,rows,loaded,width,taps,channels,diagonal,shares,stages,
                   consumers
    v1:cpu:m_per_thread,n_per_thread,m_per_block,n_per_block,k_per_block,vector_lanes,
           k_major|k_blocked,a|b,straight|swapped,UNIT

Law: `parse` undoes `text`.  The order is that of the fields.  Values with a
default, such as the last ones of an xdlops tuning and a CPU's unit, may be left out where they are the usual
ones, and are not written then: a field that is added last, with a default, leaves old texts as they are.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeAlias, TypeGuard, get_args

from imbrex.config.block_plan import CopyKind
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.halo.plan import WindowTuning
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.xdlops import mfma
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.numeral import MOST, shown, whole
from imbrex.view.mma.vector import CPU_UNITS
from imbrex.view.stage.lds import LDS_KINDS

__all__ = [
    "KINDS", "VERSION", "PipelineTuning", "Tuning", "checked", "is_pipelined", "parse", "text",
    "values", "with_article",
]  # fmt: skip

PipelineTuning: TypeAlias = WarpgroupTuning | WindowTuning
"""Tunings of products that warpgroups multiply, out of a pipeline of stages."""
Tuning: TypeAlias = GeneralTuning | XdlopsTuning | PipelineTuning | CpuTuning

VERSION = 1
KINDS: dict[str, type[Tuning]] = {kind.kind: kind for kind in get_args(Tuning)}
WORDS: dict[str, dict[str, str | bool]] = {
    "a_layout": {"k_major": "k_major", "k_blocked": "k_blocked"},
    "stationary": {"a": "a", "b": "b"},
    "swapped": {"straight": False, "swapped": True},
    "pingpong": {"cooperative": False, "pingpong": True},
    "lds": {kind: kind for kind in LDS_KINDS},
    "copy": {kind: kind for kind in get_args(CopyKind)},
    "unit": {name: name for name in CPU_UNITS},
}
INSTRUCTION = "instruction"
"""The field whose word is "auto" or a name of the table of matrix instructions."""


def is_pipelined(tuning: object) -> TypeGuard[PipelineTuning]:
    """Is it of products that warpgroups multiply?"""
    return isinstance(tuning, get_args(PipelineTuning))


def text(tuning: Tuning) -> str:
    """The one-line form, as `parse` reads it."""
    found = values(tuning)
    written = [_spell(name, value) for name, value in found.items()]
    usual = [_spell(name, value) for name, value in _usual(type(tuning)).items()]
    while usual and written[-1] == usual[-1]:
        del written[-1], usual[-1]
    return f"v{VERSION}:{tuning.kind}:{','.join(written)}"


def parse(line: str) -> Tuning:
    """The tuning that `line` spells; a Diagnostic with carets under the part that is wrong."""
    version, _, rest = line.partition(":")
    if version != f"v{VERSION}":
        raise _error(line, 0, version, f"tuning starts with '{version}', expected 'v{VERSION}'")
    kind, _, values = rest.partition(":")
    start = len(version) + 1
    if kind not in KINDS:
        known = list(KINDS)
        near = did_you_mean(kind, known) or f"known: {', '.join(known)}"
        raise _error(line, start, kind, f"unknown kind of tuning '{kind}'", near)
    start += len(kind) + 1
    names, words = [f.name for f in fields(KINDS[kind])], values.split(",") if values else []
    least = len(names) - len(_usual(KINDS[kind]))
    if not least <= len(words) <= len(names):
        takes = f"{least} to {len(names)}" if least < len(names) else str(least)
        complaint = f"{with_article(kind)} tuning takes {takes} values, got {len(words)}"
        raise _error(line, start, values, complaint, ",".join(names))
    found: dict[str, Any] = {}
    for name, word in zip(names, words, strict=False):
        found[name] = _read(line, start, name, word)
        start += len(word) + 1
    return KINDS[kind](**found)


def _usual(kind: type[Tuning]) -> dict[str, Any]:
    """The values that a text may leave out, in order: those at the end that have defaults, but for the first
    ones of an xdlops or a CPU's tuning.
    """
    required = kind.required if issubclass(kind, XdlopsTuning | CpuTuning) else 0
    return {f.name: f.default for f in fields(kind)[required:] if f.default is not MISSING}


def with_article(kind: str) -> str:
    """`a general`, `an xdlops`."""
    return f"an {kind}" if kind == "xdlops" else f"a {kind}"


def values(tuning: Tuning) -> dict[str, int | str | bool]:
    """Every field by name."""
    return {f.name: getattr(tuning, f.name) for f in fields(tuning)}


def _spell(name: str, value: int | str | bool) -> str:
    if name not in WORDS:
        return str(value)
    return next(word for word, meaning in WORDS[name].items() if meaning == value)


def _read(line: str, start: int, name: str, word: str) -> int | str | bool:
    if name in WORDS:
        if word not in WORDS[name]:
            raise _error(line, start, word, f"{name} is '{word}', expected {' or '.join(WORDS[name])}")
        return WORDS[name][word]
    if name == INSTRUCTION:
        if (near := _unknown(word)) is not None:
            raise _error(line, start, word, *near)
        return word
    number = None if word.startswith(("0", "+")) else whole(word, 1)
    if number is None:
        bounds = f"from 1 to {MOST}" if len(word) >= len(str(MOST)) else "from 1"
        raise _error(line, start, word, f"{name} is '{word}', expected a whole number {bounds}")
    return number


def _unknown(word: str) -> tuple[str, str | None] | None:
    """What is wrong with the name of a matrix instruction, and a hint; None where nothing is."""
    try:
        found = mfma.named(word)
    except Diagnostic as error:
        return error.message, error.hint
    if found is not None and found.name != word:
        return f"instruction is '{word}', expected its name in the table", f"write '{found.name}'"
    return None


def checked(name: str, value: Any) -> Any:
    """A value that a field may have; a Diagnostic for any other."""
    if name in WORDS:
        meanings = list(WORDS[name].values())
        if not any(type(value) is type(meaning) and value == meaning for meaning in meanings):
            raise Diagnostic(f"{name} is {value!r}, expected one of {meanings}")
    elif name == INSTRUCTION:
        if not isinstance(value, str):
            raise Diagnostic(f"{name} is {value!r}, expected 'auto' or a matrix instruction's name")
        if (near := _unknown(value)) is not None:
            raise Diagnostic(near[0], hint=near[1])
    elif not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST:
        raise Diagnostic(f"{name} is {shown(value)}, expected a whole number from 1")
    return value


def _error(line: str, start: int, part: str, message: str, hint: str | None = None) -> Diagnostic:
    length = max(1, len(part))
    return Diagnostic(message, file="<tuning>", line=1, col=start + 1, source=line, length=length, hint=hint)
