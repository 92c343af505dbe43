"""One call of a library in this process, its arrays in a file between pages that nobody may touch.

    python -I -S guarded_call.py < request

The request, and the answer on the last line of the output, are what `marshal` writes, in hexadecimal digits.
Law: only what is here is imported, and nothing of the package, so that the process is there in the time of an
interpreter; `json` and `typing` would double it.
"""

from __future__ import annotations

import ctypes
import marshal
import mmap
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

__all__ = [
    "GUARD_BYTES",
    "LAYOUTS",
    "changed",
    "control_words",
    "environment",
    "exported",
    "restore",
    "said_fault",
]

GUARD_BYTES: Final = 1 << 24
"""On either side of an array; address space, not memory."""
MAP_FIXED: Final = 0x10
FENV_BYTES: Final = 64

LAYOUTS: Final[dict[tuple[str, str], dict[str, tuple[int, int, int]]]] = {
    ("linux", "x86_64"): {"x87 control word": (0, 2, 0xFFFF), "MXCSR": (28, 4, 0xFFC0)},
    ("darwin", "x86_64"): {"x87 control word": (0, 2, 0xFFFF), "MXCSR": (4, 4, 0xFFC0)},
    ("linux", "aarch64"): {"FPCR": (0, 4, 0xFFFFFFFF)},
    ("darwin", "arm64"): {"FPCR": (8, 8, 0xFFFFFFFF)},
}
"""System and machine -> what `fegetenv` stores: offset, bytes, and the bits that are no flags of past
operations (fenv.h of glibc, musl and Darwin; Intel SDM vol. 1, 10.2.3; Arm ARM, FPCR).
"""
MEANINGS: Final[dict[str, dict[int, str]]] = {
    "x87 control word": {0x0300: "precision", 0x0C00: "rounding mode"},
    "MXCSR": {0x8000: "flush to zero", 0x0040: "denormals are zero", 0x6000: "rounding mode"},
    "FPCR": {1 << 24: "flush to zero", 3 << 22: "rounding mode"},
}


def environment() -> bytes | None:
    """What `fegetenv` stores of this thread; None on a machine whose layout nobody wrote down."""
    if (sys.platform, os.uname().machine) not in LAYOUTS:
        return None
    held = ctypes.create_string_buffer(FENV_BYTES)
    _of_fenv("fegetenv")(held)
    return held.raw


def restore(before: bytes | None) -> None:
    """The thread rounds as it did then."""
    if before is not None:
        _of_fenv("fesetenv")(ctypes.create_string_buffer(before, FENV_BYTES))


def control_words(held: bytes | None) -> dict[str, int]:
    """What decides how a thread rounds, by name."""
    if held is None:
        return {}
    layout = LAYOUTS[sys.platform, os.uname().machine]
    return {
        name: int.from_bytes(held[at : at + size], "little") & bits
        for name, (at, size, bits) in layout.items()
    }


def _of_fenv(name: str) -> Any:
    """Function of the C library, or of the one for mathematics where they are two."""
    return exported(ctypes.CDLL(None), name) or ctypes.CDLL("libm.so.6")[name]


def exported(library: ctypes.CDLL, name: str) -> Any | None:
    """A library's function; None where it has none of that name."""
    try:
        return library[name]
    except (AttributeError, UnicodeDecodeError):  # the latter before Python 3.13: a path that is no UTF-8
        return None


def changed(before: dict[str, int], after: dict[str, int]) -> str | None:
    """What a call did to the control words of this thread."""
    for name, was in before.items():
        if (now := after[name]) != was:
            kinds = [what for bits, what in MEANINGS[name].items() if (now ^ was) & bits]
            of = f" ({', '.join(kinds)})" if kinds else ""
            return f"it leaves the {name} at {now:#x}, which was {was:#x}{of}"
    return None


def said_fault(library: ctypes.CDLL, symbol: str) -> str:
    """What the kernel did that it must not, of an emulated GPU; nothing of other kernels."""
    function = exported(library, f"{symbol}_fault")
    if function is None:
        return ""
    function.restype = ctypes.c_char_p
    said: bytes = function()
    return said.decode()


def _placed(region: dict[str, Any], fd: int, libc: Any) -> int:
    """The address of an array: its region of the file is mapped between two that are not accessible, or not
    writable, or are, as the request says.
    """
    size = region["span"]
    protection = {"none": 0, "read": mmap.PROT_READ, "all": mmap.PROT_READ | mmap.PROT_WRITE}
    whole = libc.mmap(
        None,
        size + 2 * GUARD_BYTES,
        protection["all"],
        mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE,
        -1,
        0,
    )
    if whole == ctypes.c_void_p(-1).value:
        raise MemoryError("no address space for an array between its guards")
    for start, side in ((whole, "before"), (whole + GUARD_BYTES + size, "after")):
        libc.mprotect(start, GUARD_BYTES, protection[region[side]])
    own, flags = whole + GUARD_BYTES, mmap.MAP_SHARED | MAP_FIXED
    if libc.mmap(own, size, protection["all"], flags, fd, region["offset"]) != own:
        raise MemoryError("an array cannot be mapped between its guards")
    return own + int(region["begin"])


NORESERVE: Final = getattr(mmap, "MAP_NORESERVE", 0)


def _main() -> None:
    request: dict[str, Any] = marshal.loads(bytes.fromhex(sys.stdin.read()))
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    library = ctypes.CDLL(request["library"], mode=os.RTLD_NOW | os.RTLD_LOCAL)
    entry = library[request["symbol"]]
    addresses = [_placed(region, request["fd"], libc) for region in request["regions"]]
    counts = [] if request["count"] is None else [request["count"]]
    entry.argtypes = [*(ctypes.c_void_p for _ in addresses), *(ctypes.c_int64 for _ in counts), ctypes.c_int]
    entry.restype = ctypes.c_int
    before = control_words(environment())
    status = entry(*addresses, *counts, request["threads"])
    after = control_words(environment())
    print()
    fault = said_fault(library, request["symbol"])
    answer = {"status": status, "changed": changed(before, after), "fault": fault}
    print(marshal.dumps(answer).hex(), flush=True)
    os._exit(0)


if __name__ == "__main__":
    _main()
