"""Read by every Python process that a test starts: kernels of CPUs are compiled unoptimised there, too.

`effort` of the tests' conftest puts this folder onto PYTHONPATH.  A module is changed when the process
imports it, so that one that compiles nothing starts as fast as before.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

from inlining import CALLS, INLINES

OPTIMISING: Final = ("-O2", "-O3")
FLAGS_OF: Final = ("imbrex.build.toolchain", "imbrex.emit.emulate.hopper")
"""Modules whose FLAGS kernels are compiled with; others import the first one's."""
CORE: Final = "imbrex.cdna.machine"
"""What executes AMD's instructions, of which all tests and their processes share one: as users have it."""
BUILDS: Final = "imbrex.build.shared_library"
"""Where units of device code are asked for, such as what executes Hopper's instructions: likewise."""


def unoptimised(flags: Sequence[str]) -> tuple[str, ...]:
    return (*("-O0" if flag in OPTIMISING else flag for flag in flags), CALLS)


class Changed:
    """Finds the modules that are changed, and changes each when it has been executed."""

    def __init__(self) -> None:
        self.given: tuple[str, ...] = ()

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in (*FLAGS_OF, CORE, BUILDS):
            return None
        sys.meta_path.remove(self)
        try:
            spec = find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def executed(module: ModuleType) -> None:
                execute(module)
                self.change(module)

            spec.loader.exec_module = executed
        return spec

    def change(self, module: Any) -> None:
        if module.__name__ == CORE:
            self.compile_as_for_users(module)
            return
        if module.__name__ == BUILDS:
            self.optimise_units(module)
            return
        if module.__name__ == FLAGS_OF[0]:
            self.given = module.FLAGS
        module.FLAGS = unoptimised(module.FLAGS)

    def compile_as_for_users(self, core: Any) -> None:
        from imbrex.build import shared_library, toolchain

        build, own = core.build_shared, toolchain.FLAGS

        def build_shared(*words: Any, **named: Any) -> Any:
            toolchain.FLAGS = shared_library.FLAGS = self.given
            try:
                return build(*words, **named)
            finally:
                toolchain.FLAGS = shared_library.FLAGS = own

        core.build_shared = build_shared

    def optimise_units(self, builds: Any) -> None:
        objects = builds.device_objects

        def device_objects(sources: Any, flags: Sequence[str], *words: Any) -> Any:
            optimised = ["-O2" if flag == "-O0" else flag for flag in flags]
            return objects(sources, (*optimised, INLINES), *words)

        builds.device_objects = device_objects


sys.meta_path.insert(0, Changed())
