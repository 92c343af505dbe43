"""All generators, the quick ones first."""

from __future__ import annotations

from tests.fuzz.generator import Generator
from tests.fuzz.lowerings import EMULATED, LOWERED, WALKED
from tests.fuzz.machines import CACHES, COMMANDS, FOREIGN, IR, KERNELS, LEVELS
from tests.fuzz.texts import EXPRESSIONS, PROBLEMS, SCHEDULES, TUNINGS

GENERATORS: tuple[Generator, ...] = (
    PROBLEMS, EXPRESSIONS, TUNINGS, SCHEDULES, IR, COMMANDS, LEVELS, LOWERED,
    KERNELS, FOREIGN, EMULATED, WALKED, CACHES,
)  # fmt: skip
