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

from imbrex.ir.attrs import Layout
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
    if entry.kind != "merge" or not view.is_one_stride(entry):
        return entry
    return replace(entry, kind="unfold")
