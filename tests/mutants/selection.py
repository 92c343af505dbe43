"""Selection: which files of tests could tell a mutant, those first that do soonest.

By name at first: tests/unit mirrors the package, and a test imports what it tests.  Where a recording is
there (`python -m tests.mutants --record`), a line of Python has those files that execute it.  Headers are
executed by kernels, which no recording sees: HEADERS says which tests run theirs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["HEADERS", "Recorded", "Selection", "read"]

HOPPER: Final = ("tests/unit/emit/emulate/test_hopper.py", "tests/unit/emit/emulate/test_hopper_faults.py")
CDNA: Final = ("tests/cdna/test_kernels.py", "tests/unit/cdna", "tests/cdna")
LANES: Final = (
    "tests/unit/emit/emulate/test_lanes.py",
    "tests/unit/emit/emulate/test_matrix.py",
    "tests/e2e/test_xdlops_gemm.py",
    "tests/e2e/test_problems.py",
)
CPU: Final = (
    "tests/unit/emit/device",
    "tests/e2e/test_problems.py",
    "tests/e2e/test_tunings.py",
    "tests/e2e/test_epilogue.py",
    "tests/e2e/test_windows.py",
    "tests/e2e/test_few_rows.py",
    "tests/e2e/test_runs.py",
    "tests/e2e/test_cpu_units.py",
    "tests/e2e/test_strides.py",
    "tests/unit/function/test_batches.py",
)

# A folder of device code, or a file, to the tests that execute it; the longest that fits is the one.
HEADERS: Final[Mapping[str, tuple[str, ...]]] = {
    "src/imbrex/bench": ("tests/unit/bench",),
    "src/imbrex/build": ("tests/unit/build/test_precompiled.py", *CPU),
    "src/imbrex/cdna/core": ("tests/unit/cdna", "tests/cdna/test_instructions.py", *CDNA),
    "src/imbrex/emit/device/common": (*CPU, *LANES, *HOPPER),
    "src/imbrex/emit/device/common/epilogue.h": (
        "tests/unit/emit/device/test_epilogue.py",
        "tests/e2e/test_semantics.py",
        *CPU,
    ),
    "src/imbrex/emit/device/cpu": CPU,
    "src/imbrex/emit/device/cpu/amx": ("tests/unit/emit/device/test_tiles.py", *CPU),
    "src/imbrex/emit/device/cpu/tile.h": ("tests/e2e/test_tiles.py", *CPU),
    "src/imbrex/emit/device/cpu/tile_rows.h": ("tests/e2e/test_tiles.py", *CPU),
    "src/imbrex/emit/device/cpu/vec_arm.h": ("tests/e2e/test_aarch64.py", *CPU),
    "src/imbrex/emit/device/gpu": ("tests/unit/emit/gpu", *CDNA, *LANES),
    "src/imbrex/emit/device/hip": ("tests/unit/emit/hip", "tests/unit/emit/gpu", *CDNA),
    "src/imbrex/emit/device/cuda": (*HOPPER, "tests/unit/emit/cuda"),
    "src/imbrex/emit/device/cuda/ptx": ("tests/unit/emit/cuda/test_ptx.py", "tests/unit/emit/cuda"),
    "src/imbrex/emit/device/emulate": LANES,
    "src/imbrex/emit/device/emulate/amx": ("tests/e2e/test_tiles.py",),
    "src/imbrex/emit/device/emulate/hopper": (*HOPPER, "tests/unit/run/test_emulated.py"),
    "src/imbrex/emit/device/emulate/hopper/number.h": ("tests/unit/emit/emulate/test_conversion.py", *HOPPER),
    "src/imbrex/emit/device/emulate/ptx": ("tests/unit/emit/emulate/test_conversion.py", *HOPPER),
    "src/imbrex/library": ("tests/golden/test_library.py", "tests/unit/library"),
    "src/imbrex/run": ("tests/unit/run/test_launcher.py", "tests/unit/function"),
    "src/imbrex/run/foreign": ("tests/unit/run/test_foreign.py", "tests/e2e/test_aarch64.py"),
}  # fmt: skip

DECIDING: Final = (
    "cdna",
    "chip",
    "config",
    "dtype",
    "emit",
    "explore",
    "index",
    "ir",
    "lower",
    "problem",
    "view",
)
"""Packages that decide what kernels are, how they read and what is said and shown of them: golden texts."""


@dataclass(frozen=True)
class Recorded:
    """Of one file of tests on the unchanged source.  lines: that it executes, by file."""

    seconds: float
    lines: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Selection:
    """root: of the project.  recorded: by file of tests; nothing where nothing was recorded."""

    root: Path
    recorded: Mapping[str, Recorded] = field(default_factory=dict)

    def tests(self, path: str, line: int) -> list[str]:
        """Files of tests, in the order in which they are tried."""
        named = list(dict.fromkeys(self._by_name(path) if path.endswith(".py") else self._of_header(path)))
        covering = {t for t, r in self.recorded.items() if line in r.lines.get(path, ())}
        if not path.endswith(".py") or not self.recorded:
            return named
        if not covering:
            return named  # a recording sees no other process, and nothing of tests that skipped in it
        others = sorted(covering - set(named), key=lambda test: self.recorded[test].seconds)
        return [*(test for test in named if test in covering or test not in self.recorded), *others]

    def _by_name(self, path: str) -> Iterator[str]:
        """test_NAME.py of the mirrored folder, what else there has a word of the name, unit tests that import
        it, what golden texts keep of it, the folder, others that import it, texts of the IR, its package.  A
        package's __init__.py has the package's name.
        """
        inner = Path(path).with_suffix("").relative_to("src/imbrex")
        inner = inner.parent if inner.name == "__init__" and inner.parent.name else inner
        mirror = self.root / "tests/unit" / inner.parent
        yield from self._files(mirror, f"test_{inner.name}*.py")
        beside = self._files(mirror, "test_*.py")
        yield from (test for test in beside if _words(test) & _words(inner.name))
        module = ".".join(("imbrex", *inner.parts))
        imports = re.compile(
            rf"^\s*(?:from|import) {re.escape(module)}\b(?!\.)"
            rf"|^\s*from {re.escape(module.rpartition('.')[0])} import\b.*\b{inner.name}\b", re.M,
        )  # fmt: skip
        golden = self._files(self.root / "tests/golden", "test_*.py") if inner.parts[0] in DECIDING else []
        unit, other = (
            self._files(self.root / "tests", where) for where in ("unit/**/test_*.py", "*/test_*.py")
        )
        yield from (test for test in unit if imports.search((self.root / test).read_text("utf-8")))
        yield from (*golden, *beside)
        yield from (test for test in other if imports.search((self.root / test).read_text("utf-8")))
        if inner.parts[0] == "ir":
            yield "tests/lit"
        yield from self._files(self.root / "tests/unit" / inner.parts[0], "**/test_*.py")
        yield from self._files(self.root / "tests/unit", f"test_{inner.parts[0]}*.py")

    def _of_header(self, path: str) -> Iterator[str]:
        folder = max((name for name in HEADERS if Path(path).is_relative_to(name)), key=len)
        words = _words(path)
        names = [
            n
            for name in HEADERS[folder]
            for n in ([name] if name.endswith(".py") else self._files(self.root / name, "test_*.py"))
        ]
        yield from sorted(names, key=lambda name: not words & _words(name))

    def _files(self, folder: Path, pattern: str) -> list[str]:
        return sorted(str(found.relative_to(self.root)) for found in folder.glob(pattern))


def _words(path: str) -> set[str]:
    """Those of a file's name, but for `test`."""
    return set(Path(path).stem.split("_")) - {"test"}


def read(path: Path) -> dict[str, Recorded]:
    """What was recorded of one commit; nothing where nothing was."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {name: Recorded(seconds, executed) for name, seconds, executed in map(json.loads, lines)}
