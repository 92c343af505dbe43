"""transform: another view of a buffer's elements; no element moves.

Each coordinate tuple of the result names one coordinate tuple of the source, by the entries of `layout`
(see `imbrex.ir.entry`).  Every result dimension is in one entry, and so is every source dimension.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import is_
from typing import ClassVar, Final, NamedTuple, TypeAlias

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from imbrex.index import query
from imbrex.index import rule as rules
from imbrex.index.map import Dim, Layer, Map, Step
from imbrex.index.rule import Rule
from imbrex.ir.attrs import Int, Layout, Names
from imbrex.ir.entry import Entry, spelled
from imbrex.ir.ops.finish import FinishOp
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.shape import Shape, Size, agree, element_of, memref, shape_of, shape_text, space_of
from imbrex.ir.source import InvalidField, expect
from imbrex.numeral import counted
from imbrex.problem.layout import DIMENSIONS

PROBLEM_DIMS: Final = {"g", *(name for names in DIMENSIONS.values() for name in names)}


class Side(NamedTuple):
    """One end of a transform: where its names and numbers stand in an entry, and what they should be."""

    what: str
    numbers: str
    words: str
    list_key: str
    names: tuple[str, ...]


@irdl_op_definition
class TransformOp(MiopenOp):
    """The view `result` of `source`."""

    name = "miopen.transform"
    source = operand_def(MemRefType)
    result = result_def(MemRefType)
    gridwise_gemm_argument_position = opt_prop_def(Int)
    layout = prop_def(Layout)
    intermediate_layout = opt_prop_def(Names)
    output_layout = prop_def(Names)
    source_layout = opt_prop_def(Names)
    traits = traits_def(Pure())
    INFERRED: ClassVar[tuple[str, ...]] = ("output_layout",)

    @classmethod
    def infer(cls, properties: dict[str, Attribute], operands: Mapping[str, Sequence[SSAValue]]) -> None:
        """The compact form lists no names beside the entries': derive the lists."""
        layout = properties.get("layout")
        assert isinstance(layout, Layout)
        if "output_layout" not in properties:
            properties["output_layout"] = Names(_ordered((e.dimensions, e.names) for e in layout.data))
        if not {"source_layout", "intermediate_layout"} & properties.keys():
            names = _ordered((e.source_dimensions, e.source_names) for e in layout.data)
            source = operands["source"][0]
            view = source.owner if isinstance(source, OpResult) else None
            if isinstance(view, TransformOp):
                properties["intermediate_layout"] = view.output_layout
            else:
                properties["source_layout"] = Names(names)

    def printed_keys(self, compact: bool) -> Sequence[str]:
        return ("gridwise_gemm_argument_position", "layout") if compact else super().printed_keys(compact)

    @property
    def source_names(self) -> tuple[str, ...]:
        """Names of the source's dimensions, outermost first."""
        names = self.source_layout or self.intermediate_layout
        return names.data if names else ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the result's dimensions, outermost first."""
        return self.output_layout.data

    @property
    def layer(self) -> Layer:
        """This view as a layer of the index algebra; ValueError while a size is `?`.

        Kept while what it is made of is the same: attributes and types never change, they are replaced.
        """
        made_of = (*self.properties.values(), self.operands[0].type, self.results[0].type)
        kept = vars(self).get("_kept_layer")
        if kept is not None and len(kept[0]) == len(made_of) and all(map(is_, kept[0], made_of)):
            return kept[1]
        names, source_names = self.names, self.source_names
        layer = _layer(self.layout.data, names, shape_of(self.result), source_names, self.most_sizes)
        vars(self)["_kept_layer"] = made_of, layer
        return layer

    @property
    def most_sizes(self) -> Shape:
        """Sizes of the source; of a dimension of which a prefix exists, the greatest."""
        sizes = shape_of(self.source)
        if None not in sizes:
            return sizes
        made = dict(zip(self.names, shape_of(self.result), strict=True))
        prefixes = {e.source_names[0]: made[e.names[0]] for e in self.layout.data if e.kind == "prefix"}
        named = zip(self.source_names, sizes, strict=True)
        return tuple(prefixes.get(name) if size is None else size for name, size in named)

    def verify_(self) -> None:
        given = (self.source_layout is not None) + (self.intermediate_layout is not None)
        expect(given == 1, "give one of 'source_layout' and 'intermediate_layout'")
        source_key = "source_layout" if self.source_layout else "intermediate_layout"
        source = Side("source", "source_dimensions", "source_names", source_key, self.source_names)
        result = Side("result", "dimensions", "names", "output_layout", self.names)
        owner = self.source.owner
        if isinstance(owner, TransformOp) and owner.names != source.names:
            said, made = ", ".join(source.names), ", ".join(owner.names)
            raise InvalidField(f"the source's dimensions are {made}, not {said}", source_key)
        for side in (source, result):
            self._verify_names(side)
        self._verify_rank("source", source.names, shape_of(self.source), ("type", 0))
        self._verify_rank("result", result.names, shape_of(self.result), ("result", 0))
        position = self.gridwise_gemm_argument_position
        if position is not None:
            key = "gridwise_gemm_argument_position"
            expect(0 <= position.data <= 2, f"an argument position is 0, 1 or 2, got {position.data}", key)
        if (element := element_of(self.source)) != element_of(self.result):
            raise InvalidField(f"a view keeps its element type {element}", "result", 0)
        expect(space_of(self.source) == space_of(self.result), "a view keeps its memory space", "result", 0)
        self._verify_sizes()

    def _verify_names(self, side: Side) -> None:
        seen: dict[int, str] = {}
        for at, entry in enumerate(self.layout.data):
            numbers, words = getattr(entry, side.numbers), getattr(entry, side.words)
            for i, (number, name) in enumerate(zip(numbers, words, strict=True)):
                self._verify_name(side, at, i, number, name)
                message = f"{side.what} dimension {number}, '{name}', is in two transformations"
                expect(number not in seen, message, "layout", at, side.numbers, i)
                seen[number] = name
        left = [n for d, n in enumerate(side.names) if d not in seen]
        if left:
            raise InvalidField(f"{side.what} dimension '{left[0]}' is in no transformation", side.list_key)

    def _verify_name(self, side: Side, at: int, i: int, number: int, name: str) -> None:
        """The name and the number of a dimension must agree with the list of names: blame the odd one out."""
        names = side.names
        if 0 <= number < len(names) and names[number] == name:
            return
        if name in names:
            position = names.index(name)
            message = f"'{name}' is {side.what} dimension {position}, not {number}; write {position}"
            raise InvalidField(message, "layout", at, side.numbers, i)
        if not 0 <= number < len(names):
            message = f"{side.what} dimension {number} does not exist: {side.list_key} names {len(names)}"
            raise InvalidField(message, "layout", at, side.numbers, i)
        listed = names[number]
        if name in PROBLEM_DIMS and listed not in PROBLEM_DIMS:
            message = f"'{side.list_key}' calls {side.what} dimension {number} '{listed}'; write '{name}'"
            raise InvalidField(message, side.list_key, number)
        message = f"{side.what} dimension {number} is '{listed}', not '{name}'; write '{listed}'"
        raise InvalidField(message, "layout", at, side.words, i)

    def _verify_rank(self, what: str, names: tuple[str, ...], shape: Shape, path: tuple[str, int]) -> None:
        if len(shape) == len(names):
            return
        want = "".join(f"{shape_text([s])}x" for s in [*shape, *[None] * len(names)][: len(names)])
        named = counted(len(names), "dimension is", "dimensions are")
        names_text = ", ".join(names) or "none"
        message = (
            f"the {what} type has rank {len(shape)} but {named} named: {names_text};"
            f" write memref<{want}{element_of(self.result)}>"
        )
        raise InvalidField(message, *path)

    def _verify_sizes(self) -> None:
        """Sizes that are known must obey each entry's rule."""
        upper = dict(zip(self.names, shape_of(self.result), strict=True))
        lower = dict(zip(self.source_names, shape_of(self.source), strict=True))
        for at, entry in enumerate(self.layout.data):
            u, low = [upper[n] for n in entry.names], [lower[n] for n in entry.source_names]
            if entry.kind == "prefix":
                self._verify_prefix(at, entry, u[0], low[0])
                low = u
            known_u, known_l = [s for s in u if s is not None], [s for s in low if s is not None]
            if len(known_l) != len(low):
                continue
            made = rules.upper_sizes(entry.rule, known_l)
            for name, have, want in zip(entry.names, u, made or u, strict=True):
                of = "*".join(map(str, known_l))
                message = f"'{name}' has size {have}, but '{entry.kind}' of size {of} makes {want}"
                expect(agree(have, want), message, "result", 0)
            flaw = rules.flaw(entry.rule, known_u, known_l) if len(known_u) == len(u) else None
            said = (flaw or "").replace("upper", "result").replace("lower", "source")
            expect(flaw is None, f"'{entry.kind}' {said}", "layout", at, "parameters")
        if None not in (*upper.values(), *lower.values()):
            self._verify_unfolds()

    def _verify_prefix(self, at: int, entry: Entry, most: Size, size: Size) -> None:
        """A prefix is of a size that is known when a kernel runs; the greatest is known before."""
        name, source = entry.names[0], entry.source_names[0]
        message = f"'prefix' is of a size '?', and '{source}' has size {size}; write 'passthrough'"
        expect(size is None, message, "layout", at, "transformation")
        expect(most is not None, f"'{name}' is the greatest size of a prefix: write a number", "result", 0)

    def _verify_unfolds(self) -> None:
        """An unfold is of dims that are one stride in memory."""
        for at, entry in enumerate(self.layout.data):
            if entry.kind == "unfold" and not self.is_one_stride(entry):
                names = ", ".join(entry.source_names)
                message = f"{names} are not next to one another in memory; write 'merge'"
                raise InvalidField(message, "layout", at, "transformation")

    def is_one_stride(self, entry: Entry) -> bool:
        """Is the address linear in the entry's one dimension, with no guard that depends on it?"""
        layers, value = [self.layer], self.source
        while isinstance(owner := value.owner, TransformOp | FinishOp):
            if isinstance(owner, TransformOp):
                layers.append(owner.layer)
            value = owner.source
        return _is_one_stride(entry.names[0], entry.source_names, tuple(layers))


