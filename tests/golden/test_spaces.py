"""What is worth a try, and in which order: tunings of each kind, windows that come into shared memory once,
strips of lanes, orders of tiles, with the model's numbers.

    pytest tests/golden --update-golden     writes what there is now

`test_ranked` shows six candidates of a few problems; these are all of more, as a number and a digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.golden.kept import expect_kept, expect_only

from imbrex.chip import CPU_ISAS, GPU_MACHINES, Machine
from imbrex.config import tuning
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.config.algorithm.depthwise import has_window_vectors, strips_shape
from imbrex.config.algorithm.table import ALGORITHMS
from imbrex.config.algorithm.task import task_of
from imbrex.config.algorithm.windows import priced_of
from imbrex.config.context import Access, GemmContext
from imbrex.config.kinds import KINDS
from imbrex.config.request import Request
from imbrex.config.tile_order import offers
from imbrex.config.window_strips import served_boxes, window_cycles
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import DTYPES
from imbrex.problem import Conv2d

FOLDER = Path(__file__).parent / "spaces"
LAST = {"filter_layout": "KYXC", "input_layout": "NHWC", "output_layout": "NHWK"}
SAME = {"pad_h": 1, "pad_w": 1}
DIRECTIONS = ("forward", "backward_data", "backward_weight")
LONG, SHORT = Access((8, 8), (4096.0, 64.0)), Access((1, 4), (3.0, 28.0))
MACHINES: dict[str, Machine] = {
    **{name: replace(CPU_ISAS[name], threads=4) for name in ("avx2", "amx")},
    **{name: GPU_MACHINES[name] for name in ("gfx908", "gfx942", "gfx950", "sm_90a")},
}
PRODUCTS = (
    ("f16", 256, 4096, 1024, 1), ("i8", 137, 131, 139, 3), ("f64", 60, 70, 900, 1),
)  # fmt: skip
WINDOWS = (
    ((16, 64, 56, 56, 64, 3, 3), {}), ((4, 32, 28, 28, 128, 3, 3), {}), ((32, 128, 7, 7, 128, 3, 3), {}),
    ((4, 64, 30, 53, 64, 3, 3), {"groups": 8}), ((2, 64, 17, 17, 64, 5, 5), {"pad_h": 2, "pad_w": 2}),
    ((8, 48, 14, 14, 48, 3, 3), {"groups": 2}),
)  # fmt: skip
STRIPS = (
    ((2, 64, 28, 28, 64, 3, 3), {"groups": 64}), ((1, 32, 30, 41, 32, 5, 3), {"groups": 8, "stride": 2}),
    ((4, 24, 14, 14, 48, 3, 3), {"groups": 12}), ((1, 48, 60, 20, 96, 3, 3), {"groups": 3, "dilation": 2}),
)  # fmt: skip
SERVED = (
    ((2, 64, 28, 28, 64, 3, 3), {"dtype": "f16", "groups": 8, **SAME}),
    ((2, 64, 16, 16, 64, 3, 3), {"dtype": "f16", "stride": 2, **SAME, **LAST}),
    ((2, 64, 28, 28, 64, 1, 1), {"dtype": "f16"}),
    ((1, 3, 30, 30, 48, 7, 7), {"dtype": "bf16", "stride": 2, "pad_h": 3, "pad_w": 3}),
    ((2, 40, 9, 7, 40, 3, 3), {"groups": 40, **SAME, **LAST}),
)  # fmt: skip
ORDERS = (
    ("gfx942", "v1:xdlops:256,64,4,64,32,8"),
    ("gfx942", "v1:xdlops:256,64,4,64,32,8,auto,xor,staged,swapped"),
    ("gfx950", "v1:xdlops:128,128,8,64,64,8"), ("gfx942", "v1:general:256,128,64,16,4,4"),
)  # fmt: skip


def counted(found: Iterable[Any]) -> str:
    """How many there are, the first, the last, and a digest of all."""
    texts = [str(one) for one in found]
    ends = f": {texts[0]} .. {texts[-1]}" if texts else ""
    return f"{len(texts)} {sha256(chr(0).join(texts).encode()).hexdigest()[:12]}{ends}"


def tunings() -> Iterator[str]:
    for (name, machine), (dtype, m, n, k, g) in (
        (pair, product) for pair in MACHINES.items() for product in PRODUCTS
    ):
        for a, b in ((LONG, SHORT), (SHORT, LONG)):
            context = GemmContext(m, n, k, DTYPES[dtype], g, a=a, b=b, c=LONG)
            for kind in KINDS.values():
                if found := kind.tunings(context, machine) if kind.is_usual(context, machine) else ():
                    yield f"{name} {dtype} {m}x{n}x{k}x{g} {kind.family} {counted(map(tuning.text, found))}"


def windows() -> Iterator[str]:
    for (sizes, given), layout, direction in (
        (of, layout, direction) for of in WINDOWS for layout in (LAST, {}) for direction in DIRECTIONS
    ):
        problem = Conv2d(direction, *sizes, dtype="f16", **SAME | given | layout)
        try:
            priced = priced_of(task_of(problem))
        except Diagnostic as error:
            yield f"{problem.key()} {error.message}"
        else:
            yield f"{problem.key()} {counted(f'{tuning.text(one)} {of:.6g}' for one, of in priced.items())}"


def strips() -> Iterator[str]:
    for (sizes, given), layout, direction in (
        (of, layout, direction) for of in STRIPS for layout in (LAST, {}) for direction in DIRECTIONS
    ):
        problem = Conv2d(direction, *sizes, **SAME | given | layout)
        shape = strips_shape(task_of(problem))
        yield f"{problem.key()} by windows: {has_window_vectors(task_of(problem))}"
        for name in ("avx2", "avx512"):
            machine = CPU_ISAS[name]
            boxes = served_boxes(shape, machine) if has_window_vectors(task_of(problem)) else ()
            priced = (f"{tuple(box)} {window_cycles(shape, box, machine):.6g}" for box in boxes)
            yield f"    {name} {counted(priced)}"


def orders() -> Iterator[str]:
    for name, text in ORDERS:
        of = tuning.parse(text)
        for m, n, g in ((8192, 8192, 1), (16384, 1024, 1), (640, 12288, 2), (512, 512, 1)):
            found = offers(
                of, GemmContext(m, n, 512, DTYPES["f16"], g, a=LONG, b=LONG, c=LONG), MACHINES[name]
            )
            yield f"{name} {text} {m}x{n}x{g} {counted(f'{one.order} {one.hit_rate:.6g}' for one in found)}"


def algorithms() -> Iterator[str]:
    """Every algorithm for every kind of problem: as it is named in full, or why it does not serve."""
    for sizes, given in SERVED:
        for target, machine in (("cpu", "avx2"), ("gfx942", "gfx942"), ("sm_90a", "sm_90a")):
            for direction in DIRECTIONS:
                problem = Conv2d(direction, *sizes, **given)
                yield f"{problem.key()} on {machine}\n"
                for row in ALGORITHMS:
                    for name in (row.name, f"{row.name}:8") if row.is_counted else (row.name,):
                        request = Request(problem, MACHINES[machine], target, algorithm=name)
                        try:
                            yield f"    {name}: {algorithm_of(request)}"
                        except Diagnostic as error:
                            yield f"    {name}: {error.message} | {error.hint}"


SPACES: dict[str, Callable[[], Iterator[str]]] = {
    "tunings": tunings, "windows": windows, "strips": strips, "orders": orders, "algorithms": algorithms,
}  # fmt: skip


@pytest.mark.parametrize("name", SPACES)
def test_there_is_what_there_was(name: str, update_golden: bool) -> None:
    text, path = "".join(f"{line.rstrip()}\n" for line in SPACES[name]()), FOLDER / f"{name}.txt"
    expect_kept(text, path, update=update_golden)


def test_no_other_text_is_kept() -> None:
    expect_only(SPACES, FOLDER)
