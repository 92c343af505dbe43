"""Functions of arrays compile without optimisation: numbers of optimised kernels are seen in tests/e2e."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def effort(unoptimised: None) -> None:
    """A module that compiles as for users has a fixture of this name."""
