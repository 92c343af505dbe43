"""K in parts: every multiplication of a product is in one part, whose sum goes where it belongs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from imbrex.index.map import Map
from imbrex.view.gemm.parts_of_k import PartsOfK
from imbrex.view.gemm.product import GemmView, plain

from ..points import in_order, offsets, products


def added(cut: PartsOfK) -> dict[int, int]:
    """The element of C that each sum of a part goes to."""
    onto = offsets(Map((*cut.written.layers, *cut.whole.c.layers)))
    parts = offsets(cut.read)
    pairs = np.stack(np.broadcast_arrays(parts, onto[:, :, None, :]), axis=-1).reshape(-1, 2)
    assert np.array_equal(pairs[:, 0] < 0, pairs[:, 1] < 0)
    found = {int(of): int(element) for of, element in pairs[pairs[:, 0] >= 0]}
    assert len(found) == np.count_nonzero(pairs[:, 0] >= 0)
    return found


def view(batch: int | None, turned: bool) -> GemmView:
    return plain(5, 6, 21, batch, turned, not turned)


@pytest.mark.parametrize(("parts", "row"), [(2, 4), (3, 4), (5, 1), (21, 1)])
@pytest.mark.parametrize(("batch", "turned"), list(product((None, 2), (False, True))))
def test_parts_add_up_to_the_product(parts: int, row: int, batch: int | None, turned: bool) -> None:
    whole = view(batch, turned)
    cut = PartsOfK(whole, parts, row)
    goes_to, rows = added(cut), products(cut.gemm)
    rows[:, 2] = [goes_to[of] for of in rows[:, 2].tolist()]
    assert np.array_equal(in_order(rows), products(whole))
    assert len(goes_to) == parts * whole.g * whole.m * whole.n
    assert cut.reached == parts and cut.share % row == 0


def test_parts_that_k_does_not_reach_are_told() -> None:
    assert PartsOfK(view(None, False), 5, 2).reached == 4 and PartsOfK(view(None, False), 5, 5).reached == 5
