"""Make: a kit as one archive: code objects, what they have to give, and the program that finds out.

Law: of the same kernels by the same version the archive is the same, byte by byte.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import tarfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from typing import Any, Final

from imbrex.build.cache import entry_bytes
from imbrex.config.configuration import parse
from imbrex.config.predicted import predicted_seconds
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Kernel, Target, compile
from imbrex.kit.cases import Case
from imbrex.kit.expected import case_of, element_of
from imbrex.kit.runner.main import FORMAT
from imbrex.version import __version__

__all__ = ["archive", "press_of"]

FOLDER: Final = "kit"
PRESSES: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".tar": lambda tar: tar,
    ".tar.gz": partial(gzip.compress, mtime=0),
    ".tgz": partial(gzip.compress, mtime=0),
    ".tar.xz": lzma.compress,
}
"""What makes a file of that name of an archive."""
PROGRAM: Final = """import sys

try:
    import numpy
except ImportError:
    sys.exit("error: this program needs NumPy: python3 -m pip install numpy")
from runner.main import main

sys.exit(main())
"""
README: Final = """Kernels for {target} by Imbrex {version}, and what they have to give.

    python3 verify.py                runs all {count} on GPU 0, {timed} of them timed, and writes report.json
    python3 verify.py --help         another GPU, a part of the kernels, where the HIP runtime is

It needs a GPU of the kind {target}, ROCm's HIP runtime (libamdhip64.so), Python 3.10 or later and NumPy.
Send back report.json: imbrex verify --read report.json shows it.
"""


def press_of(name: str) -> Callable[[bytes], bytes]:
    """What makes the file of that name of an archive; a Diagnostic where it is none's."""
    found = next((press for suffix, press in PRESSES.items() if name.endswith(suffix)), None)
    if found is None:
        raise Diagnostic(f"'{name}' is no name of an archive", hint=f"it should end in {', '.join(PRESSES)}")
    return found


def archive(cases: Sequence[Case], target: Target, *, untuned: bool = False) -> bytes:
    """The archive.  untuned: what was measured is not used.  A Diagnostic where a problem has no kernel."""
    held: dict[str, bytes] = {}
    found: list[dict[str, Any]] = []
    types: dict[str, Any] = {}
    for number, case in enumerate(cases):
        kernel = _kernel(case, target, untuned)
        name = f"code/{number:03}.hsaco"
        held[name] = entry_bytes(kernel.library.path)
        types |= {o.dtype.name: element_of(o.dtype) for o in kernel.problem.operands}
        own = case_of(kernel, number, is_timed=case.is_timed)
        found.append({**own, "file": name, "predicted_s": _predicted(kernel)})
    kit: dict[str, Any] = {"format": FORMAT, "imbrex": __version__, "target": target.chip, "types": types}
    kit["cases"] = found
    kit["digest"] = _digest(kit, held)
    held["kit.json"] = json.dumps(kit).encode()
    held["verify.py"] = PROGRAM.encode()
    timed = sum(case.is_timed for case in cases)
    readme = README.format(target=target.chip, version=__version__, count=len(cases), timed=timed)
    held["README.txt"] = readme.encode()
    program = files("imbrex.kit.runner")
    for file in program.iterdir():
        if file.name.endswith(".py"):
            held[f"runner/{file.name}"] = file.read_bytes()
    return _packed(held)


def _kernel(case: Case, target: Target, untuned: bool) -> Kernel:
    said = {"tuning": case.tuning, "algorithm": case.algorithm, "schedule": case.schedule}
    given: dict[str, Any] = {
        name: text for name, text in (said | {"config": case.config}).items() if text is not None
    }
    return compile(case.problem, target, untuned=untuned, **given)


def _predicted(kernel: Kernel) -> float | None:
    assert kernel.origin is not None
    return predicted_seconds(kernel.origin.options.request(), parse(kernel.configuration))


def _digest(kit: dict[str, Any], held: dict[str, bytes]) -> str:
    """What a report names its kit by."""
    found = hashlib.sha256(json.dumps(kit, sort_keys=True).encode())
    for name in sorted(held):
        found.update(hashlib.sha256(held[name]).digest())
    return found.hexdigest()[:16]


def _packed(held: dict[str, bytes]) -> bytes:
    """One folder; nobody's files, of no time."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name in sorted(held):
            entry = tarfile.TarInfo(f"{FOLDER}/{name}")
            entry.size, entry.mode = len(held[name]), 0o644
            tar.addfile(entry, io.BytesIO(held[name]))
    return made.getvalue()
