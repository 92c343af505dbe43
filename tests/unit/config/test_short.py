"""Which calls are short: by what they multiply, and by what they move."""

from __future__ import annotations

import pytest

from imbrex.config.short import is_short
from imbrex.problem import Gemm


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ((304, 272, 200), True),
        ((1024, 1024, 1024), True),
        ((3072, 3072, 3072), True),
        ((4096, 4096, 4096), True),
        ((6144, 6144, 6144), False),
        ((16, 8192, 8192), True),
        ((16, 16384, 16384), False),
    ],
)
def test_multiplying_and_memory_count(sizes: tuple[int, int, int], found: bool) -> None:
    assert is_short(Gemm(*sizes, dtype="f16")) == found


def test_a_batch_counts_as_many_times() -> None:
    assert is_short(Gemm(512, 512, 512, batch=8, dtype="f16"))
    assert not is_short(Gemm(512, 512, 512, batch=1024, dtype="f16"))
