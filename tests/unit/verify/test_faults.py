"""The check itself: what no pass may call wrong, and what at least one has to, for every type and length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.pairs import one_in

from imbrex.dtype import dtype
from imbrex.problem import Gemm
from imbrex.verify.unit import Unit

from .faults import FEWER_BITS, SIZES, TYPES, M, N, drawn, faults_of, kinds, terms


def exact(products: Any) -> Any:
    return products.sum(-1)


SCALED = [(name, k, 0.1) for name in ("f32", "f16", "bf16") for k in (16, 4096)]


@pytest.mark.parametrize(
    ("name", "k", "alpha"), one_in(2, [*((n, k, 1.0) for n in TYPES for k in SIZES), *SCALED])
)
def test_every_fault_is_seen(name: str, k: int, alpha: float) -> None:
    """Where alpha rounds, the last of 24 bits of f32 operands goes unseen, and no more than that."""
    problem = Gemm(M, N, k, dtype=name, alpha=alpha)
    passes = [drawn(problem, values, 1) for values in kinds(problem.dtype)]
    for one in passes:
        found = one.judged(exact(terms(*one.read)))
        assert found.is_right, f"{one.operands.data}: {found}"
    for fault, wrong in faults_of(problem.dtype).items():
        if alpha != 1.0 and fault == "operands of 23 bits":
            continue
        outcomes = [one.judged(exact(wrong(*one.read))) for one in passes]
        assert any(not outcome.is_right for outcome in outcomes), f"{fault} is not seen"


def one_by_one(products: Any) -> Any:
    """Each product and each sum rounded to f32."""
    return np.cumsum(products.astype(np.float32), axis=-1, dtype=np.float32)[..., -1]


def fused(products: Any) -> Any:
    """Each sum rounded to f32, products not at all."""
    total = np.zeros(products.shape[:-1], np.float32)
    for column in np.moveaxis(products, -1, 0):
        total = (total + column).astype(np.float32)
    return total


def in_blocks(products: Any) -> Any:
    """Sums of 16, each one by one, then all of them."""
    parts = products.reshape(*products.shape[:-1], -1, 16)
    return one_by_one(one_by_one(parts))


WAYS = {
    "one by one": one_by_one,
    "backwards": lambda p: one_by_one(p[..., ::-1]),
    "fused": fused,
    "in blocks": in_blocks,
    "pairs of pairs": lambda p: p.astype(np.float32).sum(-1),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("k", "seeds"), [(16, 40), (256, 20), (4096, 4)])
@pytest.mark.parametrize("name", ["f32", "f16", "bf16"])
def test_right_sums_are_never_wrong(name: str, k: int, seeds: int, way: str) -> None:
    problem = Gemm(16, 24, k, dtype=name)
    for seed in range(seeds):
        for values in kinds(problem.dtype):
            one = drawn(problem, values, seed)
            found = one.judged(WAYS[way](terms(*one.read)))
            assert found.is_right, f"seed {seed}, {values}: {found}"


def in_unit(products: Any, unit: Unit) -> Any:
    """As a block unit adds: aligned to the largest, dropped, summed, dropped again."""
    total = np.zeros(products.shape[:-1])
    for start in range(0, products.shape[-1], unit.block):
        addends = np.concatenate((total[..., None], products[..., start : start + unit.block]), axis=-1)
        largest = np.frexp(np.abs(addends).max(-1, keepdims=True))[1] - 1
        last = np.ldexp(1.0, largest - (unit.aligned_bits or 0))
        total = (np.trunc(addends / last) * last).sum(-1)
        exponent = np.frexp(total)[1] - 1
        last = np.ldexp(1.0, exponent - unit.sum_bits)
        total = np.trunc(total / last) * last
    return total


@pytest.mark.parametrize("chip", ["sm_90a", "gfx942"])
@pytest.mark.parametrize(("k", "seeds"), [(16, 40), (520, 10), (8192, 3)])
@pytest.mark.parametrize("name", ["f16", "bf16", "tf32", "f8e4m3fn", "f8e5m2"])
def test_units_that_truncate_are_never_wrong(name: str, k: int, seeds: int, chip: str) -> None:
    problem = Gemm(16, 24, k, dtype=name)
    for seed in range(seeds):
        for values in kinds(problem.dtype):
            one = drawn(problem, values, seed, chip)
            found = one.judged(in_unit(terms(*one.read), one.unit))
            assert found.is_right, f"seed {seed}, {values}: {found}"


def test_control_a_plain_unit_calls_sums_of_13_bits_wrong() -> None:
    problem = Gemm(16, 24, 512, dtype="f8e4m3fn")
    narrow, plain = drawn(problem, "float", 1, "sm_90a"), drawn(problem, "float", 1)
    sums = in_unit(terms(*narrow.read), narrow.unit)
    assert narrow.judged(sums).is_right
    assert not plain.judged(sums).is_right


def test_every_type_has_its_fewer_bits() -> None:
    assert set(FEWER_BITS) == set(TYPES)
    assert all(
        bits < dtype(name).significand_bits
        for name, all_ in FEWER_BITS.items()
        for bits in all_
        if name != "i8"
    )
