"""kill -9 at random points of a compile: the next one gives the right result, and the cache is intact.

Ten times; `pytest tests/e2e/test_killed.py --kills 200` for more.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.e2e.killed import GEMM
from tests.patience import HANG_S

from imbrex.build.cache import Cache, private
from imbrex.kernel import compile

# The compiler as far as `imbrex.build.toolchain` sees it: units become empty objects, and they a library.
QUICK = """#!/bin/sh
case "$1" in --version) echo quick 1; exit;; esac
while [ $# -gt 0 ]; do case "$1" in -o) out=$2;; esac; shift; done
case "$out" in *.so) exec cp "{library}" "$out";; *) : > "$out";; esac
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_compiles_that_are_killed(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    times, seed = int(request.config.getoption("--kills")), random.randrange(1 << 32)
    print(f"seed {seed}")
    library = compile(GEMM, threads=1).library.path
    compiler, temporary, root = tmp_path / "quick", tmp_path / "temporary", tmp_path / "cache"
    compiler.write_text(QUICK.format(library=library))
    compiler.chmod(0o755)
    temporary.mkdir()
    ended = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("killed.py")), str(root), str(times), str(seed)],
        env={
            **os.environ,
            "IMBREX_CXX": str(compiler),
            "TMPDIR": str(temporary),
            "OPENBLAS_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        timeout=HANG_S + 5 * times,
    )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > times // 4, "few were killed while they worked"
    _assert_rubbish_goes(root, temporary)


def _assert_rubbish_goes(root: Path, temporary: Path) -> None:
    """A day later, with the next build: what the killed left, if they did, and what they might have left."""
    (temporary / f"{private.PREFIX}killed").mkdir()
    (root / "v1" / "incoming" / "killed").mkdir()
    left = [*temporary.glob(f"{private.PREFIX}*"), *(root / "v1" / "incoming").iterdir()]
    (root / "v1" / "swept").touch()  # nobody has swept where all were killed before
    then = time.time() - 2 * private.STALE_S
    for path in (*left, root / "v1" / "swept"):
        os.utime(path, (then, then))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(temporary))
        Cache(root).object("0" * 64, lambda directory: (directory / "kernel.so").touch())
    assert not [path for path in left if path.exists()]
