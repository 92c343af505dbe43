"""Attributes that carry what a plan tells of a workgroup; in the text of an operation their keys are its own.

    miopen.blockwise_gemm(%a, %b, %c) { pipeline = "xdlops", m_per_wave = 32, n_per_wave = 32, .. }

The pipeline that is named, `naive` where none is, decides the kind of the value (`config.block_plan`), and
that decides which keys there are: one that its lowering would not look at is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Generic, Literal, NoReturn, TypeVar, get_args, get_origin

from xdsl.ir import Attribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span

from imbrex.config.block_plan import (
    NAIVE,
    BlockPlan,
    Multiply,
    entries,
    keys_of,
    made,
    pipelines_of,
)
from imbrex.config.tuning import is_pipelined
from imbrex.config.warpgroup.consumers import Tiled
from imbrex.ir import attrs
from imbrex.ir.chosen import Tuned
from imbrex.ir.literal import Node, Plain, integer, listed, suggest, text
from imbrex.ir.source import expect

__all__ = ["PLANNED", "Multiplied", "Planned", "Spread", "verify_entries"]

Payload = TypeVar("Payload", BlockPlan, Multiply)


class Spread(attrs.Literal[Payload], Generic[Payload]):
    """An attribute whose entries stand among the keys of its operation."""

    KINDS: ClassVar[Mapping[str, type[Any]]]
    """Kinds of values by pipeline."""

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """Keys of all kinds."""
        return ("pipeline", *dict.fromkeys(key for kind in cls.KINDS.values() for key in keys_of(kind)))

    @classmethod
    def decode(cls, node: Node) -> Payload:
        given = node.value
        if not isinstance(given, dict):
            node.fail("expected what a workgroup does as a '{ key = value }' dictionary")
        named = given.get("pipeline")
        pipeline = NAIVE if named is None else text(named)
        if pipeline not in cls.KINDS:
            assert named is not None, "the usual one is known"
            named.fail(f"unknown pipeline '{pipeline}'{suggest(pipeline, cls.KINDS)}")
        keys = keys_of(cls.KINDS[pipeline])
        for key in given:
            if key not in ("pipeline", *keys):
                cls._unread(key, given[key], pipeline)
        for key in (name for name, key in keys.items() if key.is_needed and name not in given):
            brace = Span(node.span.start, node.span.start + 1, node.span.input)
            raise ParseError(brace, f"'{key}' is needed by the pipeline '{pipeline}'")
        values = {key: _read(keys[key].type, node) for key, node in given.items() if key in keys}
        return made(cls.KINDS[pipeline], pipeline, values)

    @classmethod
    def _unread(cls, key: str, node: Node, pipeline: str) -> NoReturn:
        readers = [f"'{name}'" for name, kind in cls.KINDS.items() if key in keys_of(kind)]
        if not readers:
            raise ParseError(node.key or node.span, f"unknown key '{key}'{suggest(key, cls.known())}")
        node.fail(f"'{key}' is for {', '.join(readers)}; the pipeline '{pipeline}' does not read it")

    def plain(self) -> Mapping[str, Plain]:
        return {key: _plain(value) for key, value in entries(self.data).items()}


def _by_pipeline(kinds: Any) -> dict[str, type[Any]]:
    return {name: kind for kind in get_args(kinds) for name in pipelines_of(kind)}


@irdl_attr_definition
class Planned(Spread[BlockPlan]):
    """All that a workgroup of a gridwise product does with its tile."""

    name = "miopen.block_plan"
    KINDS = _by_pipeline(BlockPlan)


@irdl_attr_definition
class Multiplied(Spread[Multiply]):
    """How a workgroup multiplies its tile."""

    name = "miopen.multiply"
    KINDS = _by_pipeline(Multiply)


def verify_entries(value: BlockPlan | Multiply) -> None:
    """Numbers are positive, those of a dim are a dim, widths powers of two; lengths are two."""
    for key, given in entries(value).items():
        match given:
            case int() if key.endswith("_dim"):
                last = 3 if key.startswith("matrix_c") else 1
                expect(0 <= given <= last, f"'{key}' is from 0 to {last}, got {given}", key)
            case int():
                expect(given > 0, f"'{key}' is positive, got {given}", key)
                is_power = "data_per" not in key or given & (given - 1) == 0
                expect(is_power, f"'{key}' is a power of two, got {given}", key)
            case tuple() if key.endswith("_lengths"):
                said = f"'{key}' takes two positive lengths, along k first; got {list(given)}"
                expect(len(given) == 2 and min(given) > 0, said, key)
            case _:
                pass


def _read(of: Any, node: Node) -> Any:
    """The value of a key of some type."""
    if get_origin(of) is Literal:
        if (word := text(node)) not in get_args(of):
            what = node.key.text if node.key else "word"
            node.fail(f"unknown {what} '{word}'{suggest(word, get_args(of))}")
        return word
    if of is Tiled:
        found = Tuned.decode(node)
        if not is_pipelined(found):
            (node.find(("kind",)) or node).fail(f"warpgroups have no {found.kind} tuning")
        return found
    if get_origin(of) is tuple:
        return listed(integer)(node)
    return text(node) if of is str else integer(node)


def _plain(value: Any) -> Plain:
    return Tuned(value).plain() if is_pipelined(value) else value


PLANNED: Final[list[type[Attribute]]] = [Planned, Multiplied]
