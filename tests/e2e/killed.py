"""Compiles killed at random points: `python killed.py CACHE TIMES SEED`, with a compiler that is quick.

Each child of this process compiles one kernel and is killed, or gets through; after each another child
compiles without being disturbed, and says whether all is right.  What is printed: how many were killed.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from imbrex import pipeline
from imbrex.build.cache import Cache, reader
from imbrex.config import tuning
from imbrex.kernel import compile
from imbrex.problem import Gemm

GEMM = Gemm(3, 4, 5)
LOADED = (pipeline, tuning)  # before the forks, so that they begin where the work does


def made(root: Path) -> None:
    """What is killed."""
    compile(GEMM, threads=1, cache=Cache(root))


def undisturbed(root: Path) -> None:
    """The next one: the right result, and nothing in the cache that is not intact."""
    warnings.simplefilter("error")
    kernel = compile(GEMM, threads=1, cache=Cache(root))
    a, b = np.arange(15.0, dtype=np.float32).reshape(3, 5), np.arange(20.0, dtype=np.float32).reshape(5, 4)
    assert np.array_equal(kernel(a, b), a @ b)
    assert kernel.is_kept and compile(GEMM, threads=1, cache=Cache(root)).was_cached
    found, objects = reader.opened(root), list((root / "v1" / "objects").iterdir())
    assert objects and all(found.is_intact(path.name, ("kernel.so",)) for path in objects)
    assert all(found.recall(path.stem) for path in (root / "v1" / "recipes").iterdir())


def child(work: Callable[[Path], None], root: Path) -> int:
    """Its number; it ends with 0 where `work` returned."""
    number = os.fork()
    if number == 0:
        try:
            work(root)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return number


def main(root: Path, times: int, seed: int) -> int:
    chance, killed = random.Random(seed), 0
    started = time.perf_counter()
    assert os.waitpid(child(made, root), 0)[1] == 0
    latest = time.perf_counter() - started
    for _ in range(times):
        if chance.random() < 0.7:  # else it meets what the one before left
            shutil.rmtree(root)
        number = child(made, root)
        time.sleep(chance.uniform(0, latest))
        os.kill(number, signal.SIGKILL)
        got_through = os.waitpid(number, 0)[1] != signal.SIGKILL
        latest *= 0.7 if got_through else 1.2  # how long a compile takes changes with the machine's load
        killed += not got_through
        if os.waitpid(child(undisturbed, root), 0)[1] != 0:
            return 1
    print(killed)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
