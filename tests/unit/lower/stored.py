"""What a product by warpgroups stores, in a result whose elements are no numbers before."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.unit.view.memory import Array

from imbrex.lower.warpgroup.pipeline import Pipeline


def store(gemm: Pipeline, result: Array, at: dict[str, Any], sums: Array) -> None:
    """The sums at rows and columns of all of C go to the elements that exist; each is stored once.

    result: flat.  at: the batch, and rows and columns of the shape of `sums`.
    """
    exists = np.ones_like(at["row"], bool)
    for guard in gemm.c.guards:
        x = guard.index.eval(at)
        exists &= (x >= 0) & (x < guard.size)
    offset = np.broadcast_to(gemm.c.offset.eval(at), exists.shape)[exists]
    assert np.isnan(result[offset]).all() and np.unique(offset).size == offset.size, "stored twice"
    result[offset] = sums[exists]
