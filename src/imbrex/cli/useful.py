"""How much of what matrix instructions compute a problem asks for, where it is little: tiles overhang it."""

from __future__ import annotations

from typing import Final

from imbrex.chip import GPU_MACHINES
from imbrex.config import configuration
from imbrex.config.algorithm.product import Products
from imbrex.config.products import products
from imbrex.config.xdlops.plan import XdlopsPlan, XdlopsTuning
from imbrex.kernel import Kernel

__all__ = ["useful_rows"]

LITTLE: Final = 1 / 4
"""Share of useful multiply-adds below which something is said."""


def useful_rows(kernel: Kernel) -> list[tuple[str, str]]:
    """A row for each product of waves of which less than a quarter is useful."""
    machine = GPU_MACHINES.get(kernel.target.chip or "")
    if machine is None or not machine.has_mfma or kernel.problem.run_time is not None:
        return []
    found = configuration.parse(kernel.configuration)
    made = products(kernel.problem, found, machine)
    if not isinstance(made, Products):
        return []
    pairs = zip(found.products, made.products, strict=True)
    plans = [
        tuned.tuning.plan(product.context, machine)
        for tuned, product in pairs
        if isinstance(tuned.tuning, XdlopsTuning)
    ]
    return list(dict.fromkeys(("warning", _text(plan)) for plan in plans if plan.useful < LITTLE))


def _text(plan: XdlopsPlan) -> str:
    m, n, k = plan.tuning.tile
    sizes = f"{plan.context.m} x {plan.context.n} x {plan.context.k}"
    return f"{plan.useful:.1%} of the matrix work is useful: tiles of {m} x {n} x {k} for products of {sizes}"
