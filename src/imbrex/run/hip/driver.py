"""ROCm through hip-python: whether it is here, which chip the GPU is, and its functions with errors raised.

hip-python is optional and imported at the first call.  Its functions return a tuple: error, results.
Sources: hip-python's reference of its module `hip`; the HIP runtime API, "Module management".
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from imbrex.build.cache import entry_bytes
from imbrex.diagnostic import Diagnostic
from imbrex.run.answer import done

__all__ = ["functions", "gpu_name", "gpu_properties", "require_gpu", "rocm_here", "using_device"]

_HINT = "--emulate (in Python emulate=True) runs the same schedule on this CPU"
_MEND = "on a machine with ROCm, pip install 'imbrex[hip]' adds hip-python"


def require_gpu(chip: str) -> Any:
    """hip-python's module `hip`, when the current GPU is that chip; else a Diagnostic says what is not."""
    try:
        hip = rocm_here()
    except Diagnostic as missing:
        message = f"a kernel for {chip} cannot run here: {missing.message}"
        raise Diagnostic(message, hint="; ".join(filter(None, (_HINT, missing.hint)))) from None
    found = gpu_name(hip)
    if found != chip:
        raise Diagnostic(f"a kernel for {chip} cannot run here: the GPU is {found}", hint=_HINT)
    return hip


def rocm_here() -> Any:
    """hip-python's module `hip`, when there is a GPU; else a Diagnostic says what is missing."""
    try:
        hip: Any = import_module("hip").hip
    except ImportError:
        raise Diagnostic("hip-python is not installed", hint=_MEND) from None
    try:
        error, *rest = hip.hipGetDeviceCount()
    except RuntimeError as missing:  # hip-python opens the runtime at the first call
        reason = str(missing).partition("\n")[0]
        raise Diagnostic(f"hip-python finds no ROCm runtime: {reason}") from None
    if int(error) or not rest[0]:
        raise Diagnostic("there is no AMD GPU")
    return hip


def gpu_name(hip: Any) -> str:
    """The current GPU's chip, such as `gfx942`, without its features."""
    name = gpu_properties(hip).gcnArchName
    return (name.decode() if isinstance(name, bytes) else str(name)).partition(":")[0]


def gpu_properties(hip: Any) -> Any:
    """What the driver says of the current GPU."""
    device = _current_device(hip)
    try:
        (properties,) = done(hip.hipGetDeviceProperties(device), "asking the GPU")
    except TypeError:  # in older versions the caller brings the structure
        properties = hip.hipDeviceProp_t()
        done(hip.hipGetDeviceProperties(properties, device), "asking the GPU")
    return properties


def _current_device(hip: Any) -> int:
    (device,) = done(hip.hipGetDevice(), "asking for the current GPU")
    return int(device)


@contextmanager
def using_device(hip: Any, wanted: int | None) -> Generator[int]:
    """Make the GPU of that number the current one in the block; None leaves it.  Gives the number."""
    before = _current_device(hip)
    if wanted is None or wanted == before:
        yield before
        return
    done(hip.hipSetDevice(wanted), f"choosing GPU {wanted}")
    try:
        yield wanted
    finally:
        done(hip.hipSetDevice(before), f"choosing GPU {before}")


@cache
def functions(hip: Any, path: Path, names: tuple[str, ...], device: int) -> dict[str, Any]:
    """Kernels of a code object by name.  It stays loaded on its device as long as the process lives."""
    (module,) = done(hip.hipModuleLoadData(entry_bytes(path)), f"loading {path.name} on GPU {device}")
    _modules.append(module)
    return {n: done(hip.hipModuleGetFunction(module, n.encode()), f"finding '{n}'")[0] for n in names}


_modules: list[Any] = []
