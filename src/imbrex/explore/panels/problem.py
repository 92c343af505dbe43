"""The problem: its arrays, what is multiplied, what was chosen."""

from __future__ import annotations

from imbrex.explore.panel import Panel, Table, rows
from imbrex.explore.subject import Subject

__all__ = ["problem"]


def problem(subject: Subject) -> Panel:
    """The arrays of the problem, the products that it becomes, and what follows from the configuration."""
    of = subject.request.problem
    arrays = [
        (
            o.role,
            f"{' x '.join(map(str, o.shape))} ({' '.join(o.layout)}), {o.dtype}, "
            f"{'written' if o.is_written else 'read'}",
        )
        for o in of.operands
    ]
    made = [(f"product {n}", f"{p.sizes}, {p.context.dtype}") for n, p in enumerate(subject.products, 1)]
    sentences = [f"{of.flops:,} operations on {of.bytes:,} bytes, {of.flops / of.bytes:,.1f} a byte."]
    follows = () if subject.product is None else subject.product.derived.items()
    facts = [(name.replace("_", " "), value) for name, value in follows]
    if len(subject.products) > 1:
        sentences.append("The panels draw the product that has most to multiply.")
    algorithm = ("algorithm", subject.configuration.algorithm)
    table = Table(("what", "is"), rows(*arrays, *made, algorithm, *facts))
    return Panel("problem", "The problem", tuple(sentences), table=table)
