"""Attributes that carry what was chosen, each as the value that it is: no level infers it, or parses text.

    tuning = { kind = "halo", images = 1, rows = 4, .. }        a tuning, see `config.tuning`
    schedule = { mode = "stream_k", workgroups = 7, wgm = 4 }   who computes which tile, see `config.tiles`
    phases = { of = [1, 0, 1], lengths = [8, 16], .. }          what shares tiles, see `view.conv.phase_box`

Laws: `decode` undoes `plain`.  A tuning and phases have all their fields, by name; of a schedule's keys those
that say what is usual are left out.  Errors point at the literal that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields as fields_of
from dataclasses import replace
from typing import Any, Final, TypeVar

from xdsl.ir import Attribute
from xdsl.irdl import irdl_attr_definition
from xdsl.printer import Printer

from imbrex.config import tiles
from imbrex.config import tuning as tunings
from imbrex.config.tiles import TileSchedule
from imbrex.config.tuning import KINDS, Tuning
from imbrex.diagnostic import Diagnostic
from imbrex.ir.attrs import Literal
from imbrex.ir.literal import Node, Plain, boolean, describe, fields, integer, listed, suggest, text
from imbrex.ir.printed import write_line
from imbrex.view.conv.phase_box import PhaseBox, Phases
from imbrex.view.work.streamk import WORDS
from imbrex.view.work.workgroup import ALONG, RasterOrder

__all__ = ["CHOSEN", "Phased", "Scheduled", "Tuned"]

T = TypeVar("T")

_ORDER: Final = {"wgm": "group", "along": "along", "xcd": "xcds", "runtime": "is_runtime"}
"""Keys of a schedule -> fields of the order of tiles."""
_BOX: Final = tuple(f.name for f in fields_of(PhaseBox))


@irdl_attr_definition
class Tuned(Literal[Tuning]):
    """A tuning: that of a product, or the one that its operands are laid out for."""

    name = "miopen.tuning"

    @classmethod
    def decode(cls, node: Node) -> Tuning:
        known = node.value if isinstance(node.value, dict) else ()
        kind = KINDS[_word(fields(node, known, ("kind",), "a tuning")["kind"], KINDS)]
        names = [f.name for f in fields_of(kind)]
        found = fields(node, ("kind", *names), names, f"{tunings.with_article(kind.kind)} tuning")
        given: dict[str, Any] = {name: _field(name, found[name]) for name in names}
        return kind(**given)

    def plain(self) -> Plain:
        return {"kind": self.data.kind, **tunings.values(self.data)}


def _field(name: str, node: Node) -> Any:
    """The value of a field of a tuning."""
    value = node.value
    if not isinstance(value, int | str):
        node.fail(f"expected the {name} of a tuning, got {describe(node)}")
    return _legal(node, lambda: tunings.checked(name, value))


@irdl_attr_definition
class Scheduled(Literal[TileSchedule]):
    """A schedule of tiles, with the number of workgroups that share them."""

    name = "miopen.schedule"

    @classmethod
    def decode(cls, node: Node) -> TileSchedule:
        found = fields(node, ("mode", "workgroups", *_ORDER), ("mode",), "a schedule of tiles")
        mode = _word(found["mode"], WORDS)
        count = integer(found["workgroups"]) if "workgroups" in found else None
        order = RasterOrder()
        for key in (key for key in _ORDER if key in found):
            changed = replace(order, **{_ORDER[key]: _of_order(key, found[key])})
            order = _legal(found[key], lambda changed=changed: tiles.checked(changed))
        said = None if order.is_plain else order
        return _legal(node, lambda: TileSchedule(mode, count, said))  # type: ignore[arg-type]

    def write(self, printer: Printer, compact: bool = False) -> None:
        write_line(printer, self.plain())

    def plain(self) -> Mapping[str, Plain]:
        schedule, usual = self.data, RasterOrder()
        count = {} if schedule.workgroups is None else {"workgroups": schedule.workgroups}
        said = {key: getattr(schedule.order or usual, name) for key, name in _ORDER.items()}
        own = {key: value for key, value in said.items() if value != getattr(usual, _ORDER[key])}
        return {"mode": schedule.mode, **count, **own}


def _of_order(key: str, node: Node) -> Any:
    match key:
        case "along":
            return _word(node, ALONG)
        case "runtime":
            return boolean(node)
        case _:
            return integer(node)


@irdl_attr_definition
class Phased(Literal[Phases]):
    """Phases of a strided gradient that are columns of one product."""

    name = "miopen.phases"

    @classmethod
    def decode(cls, node: Node) -> Phases:
        keys = ("of", *_BOX, "lengths")
        found = fields(node, keys, keys, "phases")
        for key in _BOX:
            if integer(found[key]) < 1:
                found[key].fail(f"'{key}' is positive, got {found[key].value}")
        box = PhaseBox(**{key: integer(found[key]) for key in _BOX})
        of, lengths = (listed(integer)(found[key]) for key in ("of", "lengths"))
        if not of or not 0 <= min(of) <= max(of) < box.count:
            found["of"].fail(f"phases of the parts of K are from 0 to {box.count - 1}, got {list(of)}")
        if not lengths or min(lengths) < 1:
            found["lengths"].fail(f"lengths of parts of K are positive, got {list(lengths)}")
        return Phases(of, box, lengths)

    def write(self, printer: Printer, compact: bool = False) -> None:
        write_line(printer, self.plain())

    def plain(self) -> Mapping[str, Plain]:
        phases = self.data
        return {"of": phases.of, **{key: getattr(phases.box, key) for key in _BOX}, "lengths": phases.lengths}


def _word(node: Node, known: Iterable[str]) -> str:
    """One word of a few."""
    if (word := text(node)) not in known:
        node.fail(f"unknown {node.key.text if node.key else 'word'} '{word}'{suggest(word, known)}")
    return word


def _legal(node: Node, make: Callable[[], T]) -> T:
    """What is made of a literal; what is refused is so at the literal."""
    try:
        return make()
    except Diagnostic as error:
        node.fail(f"{error.message}; {error.hint}" if error.hint else error.message)


CHOSEN: Final[list[type[Attribute]]] = [Tuned, Scheduled, Phased]
