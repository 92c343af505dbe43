"""Chip: whoever names a product, a vendor or a GPU that nothing is written for is told what there is."""

from __future__ import annotations

import pytest

from imbrex.chip import KNOWN, no_target

TARGETS = ("cpu", "gfx90a", "gfx942", "sm_90a")
AMD = "of AMD's GPUs there are gfx90a (MI210, MI250, MI250X), gfx942 (MI300X, MI300A, MI325X)"
NVIDIA = "of NVIDIA's GPUs there is sm_90a (H100, H200, GH200)"


@pytest.mark.parametrize(
    ("word", "message", "hint"),
    [
        ("MI300X", "unknown target 'MI300X'", "MI300X is gfx942"),
        ("AMD Instinct MI250", "unknown target 'AMD Instinct MI250'", "MI250 is gfx90a"),
        ("h200", "unknown target 'h200'", "H200 is sm_90a"),
        ("sm_90", "unknown target 'sm_90'", "H100, H200, GH200 are sm_90a"),
        ("gfx1201", f"gfx1201 (RDNA 4: RX 9070, RX 9070 XT, AI PRO R9700) is not supported; {AMD}", None),
        ("sm_100a", f"sm_100 (Blackwell: B200, GB200) is not supported; {NVIDIA}", None),
        ("GeForce RTX 4090", f"RTX 4090 is sm_89 (Ada), which is not supported; {NVIDIA}", None),
        ("gfx943", f"target 'gfx943' is not supported; {AMD}", "did you mean 'gfx942'?"),
        ("cuda", "unknown target 'cuda'", NVIDIA),
        ("ROCm", "unknown target 'ROCm'", AMD),
        ("gpu", "unknown target 'gpu'", "known: cpu, gfx90a, gfx942, sm_90a"),
        ("cpi", "unknown target 'cpi'", "did you mean 'cpu'?"),
        ("", "unknown target ''", "known: cpu, gfx90a, gfx942, sm_90a"),
    ],
)
def test_what_is_said(word: str, message: str, hint: str | None) -> None:
    found = no_target(word, TARGETS)
    assert (found.message, found.hint) == (message, hint)


def test_products_are_of_one_chip() -> None:
    products = [product for chip in KNOWN.values() for product in chip.products]
    assert len(products) == len(set(products))
    assert all(chip.name == name and chip.source for name, chip in KNOWN.items())
