"""The problem: its arrays, what is multiplied, what was chosen."""

from __future__ import annotations

from imbrex.explore.panel import Panel, Table, rows
from imbrex.explore.subject import Subject
from imbrex.problem import problem_text

__all__ = ["problem"]


def problem(subject: Subject) -> Panel:
    """The arrays of the problem and the products that it becomes."""
    of = subject.request.problem
    arrays = [
        (
            o.role,
            " x ".join(map(str, o.shape)),
            " ".join(o.layout),
            str(o.dtype),
            "written" if o.is_written else "read",
        )
        for o in of.operands
    ]
    made = [
        (f"product {n}", p.sizes, "", str(p.context.dtype), "") for n, p in enumerate(subject.products, 1)
    ]
    told = [f"{problem_text(of)}: {of.flops:,} operations on {of.bytes:,} bytes."]
    told.append(f"Chosen: {subject.configuration}.")
    if len(subject.products) > 1:
        told.append("The panels draw the product that has most to multiply.")
    table = Table(("array", "shape", "dimensions", "type", ""), rows(*arrays, *made))
    return Panel("problem", "The problem", tuple(told), table=table)
