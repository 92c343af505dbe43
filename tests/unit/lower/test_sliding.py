"""Windows along one axis reach as far as their last tap does, by every position and tap."""

from __future__ import annotations

from itertools import product

from imbrex.lower.cpu.sliding import Sliding


def test_the_extent_is_that_of_the_last_tap() -> None:
    for out, taps, stride, dilation, up in product((1, 4), (1, 3), (1, 2), (1, 2, 3), (1, 2, 3)):
        for shift in range(1 - up, 1):
            met = [i * stride + j * dilation + shift for i in range(out) for j in range(taps)]
            found = Sliding(out, taps, stride, dilation, up, shift).extent
            assert found == max(met) // up + 1, (out, taps, stride, dilation, up, shift)
