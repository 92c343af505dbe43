"""The GPU of a report: its name, its driver, its limits, and the versions of all that took part."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import subprocess
from importlib import import_module
from typing import Any

from imbrex.bench.gpu.peer import peer_versions
from imbrex.run.cuda.driver import cuda_here, gpu_text
from imbrex.version import __version__

__all__ = ["gpu_facts"]

QUERIED = ("driver_version", "power.limit", "clocks.max.sm", "clocks.max.memory")
PACKAGES = ("cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc", "numpy")


def gpu_facts() -> dict[str, Any]:
    """What the first GPU says of itself."""
    cuda = cuda_here()
    if importlib.util.find_spec("torch") is None:
        return {"name": gpu_text(cuda), **_from_driver(), "versions": _packages()}
    torch: Any = import_module("torch")
    properties = torch.cuda.get_device_properties(0)
    return {
        "name": properties.name,
        "capability": f"{properties.major}.{properties.minor}",
        "multiprocessors": properties.multi_processor_count,
        "l2_bytes": getattr(properties, "L2_cache_size", None),
        "memory_bytes": properties.total_memory,
        **_from_driver(),
        "versions": {**peer_versions(), **_packages()},
    }


def _from_driver() -> dict[str, str]:
    """Asked of nvidia-smi, which reads; empty where there is none."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return {}
    query = [program, f"--query-gpu={','.join(QUERIED)}", "--format=csv,noheader", "--id=0"]
    try:
        said = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    values = [value.strip() for value in said.strip().split(",")]
    return dict(zip(QUERIED, values, strict=True)) if len(values) == len(QUERIED) else {}


def _packages() -> dict[str, str]:
    found: dict[str, str] = {"imbrex": __version__}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
