"""Colours of drawings: the eight groups can be told apart by everybody, and words be read on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from imbrex.explore.svg import DARK, INK, LIGHT

SEEN = {
    "all three cones": np.eye(3),
    "no red cones": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green cones": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "no blue cones": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB."""
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])


def linear(colour: str) -> Any:
    """sRGB as light."""
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light: Any) -> Any:
    """CIELAB of light."""
    ratios = XYZ @ np.clip(light, 0, 1) / WHITE
    x, y, z = np.where(ratios > 0.008856, np.cbrt(ratios), 7.787 * ratios + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(a: str, b: str) -> float:
    """WCAG's."""
    dark, bright = sorted(float(XYZ[1] @ linear(colour)) for colour in (a, b))
    return (bright + 0.05) / (dark + 0.05)


def least_difference(tints: tuple[str, ...], seen: Any) -> float:
    found = [lab(seen @ linear(tint)) for tint in tints]
    pairs = ((a, b) for i, a in enumerate(found) for b in found[:i])
    return min(float(np.linalg.norm(a - b)) for a, b in pairs)


@pytest.mark.parametrize("seen", list(SEEN))
@pytest.mark.parametrize("tints", [LIGHT, DARK], ids=["light", "dark"])
def test_groups_can_be_told_apart(tints: tuple[str, ...], seen: str) -> None:
    assert least_difference(tints, SEEN[seen]) > 15


def test_control_red_and_green_of_one_brightness_are_seen() -> None:
    assert least_difference(("#c46a6a", "#8a8a5f"), SEEN["no green cones"]) < 15


@pytest.mark.parametrize(("tints", "at"), [(LIGHT, 0), (DARK, 1)], ids=["light", "dark"])
def test_words_can_be_read(tints: tuple[str, ...], at: int) -> None:
    assert min(contrast(tint, INK["ink"][at]) for tint in tints) > 4.5
    assert min(contrast(INK[name][at], INK["paper"][at]) for name in ("soft", "bad", "good", "here")) > 4.5
