"""docs/semantics.md, of Hopper's instructions: the emulator, unoptimised, has the same ones."""

from __future__ import annotations

from tests.semantics import expect_numbers, expect_unread

from imbrex.kernel.target import target_of

HOPPER = target_of("sm_90a", emulate=True)


def test_numbers() -> None:
    expect_numbers("f16", HOPPER)


def test_what_a_factor_of_0_multiplies_is_not_read() -> None:
    expect_unread("f16", HOPPER)
