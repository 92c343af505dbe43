"""compute-sanitizer over a sample of all kernel families: out-of-bounds and misaligned accesses, and races.

    python tests/gpu/sanitize.py                 memcheck and racecheck, a few kernels of every family
    python tests/gpu/sanitize.py --tool memcheck --count 6 --only gemm

Every family has a process of its own, since the first fault ends one.  Arrays are NumPy's, so that each has
an allocation of its own that ends where it ends.  Exit code 1 where a tool finds anything, or a result is
wrong.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from gpu_case import TARGET, Case
from gpu_cases import sample

from imbrex.bench.prepare import prepare
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import compile

FOUND = 86
"""The exit code that we ask of the tool."""
OPTIONS = {"memcheck": ("--report-api-errors=no",)}
"""Of tools.  cuda-bindings looks up every function that its header names, also those that this driver does
not have, and memcheck counts each such cuGetProcAddress as an error.  Other calls that fail raise in Python.
"""


def main() -> int:
    options = arguments()
    cases = [case for case in sample(options.count) if options.only in str(case)]
    if options.inside:
        return run([case for case in cases if case.family == options.family])
    program = shutil.which("compute-sanitizer")
    if program is None:
        print("compute-sanitizer is not on the PATH; it comes with the CUDA toolkit", file=sys.stderr)
        return 1
    prepare((case.wanted for case in cases), os.cpu_count() or 1)
    families, tools = dict.fromkeys(case.family for case in cases), options.tool.split(",")
    pairs = list(product(tools, families))
    with ThreadPoolExecutor(options.jobs) as pool:
        codes = list(pool.map(lambda pair: under(program, *pair, options), pairs))
    return int(any(codes))


def under(program: str, tool: str, family: str, options: argparse.Namespace) -> int:
    """The tool's verdict on this very script, which runs the family's cases inside."""
    own = [sys.executable, __file__, "--inside", "--family", family]
    own += ["--count", str(options.count), "--only", options.only]
    started = time.monotonic()
    command = [program, "--tool", tool, f"--error-exitcode={FOUND}", "--print-limit=20"]
    command += [*OPTIONS.get(tool, ()), *own]
    try:
        code = subprocess.run(command, timeout=options.limit).returncode
    except subprocess.TimeoutExpired:
        print(f"{tool} {family}: stopped after {options.limit:.0f} s", flush=True)
        return 1
    verdict = {0: "clean", FOUND: "errors"}.get(code, f"exit code {code}")
    print(f"{tool} {family}: {verdict}, {time.monotonic() - started:.0f} s", flush=True)
    return code


def run(cases: list[Case]) -> int:
    wrong = 0
    for case in cases:
        try:
            kernel = compile(
                case.problem, TARGET, case.tuning, schedule=case.schedule, algorithm=case.algorithm
            )
        except Diagnostic as error:
            print(f"refused {case}: {error.message}", flush=True)
            continue
        outcome = kernel.check()
        wrong += not outcome.is_right
        print(f"{'right' if outcome.is_right else outcome} {case}", flush=True)
    return int(wrong > 0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tool", default="memcheck,racecheck", help="of compute-sanitizer, several by comma")
    parser.add_argument("--count", type=int, default=5, help="cases of each family")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds this")
    parser.add_argument(
        "--limit", type=float, default=150.0, metavar="SECONDS", help="of one tool and family"
    )
    parser.add_argument("--jobs", type=int, default=1, help="families at a time on the GPU")
    parser.add_argument("--family", default="", help=argparse.SUPPRESS)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