@lru_cache(maxsize=4096)
def _is_one_stride(name: str, digits: tuple[str, ...], layers: tuple[Layer, ...]) -> bool:
    """The same of the dimension that the first of the layers merges of these: every level asks it again."""
    whole = Map((_only(layers[0], name, digits), *layers[1:]))
    offset, guards = query.linear(whole)
    step = query.pointer_step(offset, name, dict(whole.upper)[name])
    return step.is_constant and not any(g.index.mentions(name) for g in guards)


def _only(layer: Layer, name: str, digits: tuple[str, ...]) -> Layer:
    """The layer with just the merge of these digits; every other lower dim passes through."""
    others = [d for d in layer.lower if d.name not in digits]
    upper = [Dim(name, dict(layer.upper)[name]), *(Dim(f"_{d.name}", d.size) for d in others)]
    steps = [Step(rules.Merge(), (name,), digits)]
    steps += [Step(rules.PassThrough(), (f"_{d.name}",), (d.name,)) for d in others]
    return Layer(tuple(upper), layer.lower, tuple(steps))


Part: TypeAlias = tuple[Rule, Sequence[tuple[str, Size]], Sequence[str]]
"""A rule, the names and sizes of the result dimensions it makes, and the names of its source dimensions."""


def transform(
    source: SSAValue,
    parts: Sequence[Part],
    *,
    order: Sequence[str] | None = None,
    source_names: Sequence[str] | None = None,
    hint: str | None = None,
    position: int | None = None,
) -> TransformOp:
    """A transform of `source`, not yet inserted; sizes may be None.

    order: names of the result's dimensions; by default in the order of the parts.
    source_names: names of the source's dimensions; a source that is itself a transform has its own.
    """
    owner = source.owner
    below = owner.names if isinstance(owner, TransformOp) else tuple(source_names or ())
    above = {name: size for _, upper, _ in parts for name, size in upper}
    names = tuple(order if order is not None else above)
    entries: list[Entry] = []
    for rule, upper, lower in parts:
        kind, parameters = spelled(rule)
        made = tuple(name for name, _ in upper)
        numbers, source_numbers = map(names.index, made), map(below.index, lower)
        entries.append(Entry(kind, tuple(numbers), made, tuple(source_numbers), tuple(lower), parameters))
    list_key = "intermediate_layout" if isinstance(owner, TransformOp) else "source_layout"
    properties: dict[str, Attribute] = {
        "layout": Layout(tuple(entries)),
        "output_layout": Names(names),
        list_key: Names(below),
    }
    if position is not None:
        properties["gridwise_gemm_argument_position"] = Int(position)
    ty = memref(element_of(source), [above[n] for n in names], space_of(source))
    op = TransformOp.build(operands=[source], result_types=[ty], properties=properties)
    op.result.name_hint = hint
    return op


