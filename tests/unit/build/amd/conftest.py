"""The kernels of `amd_kernels.cpp` as code objects, one a chip."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from imbrex.build.amd.code_object import CodeObject, build_code_object
from imbrex.build.cache import Cache

UNIT = "amd_kernels.cpp"


@pytest.fixture(scope="session")
def amd_sources() -> dict[str, str]:
    return {UNIT: Path(__file__).with_name(UNIT).read_text()}


@pytest.fixture(scope="session")
def amd_code(
    amd_sources: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], CodeObject]:
    cache = Cache(tmp_path_factory.mktemp("amd"))
    return lambda chip: build_code_object(amd_sources, UNIT, chip, cache=cache)
