"""From a problem's text to files that you can read, change and ship: what `imbrex build` does."""

import tempfile
from pathlib import Path

import imbrex
from imbrex.cli.build import write_files

forward, backward_data, backward_weight = imbrex.parse_problem("conv -n 4 -c 32 -H 14 -W 14 -k 64 -y 1 -x 1")

for problem in (forward, backward_data, backward_weight):
    kernel = imbrex.compile(problem)
    print(f"{kernel.name:24} {kernel.check()}")

# The lane-level build runs the GPU schedule, 64 to 256 work items with LDS and barriers, on this machine.
emulated = imbrex.compile(forward, target="emulate", tuning="v1:general:64,64,64,8,4,4")
print(f"{'the GPU schedule':24} {emulated.check()}")

with tempfile.TemporaryDirectory() as folder:
    write_files(emulated, Path(folder) / "out")
    print(sorted(path.name for path in (Path(folder) / "out").iterdir()))
