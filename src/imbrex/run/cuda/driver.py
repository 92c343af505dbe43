"""CUDA's driver through cuda-bindings: is it here, which GPU there is, and its functions with errors raised.

cuda-bindings is optional and imported at the first call.  Its functions return a tuple: error, results.
Source: CUDA driver API, "Context Management", "Module Management", "Execution Control".
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from imbrex.build.cache import entry_bytes
from imbrex.chip import GPU_MACHINES, products_of
from imbrex.diagnostic import Diagnostic
from imbrex.run.answer import done, error_word

__all__ = [
    "DEFAULT_SHARED_BYTES",
    "MAP_BYTES",
    "cuda_here",
    "current_device",
    "device_count",
    "device_of",
    "driver_version",
    "functions",
    "gpu_text",
    "require_gpu",
    "unrecorded",
    "using_device",
]

_MEND = "pip install 'imbrex[cuda]' adds cuda-bindings; the driver comes with the machine"
DEFAULT_SHARED_BYTES = 48 * 1024
"""Dynamic shared memory that a kernel has without being prepared for it."""
MAP_BYTES = 128
"""Size of a tensor map, as a kernel takes it."""
_LARGE_CLUSTER = 8


def cuda_here() -> Any:
    """cuda-bindings' module `driver`, when there is a GPU; else a Diagnostic says what is missing."""
    try:
        cuda: Any = import_module("cuda.bindings.driver")
    except ImportError:
        raise Diagnostic("cuda-bindings is not installed", hint=_MEND) from None
    try:
        (error,) = cuda.cuInit(0)
    except RuntimeError as missing:  # cuda-bindings opens the driver at the first call
        reason = str(missing).strip().partition("\n")[0]
        raise Diagnostic(f"there is no CUDA driver: {reason}") from None
    if int(error):
        raise Diagnostic(f"there is no NVIDIA GPU: {error_word(error)}")
    if not device_count(cuda):
        raise Diagnostic("there is no NVIDIA GPU")
    return cuda


def require_gpu(chip: str, device: int | None = None) -> Any:
    """The driver, when GPU `device`, or the current one, runs code for `chip`; else a Diagnostic."""
    try:
        cuda = cuda_here()
    except Diagnostic as missing:
        raise Diagnostic(
            f"a kernel for {chip} cannot run here: {missing.message}", hint=missing.hint
        ) from None
    _expect_capability(cuda, chip, current_device(cuda) if device is None else device)
    return cuda


@cache
def _expect_capability(cuda: Any, chip: str, device: int) -> None:
    if _capability(cuda, device) != GPU_MACHINES[chip].compute_capability:
        what = f"GPU {device} is {gpu_text(cuda, device)}"
        raise Diagnostic(
            f"a kernel for {chip} cannot run here: {what}", hint=f"{chip} is {products_of(chip)}"
        )


def gpu_text(cuda: Any, device: int = 0) -> str:
    """Name and architecture of a GPU, such as `NVIDIA H200 (sm_90)`."""
    (name,) = done(cuda.cuDeviceGetName(96, device), "asking the GPU its name")
    major, minor = _capability(cuda, device)
    word = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
    return f"{word.partition(chr(0))[0].strip()} (sm_{major}{minor})"


def _capability(cuda: Any, device: int) -> tuple[int, int]:
    kinds = cuda.CUdevice_attribute
    pair = (
        kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    )
    major, minor = (done(cuda.cuDeviceGetAttribute(kind, device), "asking the GPU")[0] for kind in pair)
    return int(major), int(minor)


def device_count(cuda: Any) -> int:
    """GPUs that this process sees."""
    error, count = cuda.cuDeviceGetCount()
    return 0 if int(error) else int(count)


def driver_version(cuda: Any) -> int:
    """The CUDA that the driver is of: 13010 for 13.1."""
    (version,) = done(cuda.cuDriverGetVersion(), "asking the driver")
    return int(version)


def current_device(cuda: Any) -> int:
    """Device of this thread's context; the first GPU where there is none yet."""
    (context,) = done(cuda.cuCtxGetCurrent(), "asking for the current GPU")
    if not int(context):
        return 0
    (device,) = done(cuda.cuCtxGetDevice(), "asking for the current GPU")
    return int(device)


def device_of(cuda: Any, address: int, name: str) -> int:
    """The GPU on which memory lies; ValueError where the driver knows no such memory."""
    kind = cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    error, *found = cuda.cuPointerGetAttribute(kind, address)
    if int(error):
        raise ValueError(f"'{name}' points to {address:#x}, which is no memory of a GPU: {error_word(error)}")
    return int(found[0])


@contextmanager
def using_device(cuda: Any, device: int) -> Generator[None]:
    """Make the primary context of that GPU, which libraries share, this thread's current one in the block."""
    context = _primary(cuda, device)
    (current,) = done(cuda.cuCtxGetCurrent(), "asking for the current GPU")
    if int(current) == int(context):
        yield
        return
    done(cuda.cuCtxPushCurrent(context), f"choosing GPU {device}")
    try:
        yield
    finally:
        done(cuda.cuCtxPopCurrent(), f"leaving GPU {device}")


@contextmanager
def unrecorded(cuda: Any) -> Generator[None]:
    """Let this thread load and allocate in the block although one of its streams is captured into a graph."""
    relaxed = cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    (before,) = done(cuda.cuThreadExchangeStreamCaptureMode(relaxed), "preparing a call")
    try:
        yield
    finally:
        cuda.cuThreadExchangeStreamCaptureMode(before)


@cache
def _primary(cuda: Any, device: int) -> Any:
    """Retained as long as the process lives."""
    return done(cuda.cuDevicePrimaryCtxRetain(device), f"opening GPU {device}")[0]


@cache
def functions(
    cuda: Any, path: Path, launches: tuple[tuple[str, int, int], ...], device: int
) -> dict[str, Any]:
    """Kernels of a cubin by name, ready for their launches: (name, dynamic shared bytes, cluster).

    The cubin stays loaded on its GPU, whose context is current, as long as the process lives.  A Diagnostic
    where the driver does not take it.
    """
    loaded = cuda.cuModuleLoadData(entry_bytes(path))
    if int(loaded[0]):
        version = driver_version(cuda)
        message = f"loading {path.name} on GPU {device} failed: {error_word(loaded[0])}"
        hint = f"the driver is of CUDA {version // 1000}.{version % 1000 // 10}; NVRTC may be newer"
        raise Diagnostic(message, hint=hint)
    kinds = cuda.CUfunction_attribute
    found: dict[str, Any] = {}
    for name, shared_bytes, cluster in launches:
        (function,) = done(cuda.cuModuleGetFunction(loaded[1], name.encode()), f"finding '{name}'")
        wanted = (
            (
                kinds.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                shared_bytes,
                shared_bytes > DEFAULT_SHARED_BYTES,
            ),
            (kinds.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, cluster > _LARGE_CLUSTER),
        )
        for kind, value, is_needed in wanted:
            if is_needed:
                done(cuda.cuFuncSetAttribute(function, kind, value), f"preparing '{name}'")
        found[name] = function
    return found
