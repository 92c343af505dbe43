"""unfold: a merge of dims that lie next to one another in memory becomes an unfold.

    transform merge(c, y, x) over passthroughs of a compact [k, c, y, x]   ->   transform unfold(c, y, x)

Both have one law; an unfold says that no carry between the digits is needed, so the merged dim is one stride.
The algebra proves it: when the merged index moves by one, the address moves by the same distance throughout.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from imbrex.index import query
from imbrex.index.map import Dim, Layer, Map, Step
from imbrex.index.rule import Merge, PassThrough
from imbrex.ir.attrs import Layout
from imbrex.ir.chain import map_of
from imbrex.ir.entry import Entry
from imbrex.ir.ops.view import TransformOp
from imbrex.ir.rewrite import blaming
from imbrex.ir.shape import shape_of


@dataclass(frozen=True)
class UnfoldContiguous(ModulePass):
    """See the module's first lines."""

    name = "unfold"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for view in [o for o in op.walk() if isinstance(o, TransformOp)]:
            if None in (*shape_of(view.source), *shape_of(view.result)):
                continue
            with blaming(view):
                entries = tuple(_unfolded(view, entry) for entry in view.layout.data)
                if entries != view.layout.data:
                    view.properties["layout"] = Layout(entries)


def _unfolded(view: TransformOp, entry: Entry) -> Entry:
    if entry.kind != "merge" or not _is_one_stride(view, entry):
        return entry
    return replace(entry, kind="unfold")


def _is_one_stride(view: TransformOp, entry: Entry) -> bool:
    """Is the address linear in the merged index, with no guard that depends on it?"""
    _, below = map_of(view.source)
    above = _only(view.layer, entry)
    whole = above if below is None else above.then(below)
    offset, guards = query.linear(whole)
    name = entry.names[0]
    step = query.pointer_step(offset, name, dict(whole.upper)[name])
    return step.is_constant and not any(g.index.mentions(name) for g in guards)


def _only(layer: Layer, entry: Entry) -> Map:
    """The layer with just this merge; every other lower dim passes through."""
    merged = set(entry.source_names)
    others = [d for d in layer.lower if d.name not in merged]
    upper = [
        Dim(entry.names[0], dict(layer.upper)[entry.names[0]]),
        *(Dim(f"_{d.name}", d.size) for d in others),
    ]
    steps = [Step(Merge(), entry.names, entry.source_names)]
    steps += [Step(PassThrough(), (f"_{d.name}",), (d.name,)) for d in others]
    return Map((Layer(tuple(upper), layer.lower, tuple(steps)),))