def transform_from_layer(
    source: SSAValue, layer: Layer, hint: str | None = None, position: int | None = None
) -> TransformOp:
    """The transform, not yet inserted, whose `layer` has these sizes and rules.

    A source that is itself a transform keeps its own names: the layer's lower names count by position.
    """
    owner = source.owner
    own = [d.name for d in layer.lower]
    names = dict(zip(own, owner.names if isinstance(owner, TransformOp) else own, strict=True))
    sizes = dict(layer.upper)
    parts: list[Part] = [
        (step.rule, [(n, sizes[n]) for n in step.upper], [names[n] for n in step.lower])
        for step in layer.steps
    ]
    order = [d.name for d in layer.upper]
    return transform(source, parts, order=order, source_names=own, hint=hint, position=position)


@lru_cache(maxsize=4096)
def _layer(
    entries: tuple[Entry, ...],
    names: tuple[str, ...],
    sizes: Shape,
    source_names: tuple[str, ...],
    most: Shape,
) -> Layer:
    """The layer of a view; that of views that every level of the IR repeats is made and checked once."""
    steps = tuple(Step(e.rule, e.names, e.source_names) for e in entries)
    return Layer(_dims(names, sizes), _dims(source_names, most), steps)


def _dims(names: Sequence[str], shape: Shape) -> tuple[Dim, ...]:
    known = [s for s in shape if s is not None]
    if len(known) != len(shape):
        raise ValueError(f"sizes are not known: {shape_text(shape)}")
    return tuple(Dim(n, s) for n, s in zip(names, known, strict=True))


def _ordered(numbered: Iterable[tuple[Sequence[int], Sequence[str]]]) -> tuple[str, ...]:
    """Names sorted by their dimension numbers; the first name of a number counts."""
    found: dict[int, str] = {}
    for numbers, names in numbered:
        for number, name in zip(numbers, names, strict=True):
            found.setdefault(number, name)
    return tuple(found[n] for n in sorted(found))
