"""WeightRaster: over all shares, the products are those of backward weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from imbrex.index.map import Dim, Map
from imbrex.view.conv.implicit_gemm import Convolution, backward_weight
from imbrex.view.conv.weight_raster import WeightRaster

Array = npt.NDArray[Any]


def dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(name, size) for name, size in sizes.items() if size)


def layer(
    n: int, h: int, w: int, k: int, c: int, g: int = 0, window: tuple[int, int] = (3, 3), pad: int = 1,
    dilation: int = 1,
) -> Convolution:  # fmt: skip
    ho, wo = (size + 2 * pad - dilation * (t - 1) for size, t in zip((h, w), window, strict=True))
    return Convolution(
        dims(g=g, k=k, y=window[0], x=window[1], c=c),
        dims(n=n, hi=h, wi=w, g=g, c=c),
        dims(n=n, ho=ho, wo=wo, g=g, k=k),
        (1, 1), (dilation, dilation), ((pad, pad), (pad, pad)),
    )  # fmt: skip


def seen(map: Map, data: Array) -> Array:
    """The matrix that a map shows of an array, zeros where there is nothing."""
    sizes = [d.size for d in map.upper]
    coords, exists = map.evaluate(np.indices(sizes))
    inside = tuple(np.clip(x, 0, d.size - 1) for x, d in zip(coords, map.lower, strict=True))
    return np.where(exists, data[inside], 0)


def stored(map: Map, values: Array) -> Array:
    """The array that a matrix is stored to; each element once."""
    found = np.full([d.size for d in map.lower], np.nan)
    coords, exists = map.evaluate(np.indices(values.shape))
    where = tuple(np.broadcast_to(x, values.shape)[np.broadcast_to(exists, values.shape)] for x in coords)
    assert len(set(zip(*(x.tolist() for x in where), strict=True))) == where[0].size
    found[where] = values[np.broadcast_to(exists, values.shape)]
    return found


CASES = [
    WeightRaster(layer(3, 5, 6, 4, 4, g=2), 2, 8, 2, 4),
    WeightRaster(layer(3, 5, 6, 4, 4, g=2), 6, 8, 4, 1),
    WeightRaster(layer(5, 4, 3, 2, 3), 4, 4, 3, 3),
    WeightRaster(layer(2, 7, 5, 2, 2, window=(1, 3)), 3, 6, 1, 5),
    WeightRaster(layer(2, 7, 5, 2, 2, pad=0), 2, 5, 2, 7),
    WeightRaster(layer(1, 6, 6, 2, 2, dilation=2), 1, 9, 2, 2),
    WeightRaster(layer(5, 5, 6, 4, 4, g=2), 2, 8, 2, 2, streams=2),
    WeightRaster(layer(3, 4, 3, 2, 3), 4, 4, 3, 3, streams=1),
]


def computed(raster: WeightRaster) -> tuple[Array, Array]:
    """The sums of each share, and the gradient."""
    rng = np.random.default_rng(0)
    conv = raster.conv
    output, image = (rng.integers(-3, 4, [d.size for d in array]) for array in (conv.output, conv.input))
    view, plain = raster.view, backward_weight(conv, taps_first=True)
    products = np.einsum("gkm,gkn->gmn", seen(view.a, output), seen(view.b, image))
    whole = np.einsum("...km,...kn->...mn", seen(plain.a, output), seen(plain.b, image))
    return stored(view.c, products), stored(plain.c, whole)


@pytest.mark.parametrize("raster", CASES, ids=str)
def test_shares_add_up_to_the_gradient(raster: WeightRaster) -> None:
    shares, gradient = computed(raster)
    assert np.array_equal(shares.sum(axis=0), gradient)


@pytest.mark.parametrize("raster", CASES, ids=str)
def test_a_share_is_whole_tiles(raster: WeightRaster) -> None:
    pixels = raster.rows * raster.line
    assert dict(raster.view.a.upper)["gemmK"] == raster.steps * pixels
    assert raster.view.c.lower[0] == Dim("share", raster.shares)


def test_no_share_is_all() -> None:
    """The control."""
    shares, gradient = computed(CASES[0])
    assert not np.array_equal(shares[1:].sum(axis=0), gradient)
