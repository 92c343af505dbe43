"""Building blocks of the passes: a run of new operations that takes the place and location of an old one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from imbrex.config.block_plan import BlockPlan, Multiply
from imbrex.config.tiles import TileSchedule
from imbrex.config.tuning import Tuning
from imbrex.diagnostic import Diagnostic
from imbrex.index.map import Layer
from imbrex.ir.attrs import Bool, Float, Int, Ints, Keyword
from imbrex.ir.chosen import Phased, Scheduled, Tuned
from imbrex.ir.element import zero_of
from imbrex.ir.ops.memory import AllocOp, FillOp
from imbrex.ir.ops.standard import ROLLED
from imbrex.ir.ops.view import transform_from_layer
from imbrex.ir.planned import Multiplied, Planned
from imbrex.ir.shape import element_of, memref, shape_of
from imbrex.ir.source import FAULTS, InvalidOp, PassFault
from imbrex.view.conv.phase_box import Phases

Op = TypeVar("Op", bound=Operation)


@dataclass
class Run:
    """Operations in the order in which they were added."""

    ops: list[Operation] = field(default_factory=lambda: list[Operation]())
    constants: dict[int, SSAValue] = field(default_factory=lambda: dict[int, SSAValue]())

    def add(self, op: Op) -> Op:
        self.ops.append(op)
        return op

    def index(self, value: int) -> SSAValue:
        """A constant of type index; one operation for all its uses in this run and the loops in it."""
        if value not in self.constants:
            made = self.add(arith.ConstantOp(IntegerAttr(value, IndexType()))).result
            made.name_hint = f"c{value}"
            self.constants[value] = made
        return self.constants[value]

    def sum(self, value: SSAValue, more: int) -> SSAValue:
        """`value + more`."""
        return self.add(arith.AddiOp(value, self.index(more))).result if more else value

    def alloc(self, hint: str, element: Attribute, sizes: Sequence[int], space: int) -> SSAValue:
        """A buffer in LDS or in registers."""
        op = AllocOp.build(operands=[[], []], result_types=[memref(element, sizes, space)])
        op.result.name_hint = hint
        return self.add(op).result

    def zero(self, buffer: SSAValue) -> None:
        """Fill a buffer with zeros."""
        zero = self.add(arith.ConstantOp(zero_of(element_of(buffer)))).result
        self.add(FillOp.build(operands=[buffer, zero]))

    def view(
        self, source: SSAValue, layers: Sequence[Layer], hint: str, position: int | None = None
    ) -> SSAValue:
        """`source` seen through layers, topmost first."""
        for i, layer in enumerate(reversed(layers)):
            suffix = "_".join(d.name for d in layer.upper)
            at = position if i == len(layers) - 1 else None
            source = self.add(transform_from_layer(source, layer, f"{hint}_{suffix}", at)).result
        return source

    def loop(self, name: str, start: int, end: int, step: int, body: Callable[[Run, SSAValue], None]) -> None:
        """`scf.for name = start to end step`; nothing where the loop is empty."""
        if start >= end:
            return
        self.loop_between(name, self.index(start), self.index(end), step, body)

    def rolled(self, name: str, count: int, body: Callable[[Run, SSAValue], None], step: int = 1) -> None:
        """A loop from 0 below `count` that is not written out, where a work item's others are."""
        self.loop(name, 0, count, step, body)
        self.ops[-1].attributes[ROLLED] = UnitAttr()

    def loop_between(
        self, name: str, start: SSAValue, end: SSAValue, step: int, body: Callable[[Run, SSAValue], None]
    ) -> None:
        """The same between values that are known when it runs."""
        stride = self.index(step)
        block = Block(arg_types=[IndexType()])
        block.args[0].name_hint = name
        inner = Run(constants=dict(self.constants))
        body(inner, block.args[0])
        block.add_ops([*inner.ops, scf.YieldOp()])
        self.add(scf.ForOp(start, end, stride, [], Region(block)))


@contextmanager
def blaming(op: Operation) -> Generator[None]:
    """What is refused inside, and what breaks there, is so because of `op`: InvalidOp or PassFault."""
    try:
        yield
    except Diagnostic as error:
        raise InvalidOp(op, error.message) from error
    except FAULTS as error:
        raise PassFault(op, error) from error


def rewrite_each(ops: Sequence[Op], rewrite: Callable[[Op, Run], None]) -> None:
    """What `rewrite` emits for each operation takes its place."""
    for op in ops:
        with blaming(op):
            run = Run()
            rewrite(op, run)
            replace_with(op, run.ops)


def require_static(op: Operation, values: Sequence[SSAValue]) -> None:
    """InvalidOp where one of an operation's memref operands has a size `?`."""
    for i, value in enumerate(values):
        if None in shape_of(value):
            raise InvalidOp(op, "sizes are not known here; run 'specialise' first", "type", i)


def replace_with(op: Operation, run: Sequence[Operation], values: Sequence[SSAValue] = ()) -> None:
    """Put operations where `op` stands."""
    insert(run, InsertPoint.before(op), op)
    Rewriter.replace_op(op, [], list(values))


def insert(run: Sequence[Operation], at: InsertPoint, cause: Operation) -> None:
    """Put operations somewhere; those without a location get that of the operation that causes them."""
    for new in run:
        for nested in new.walk():
            if isinstance(nested.location, UnknownLoc):
                nested.location = cause.location
    Rewriter.insert_op(list(run), at)


def properties(values: Mapping[str, Any]) -> dict[str, Attribute]:
    """Plain values as the dialect's attributes; None is left out."""
    return {k: _attribute(v) for k, v in values.items() if v is not None}


def _attribute(value: Any) -> Attribute:
    match value:
        case Attribute():
            return value
        case bool():
            return Bool(value)
        case int():
            return Int(value)
        case float():
            return Float(value)
        case str():
            return Keyword(value)
        case list() | tuple():
            return Ints(tuple(value))  # pyright: ignore[reportUnknownArgumentType]
        case TileSchedule():
            return Scheduled(value)
        case Phases():
            return Phased(value)
        case _ if isinstance(value, get_args(BlockPlan)):
            return Planned(value)
        case _ if isinstance(value, get_args(Multiply)):
            return Multiplied(value)
        case _ if isinstance(value, get_args(Tuning)):
            return Tuned(value)
        case _:
            raise AssertionError(f"no attribute for {value!r}")
