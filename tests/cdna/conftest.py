"""The emulator of CDNA code objects, and kernels that run in it as if it were a GPU.

IMBREX_CDNA_EMULATOR names the folder that holds `amdemu.py`.  It builds a library beside itself, so it is
copied to where that may be written, once for all processes of a run.
"""

from __future__ import annotations

import fcntl
import importlib
import os
import shutil
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

VARIABLE = "IMBREX_CDNA_EMULATOR"
TOOLS = ("clang++-22", "ld.lld-22", "llvm-objdump-22")
HERE = Path(__file__).parent


def why_not() -> str | None:
    """What is missing; None where the emulator can run."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return f"{VARIABLE} does not name the folder of the emulator"
    if not Path(folder, "amdemu.py").is_file():
        return f"{VARIABLE} names '{folder}', which holds no amdemu.py"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    return f"{', '.join(missing)} not installed (Debian's clang-22, lld-22 and llvm-22)" if missing else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = why_not()
    for item in items:
        if reason is not None and HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> ModuleType:
    """The module `amdemu`."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    folder = shared / "cdna-emulator"
    with (shared / "cdna-emulator.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            built = shutil.ignore_patterns("*.so*", "__pycache__")
            shutil.copytree(os.environ[VARIABLE], folder, ignore=built)
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(folder))
            return importlib.import_module("amdemu")  # which builds its library, the first time


@pytest.fixture
def gpu(emulator: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """`gpu("gfx942")`: from now on such a GPU is here; gives what stands for hip-python's module."""
    spec = spec_from_file_location("emulated_hip", HERE / "emulated_hip.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)

    def install(chip: str) -> Any:
        hip = module.EmulatedHip(emulator, chip)
        monkeypatch.setitem(sys.modules, "hip", SimpleNamespace(hip=hip))
        return hip

    return install
