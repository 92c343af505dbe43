"""Convolutions for the tests of schedules, as named dims."""

from imbrex.index.map import Dim
from imbrex.view.conv.implicit_gemm import Convolution


def convolution(
    *,
    n: int,
    c: int,
    h: int,
    w: int,
    k: int,
    y: int,
    x: int,
    pad: int = 0,
    stride: int = 1,
    dilation: int = 1,
    layouts: tuple[str, str, str] = ("k c y x", "n c hi wi", "n k ho wo"),
) -> Convolution:
    """Layouts are those of filter, input and output."""
    ho = (h + 2 * pad - dilation * (y - 1) - 1) // stride + 1
    wo = (w + 2 * pad - dilation * (x - 1) - 1) // stride + 1
    sizes = {"n": n, "c": c, "k": k, "y": y, "x": x, "hi": h, "wi": w, "ho": ho, "wo": wo}
    arrays = [tuple(Dim(name, sizes[name]) for name in layout.split()) for layout in layouts]
    return Convolution(*arrays, (stride, stride), (dilation, dilation), ((pad, pad), (pad, pad)))


def grouped(*, n: int, g: int, c: int, size: int, k: int, taps: int = 3) -> Convolution:
    """Square images with channels last, as large as their result.  c, k: of a group.  g: 0 for no groups."""
    pad = (taps - 1) // 2

    def dims(names: str) -> tuple[Dim, ...]:
        sizes = {"n": n, "g": g, "c": c, "k": k, "y": taps, "x": taps}
        return tuple(Dim(name, sizes.get(name, size)) for name in names.split() if sizes.get(name, size))

    arrays = [dims("g k y x c"), dims("n hi wi g c"), dims("n ho wo g k")]
    return Convolution(*arrays, (1, 1), (1, 1), ((pad, pad), (pad, pad)))
