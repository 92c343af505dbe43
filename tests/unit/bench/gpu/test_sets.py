"""The sets of the speed table: the same sizes on every machine, every prefix a sample, no problem twice."""

from __future__ import annotations

import hashlib

import pytest

from imbrex.bench.corpus import COUNT, corpus, sample
from imbrex.bench.gpu.sets import SETS, chosen
from imbrex.bench.resnet import LAYERS, conv
from imbrex.diagnostic import Diagnostic


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


def test_names() -> None:
    assert {e.set for e in chosen(["resnet-nhwc*", "host"])} == {
        "resnet-nhwc-forward", "resnet-nhwc-backward-data", "resnet-nhwc-backward-weight", "host",
    }  # fmt: skip
    with pytest.raises(Diagnostic, match="there is no set 'squares'"):
        chosen(["squares"])
