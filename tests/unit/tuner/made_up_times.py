"""Made-up processes of `imbrex.tuner.times`, whose functions another process can import."""

from __future__ import annotations

import os
import time

from imbrex.tuner.times import Prepared, Product, Timed


def prepared(product: Product) -> Prepared:
    """Stands for a process that compiles; the number of configurations says what it does."""
    if product.count == 0:
        raise ValueError("no configuration")
    if product.count > 1000:
        time.sleep(60)
    return Prepared(product, tuple(f"{us}" for us in range(1, product.count + 1)), {"0": "not legal"})


def timed(found: Prepared) -> Timed:
    """Stands for the process that has the GPU, and says how many it had; the third configuration ends it."""
    if "3" in found.configurations:
        os._exit(3)
    refused = found.refused | {"together": str(len(found.configurations))}
    return Timed(found.product, {us: float(us) for us in found.configurations}, refused)
