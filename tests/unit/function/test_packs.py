"""Elements of fewer than 8 bits, single ones or bytes of them: the same packs, of one matrix or of both."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from imbrex.dtype import dtype, packed
from imbrex.function.packs import in_packs

K = 64
ELEMENTS: dict[str, Any] = {
    "4 bits": ml_dtypes.float4_e2m1fn, "6 bits": ml_dtypes.float6_e2m3fn, "8 bits": ml_dtypes.float8_e4m3fn,
}  # fmt: skip


def matrix(kind: Any, rows: int) -> Any:
    return np.random.default_rng(7).integers(-3, 4, (rows, K)).astype(kind)


def as_bytes(array: Any) -> Any:
    return packed(array, dtype(array.dtype)).view(np.uint8)


def named(a: Any, b: Any) -> str:
    words = [f"mx{dtype(array.dtype)}" for array in (a, b)]
    return words[0] if words[0] == words[1] else "_".join(words)


@pytest.mark.parametrize(
    "kinds", [pair for pair in product(ELEMENTS, ELEMENTS) if pair != ("8 bits", "8 bits")], ids="+".join
)
def test_bytes_of_packs_are_what_single_elements_become(kinds: tuple[str, str]) -> None:
    """Of a, of b, of both or of none; those of 8 bits are themselves."""
    a, b = (matrix(ELEMENTS[kind], rows) for kind, rows in zip(kinds, (3, 5), strict=True))
    want = in_packs(a, b, (False, True), None)
    assert want is not None and str(want.product) == named(a, b)
    for one, kind in ((want.a, kinds[0]), (want.b, kinds[1])):
        assert one.shape[-1] * one.dtype.itemsize * 8 == K * int(kind[0]), "its bits, and no more"
    narrow = [
        array.dtype.itemsize == 1 and kind != "8 bits" for array, kind in zip((a, b), kinds, strict=True)
    ]
    for are_bytes in product(*([False, True] if is_narrow else [False] for is_narrow in narrow)):
        given = [as_bytes(x) if is_given else x for x, is_given in zip((a, b), are_bytes, strict=True)]
        found = in_packs(*given, (False, True), named(a, b))
        assert found is not None and found.product == want.product, are_bytes
        assert np.array_equal(found.a, want.a) and np.array_equal(found.b, want.b), are_bytes


@pytest.mark.parametrize("kind", ["4 bits", "6 bits"])
def test_bytes_beside_elements_of_8_bits_are_no_elements_of_them(kind: str) -> None:
    """Bytes say nothing of what they hold: those that take the place of 8-bit floats are refused."""
    a, b = matrix(ELEMENTS[kind], 3), matrix(ELEMENTS["8 bits"], 5)
    for first, second, where in ((a, b, "b"), (b, a, "a")):
        given = [as_bytes(x) if x is a else x.view(np.uint8) for x in (first, second)]
        with pytest.raises(TypeError, match=f"'{where}' should have dtype float8_e4m3fn, got uint8"):
            in_packs(*given, (False, True), named(first, second))


def test_elements_of_8_bits_have_no_packs() -> None:
    a = matrix(ELEMENTS["8 bits"], 3)
    assert in_packs(a, a, (False, True), None) is None
    assert in_packs(a, matrix(np.float32, 5), (False, True), None) is None
