"""check-buffers: finds slips in the use of LDS and registers that types cannot show; changes nothing.

- A private buffer that is written and never read: another one was stored in its place.
- An offset that two nested subviews both add.
- Two byte views of one buffer that start at the same offset: the second lies on the first.

These are suspicions about hand-written text, so the pass runs only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from imbrex.ir.ops import (
    AllocOp,
    BlockwiseCopyOp,
    BlockwiseGemmOp,
    FillOp,
    SubviewOp,
    ThreadwiseCopyOp,
    ThreadwiseFilterSumsOp,
    ThreadwiseGemmOp,
    ThreadwiseWindowsOp,
)
from imbrex.ir.ops.memory import constant_of
from imbrex.ir.shape import PRIVATE, is_bytes, space_of
from imbrex.ir.source import InvalidOp


class Access(NamedTuple):
    """One use of a buffer by an operation."""

    op: Operation
    operand: int
    buffer: SSAValue
    reads: bool
    writes: bool


@dataclass(frozen=True)
class CheckBuffers(ModulePass):
    """See the module's first lines."""

    name = "check-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        views = [o for o in op.walk() if isinstance(o, SubviewOp)]
        for view in views:
            _check_offset(view)
        for i, view in enumerate(views):
            for other in views[:i]:
                _check_overlap(other, view)
        accesses = [a for o in op.walk() for a in _accesses(o)]
        for alloc in op.walk():
            if isinstance(alloc, AllocOp) and space_of(alloc.result) == PRIVATE:
                _check_read(alloc.result, accesses)


def _check_offset(view: SubviewOp) -> None:
    """The same offset must not be added by a view and by the view below it."""
    below = view.source.owner
    if isinstance(below, SubviewOp) and below.offset is view.offset and constant_of(view.offset) != 0:
        message = (
            f"'{_name(view.offset)}' is added twice: '{_name(view.source)}' already starts there; write 0"
        )
        raise InvalidOp(view, message, "operand", 1)


def _check_overlap(first: SubviewOp, second: SubviewOp) -> None:
    """Byte views of one buffer start at different offsets."""
    if first.source is not second.source or not (is_bytes(first.result) and is_bytes(second.result)):
        return
    offsets = constant_of(first.offset), constant_of(second.offset)
    if first.offset is second.offset or (offsets[0] is not None and offsets[0] == offsets[1]):
        a, b = _name(first.result), _name(second.result)
        message = f"'{b}' lies on '{a}': both start at '{_name(second.offset)}'; write the size of '{a}'"
        raise InvalidOp(second, message, "operand", 1)


def _check_read(buffer: SSAValue, accesses: list[Access]) -> None:
    """A buffer that is written must be read somewhere."""
    own = [a for a in accesses if _root(a.buffer) is buffer]
    if not own or any(a.reads for a in own):
        return
    write = own[0]
    name = _name(buffer)
    later = accesses[accesses.index(write) + 1 :]
    copies = [a for a in later if a.reads and a.operand == 0 and isinstance(a.op, BlockwiseCopyOp)]
    taken = [a for a in copies if _is_near(name, _name(_root(a.buffer)))]
    if taken:
        message = f"'{name}', written{_line(write.op)}, is never read; write '{name}' here"
        raise InvalidOp(taken[0].op, message, "operand", taken[0].operand)
    raise InvalidOp(write.op, f"'{name}' is written here but never read", "operand", write.operand)


def _accesses(op: Operation) -> Iterator[Access]:
    """The buffers that an operation reads and writes."""
    match op:
        case BlockwiseCopyOp() | ThreadwiseCopyOp():
            yield Access(op, 0, op.source, True, False)
            yield Access(op, 1 + len(op.source_index), op.dest, False, True)
        case BlockwiseGemmOp() | ThreadwiseGemmOp():
            yield Access(op, 0, op.a, True, False)
            yield Access(op, 1 + len(op.a_index), op.b, True, False)
            yield Access(op, 2 + len(op.a_index) + len(op.b_index), op.c, True, True)
        case ThreadwiseWindowsOp():
            yield Access(op, 0, op.filter, True, False)
            yield Access(op, 1 + len(op.filter_index), op.window, True, False)
            yield Access(op, 2 + len(op.filter_index) + len(op.window_index), op.c, False, True)
        case ThreadwiseFilterSumsOp():
            yield Access(op, 0, op.output, True, False)
            yield Access(op, 1 + len(op.output_index), op.window, True, False)
            yield Access(op, 2 + len(op.output_index) + len(op.window_index), op.filter, False, True)
        case FillOp():
            yield Access(op, 0, op.buffer, False, True)
        case SubviewOp():
            return
        case _:
            for i, value in enumerate(op.operands):
                yield Access(op, i, value, True, True)


def _root(value: SSAValue) -> SSAValue:
    """The buffer under subviews."""
    while isinstance(value.owner, SubviewOp):
        value = value.owner.source
    return value


def _is_near(a: str, b: str) -> bool:
    """True for names that differ in one word, such as thread_a_even and thread_a_odd."""
    return a.rsplit("_", 1)[0] == b.rsplit("_", 1)[0] or SequenceMatcher(None, a, b).ratio() > 0.9


def _name(value: SSAValue) -> str:
    return f"%{value.name_hint or '?'}"


def _line(op: Operation) -> str:
    return f" on line {op.location.line.data}" if isinstance(op.location, FileLineColLoc) else ""
