"""The sets of the speed table: the same sizes on every machine, every prefix a sample, no problem twice."""

from __future__ import annotations

import hashlib

import pytest

from imbrex.bench.corpus import COUNT, corpus, sample
from imbrex.bench.gpu.lot import KINDS, lot
from imbrex.bench.gpu.sets import SETS, chosen
from imbrex.bench.resnet import LAYERS, conv
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Conv2d, Gemm

LOT = "ea4fe381175a3caee1f31fce4b6ee9b84eca5fe23acd64b1396451e311896420"
DRAWN = "fd1d0e900833ffdc5f50fa532d1433a75142b41c6341d8bf6d9d73e53ed1f9ae"


@pytest.mark.parametrize(
    ("multiple", "digest"),
    [
        (1, "a86b3a76a189a5559199a8183447af078d620acd3b9581b40b45e4eb454fd79c"),
        (8, "6c02dcf38525ee4fee2e57b78857c39e1ed152077af231a0d740cce81eb7caee"),
    ],
)
def test_the_corpus_is_the_one_that_others_draw(multiple: int, digest: str) -> None:
    lines = "".join(f"{m} {n} {k}\n" for m, n, k in corpus(multiple))
    assert hashlib.sha256(lines.encode()).hexdigest() == digest


def test_a_sample_spans_the_corpus() -> None:
    volumes = [m * n * k for m, n, k in sample(24)]
    assert sorted(volumes) == volumes
    ordered = sorted(m * n * k for m, n, k in corpus())
    assert volumes[0] < ordered[COUNT // 20] and volumes[-1] > ordered[-COUNT // 20]


def test_resnet_50() -> None:
    assert (len(LAYERS), sum(layer.count for layer in LAYERS)) == (23, 53)
    flops = sum(layer.count * conv(layer, "forward", "nhwc", batch=1).flops for layer in LAYERS)
    assert flops == pytest.approx(2 * 4.09e9, rel=0.01), "the network is known to take 4.09 GMAC an image"


def test_sets_take_turns_and_hold_no_problem_twice() -> None:
    entries = chosen()
    assert [entry.set for entry in entries[: len(SETS)]] == list(SETS)
    assert len({(entry.set, entry.name) for entry in entries}) == len(entries)
    assert len({(entry.set, entry.problem) for entry in entries}) == len(entries)


def test_quick_is_a_prefix() -> None:
    every, few = chosen(["corpus"]), chosen(["corpus"], quick=True)
    assert few == every[: len(few)] and len(few) == SETS["corpus"].quick


def test_drawn_problems_are_the_same_everywhere() -> None:
    """Of what each was drawn with: names, times and sizes within the bounds."""
    drawn = chosen(["drawn-*"])
    text = "".join(f"{e.name}\n" for e in drawn)
    assert hashlib.sha256(text.encode()).hexdigest() == DRAWN
    products = [e.problem for e in drawn if e.set in ("drawn-products", "drawn-large")]
    kinds = {(p.dtype.name, p.transpose_a, p.transpose_b) for p in products if isinstance(p, Gemm)}
    assert len(products) == 64 and len(kinds) == 8
    assert all(8 <= e.problem.flops / 7e8 <= 100 for e in chosen(["drawn-products"]))
    others = [e.problem for e in drawn if isinstance(e.problem, Conv2d)]
    assert len(others) == 72 and {(p.stride, p.x) for p in others} >= {((1, 1), 1), ((1, 1), 3), ((2, 2), 3)}


def test_names() -> None:
    assert {e.set for e in chosen(["resnet-nhwc*", "host"])} == {
        "resnet-nhwc-forward", "resnet-nhwc-backward-data", "resnet-nhwc-backward-weight", "host",
    }  # fmt: skip
    with pytest.raises(Diagnostic, match="there is no set 'squares'"):
        chosen(["squares"])


def test_a_lot_is_its_seed() -> None:
    """Of every kind as many problems as it says, the same ones for one seed, and others for another."""
    drawn, other = lot(7), lot(8)
    text = "".join(f"{e.name}\n" for e in drawn)
    assert hashlib.sha256(text.encode()).hexdigest() == LOT
    assert {e.problem for e in drawn}.isdisjoint({e.problem for e in other})
    assert {name: sum(e.set == name for e in drawn) for name in KINDS} == {
        n: k.count for n, k in KINDS.items()
    }
    assert len({(entry.set, entry.problem) for entry in drawn}) == len(drawn)


def test_kinds_of_a_lot_are_those_of_the_whole_and_have_names() -> None:
    few = lot(7, ["f32", "odd sizes"])
    assert few == [entry for entry in lot(7) if entry.set in ("f32", "odd sizes")] != []
    with pytest.raises(Diagnostic, match="a lot has no kind 'square'"):
        lot(7, ["square"])
