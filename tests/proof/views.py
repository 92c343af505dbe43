"""Views of the kernels' kind, at the sizes of real layers: constructed here, and those of `imbrex.view`."""

from __future__ import annotations

from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Embed, Merge, Pad, PassThrough, Rule, Slice, Sunder, Unmerge
from imbrex.view.conv import implicit_gemm
from imbrex.view.conv.implicit_gemm import Convolution
from imbrex.view.gemm.product import GemmView
from imbrex.view.work import workgroup

P = PassThrough()


def _dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(n, s) for n, s in sizes.items())


def _window(
    layout: str,
    n: int,
    c: int,
    image: tuple[int, int],
    window: tuple[int, int],
    *,
    pad: tuple[int, int],
    stride: int = 1,
    dil: int = 1,
) -> Map:
    """(n c y ho x wo) of an image: the part that all three directions share."""
    sizes = {"n": n, "c": c, "h": image[0], "w": image[1]}
    stored = tuple(Dim(d, sizes[d]) for d in layout)
    ho, wo = ((s + sum(pad) - dil * (k - 1) - 1) // stride + 1 for s, k in zip(image, window, strict=True))
    padded = layer_over(stored, *((Pad(*pad), f"{d}p", d) if d in "hw" else (P, d, d) for d in layout))
    slid = layer_over(
        padded.upper, (P, "n", "n"), (P, "c", "c"),
        (Embed((dil, stride)), "y ho", "hp"), (Embed((dil, stride)), "x wo", "wp"),
        y=window[0], x=window[1], ho=ho, wo=wo,
    )  # fmt: skip
    return Map((slid, padded))


def _over(map: Map, *entries: tuple[Rule, str, str], **sizes: int) -> Map:
    return Map((layer_over(map.upper, *entries, **sizes),)).then(map)


def _v4r1(h: int, n: int, phase: int, y: int = 3, stride: int = 2, pad: int = 1) -> Map:
    """Backward data v4r1 in one spatial dim: the input that phase `phase` of the window writes."""
    ho = (h + 2 * pad - y) // stride + 1
    reach = ho + -(-(y - 1) // stride)
    left, right = max(0, pad - (stride - 1)) // stride, min(reach, -(-(pad + h - 1) // stride) + 1)
    before = pad
    after = max(0, stride - 1 + stride * (reach - 1) + 1 - (h + pad))
    padded = layer_over(_dims(n=n, h=h), (P, "n", "n"), (Pad(before, after), "hp", "h"))
    slid = layer_over(padded.upper, (P, "n", "n"), (Embed((1, stride)), "yt ht", "hp"), yt=stride, ht=reach)
    cut = layer_over(
        slid.upper, (P, "n", "n"), (Slice(phase, phase + 1), "yt", "yt"), (Slice(left, right), "ht", "ht")
    )
    return Map((layer_over(cut.upper, (P, "y", "yt"), (Merge(), "gemm_n", "n ht")), cut, slid, padded))


def _constructed() -> dict[str, Map]:
    resnet = _window("nchw", 4, 64, (56, 56), (3, 3), pad=(1, 1))
    strided = _window("nhwc", 4, 32, (28, 28), (3, 3), pad=(1, 1), stride=2)
    lopsided = _window("cnhw", 2, 8, (9, 11), (3, 2), pad=(0, 2), dil=2)
    forward = ((Merge(), "gemm_k", "c y x"), (Merge(), "gemm_n", "n ho wo"))
    by_row = ((Merge(), "gemm_k", "y x c"), (Merge(), "gemm_n", "n ho wo"))
    edge = layer_over(_dims(k=75, m=100), (Pad(0, 5), "k", "k"), (Pad(0, 28), "m", "m"))
    tiled = layer_over(
        edge.upper, (Unmerge(), "kt ki", "k"), (Unmerge(), "wg mi", "m"), kt=10, ki=8, wg=4, mi=32
    )
    two_tile = layer_over(_dims(tile=60), (Sunder(), "sk dp s", "tile"), sk=28, dp=32, s=2)
    return {
        "forward NCHW": _over(resnet, *forward),
        "forward NHWC stride 2": _over(strided, *by_row),
        "forward CNHW dilated, pads 0 and 2": _over(lopsided, *forward),
        "forward NCHW, tiled": _over(
            _over(resnet, *forward), (Unmerge(), "kt ki", "gemm_k"), (Unmerge(), "wg ni", "gemm_n"),
            kt=72, ki=8, wg=98, ni=128,
        ),
        "backward data v1r1": _over(strided, (Merge(), "gemm_m", "c y x"), (Merge(), "gemm_n", "n ho wo")),
        "backward data v4r1, phase 0": _v4r1(56, 4, 0),
        "backward data v4r1, phase 1": _v4r1(56, 4, 1),
        "backward weight": _over(lopsided, (Merge(), "gemm_n", "c y x"), (Merge(), "gemm_k", "n ho wo")),
        "gemm under tiles that overhang": Map((tiled, edge)),
        "two pieces of tiles": _over(
            Map((two_tile,)), (Unmerge(), "p q", "sk"), (P, "dp", "dp"), (P, "s", "s"), p=4, q=7
        ).then(Map((layer_over(_dims(m=5, n=12), (Merge(), "tile", "m n")),))),
    }  # fmt: skip


def scatter(window: int, stride: int, dilation: int) -> Map:
    """Backward data v1r1 in both dims of 112x112 pixels: where each product is added."""
    image = _window("nchw", 2, 8, (112, 112), (window, window), pad=(1, 1), stride=stride, dil=dilation)
    return _over(image, (Merge(), "gemm_m", "c y x"), (Merge(), "gemm_n", "n ho wo"))


def _layer(stride: int, dil: int, groups: int = 1) -> Convolution:
    """A 3x3 layer of ResNet-50 on 56x56 pixels, padded unevenly, NHWC."""
    g = _dims(g=groups) if groups > 1 else ()
    out = [(56 + pads - dil * 2 - 1) // stride + 1 for pads in (2, 3)]
    return Convolution(
        filter=(*g, *_dims(k=64, y=3, x=3, c=64)),
        input=(*_dims(n=4, hi=56, wi=56), *g, *_dims(c=64)),
        output=(*_dims(n=4, ho=out[0], wo=out[1]), *g, *_dims(k=64)),
        strides=(stride, stride),
        dilations=(dil, dil),
        padding=((1, 1), (1, 2)),
    )


def _operands(what: str, *gemms: GemmView) -> dict[str, Map]:
    return {
        f"{what} {i} {role}".replace(" 0 ", " "): map
        for i, gemm in enumerate(gemms)
        for role, map in (("A", gemm.a), ("B", gemm.b), ("C", gemm.c))
    }


CONSTRUCTED = _constructed()
PHASES = implicit_gemm.backward_data_v4r1(_layer(2, 1))
OF_KERNELS = {
    **_operands("forward", implicit_gemm.forward(_layer(1, 1))),
    **_operands("forward, stride 2, two groups,", implicit_gemm.forward(_layer(2, 1, groups=2))),
    **_operands("backward weight", implicit_gemm.backward_weight(_layer(2, 1))),
    **_operands("backward data v1r1", implicit_gemm.backward_data_v1r1(_layer(2, 1))),
    **_operands("backward data v4r1, phase", *PHASES),
    **_operands("backward data v4r1, dilated,", *implicit_gemm.backward_data_v4r1(_layer(3, 2))[:2]),
}
OF_WORKGROUPS = {
    "grouped tiles, ragged": workgroup.grouped(13, 7, 4),
    "grouped tiles along n": workgroup.grouped(12, 9, 4, "n"),
    "tiles on 8 XCDs": workgroup.raster_order(13, 7, 5, xcds=8),
    "the way back from grouped tiles": workgroup.grouped(5, 11, 2).inverse(),
    "workgroups on 8 XCDs": workgroup.xcd(443, 8),
}
VIEWS = CONSTRUCTED | OF_KERNELS | OF_WORKGROUPS
