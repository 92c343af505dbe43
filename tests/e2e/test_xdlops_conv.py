"""Convolutions on waves, in three directions: awkward windows, layouts, types and tunings."""

from __future__ import annotations

from typing import Any

import pytest
from tests.e2e.covering import Row, covering, pairs
from tests.e2e.many import Case, wrong
from tests.pairs import one_in

SHAPES = {
    "one element": "-n 1 -c 1 -H 1 -W 1 -k 1 -y 1 -x 1 -p 0 -q 0",
    "primes, 3x3": "-n 2 -c 7 -H 13 -W 11 -k 17 -y 3 -x 3 -p 1 -q 1",
    "a tile": "-n 2 -c 32 -H 8 -W 8 -k 64 -y 1 -x 1 -p 0 -q 0",
    "a tile and one": "-n 1 -c 33 -H 5 -W 13 -k 65 -y 1 -x 1 -p 0 -q 0",
    "stride, dilation, groups, asymmetric pads": (
        "-n 2 -c 6 -H 11 -W 13 -k 8 -y 3 -x 5 -p 2,0 -q 1,3 -u 2 -v 3 -l 2 -j 1 -g 2"
    ),
    "stride beyond the window": "-n 1 -c 3 -H 9 -W 8 -k 4 -y 1 -x 2 -p 0 -q 0 -u 3 -v 3",
    "depthwise": "-n 2 -c 5 -H 9 -W 9 -k 5 -y 3 -x 3 -p 1 -q 1 -g 5",
    "stem": "-n 1 -c 3 -H 15 -W 17 -k 17 -y 7 -x 7 -p 3 -q 3 -u 2 -v 2",
}
AXES = {
    "direction": (1, 2, 4),
    "shape": tuple(SHAPES),
    "layout": ("", " -I NHWC -f KYXC -O NHWC", " -I CNHW -f CKYX -O HWNK"),
    "op": ("conv", "convfp16", "convbfp16", "convint8", "convfp64"),
    "lds": ("xor", "padded", "plain", "tiled"),
    "swapped": ("straight", "swapped"),
    "interleave": (1, 2),
    "waves": ((1, 1), (2, 2)),
    "pack": (8, 16),
    "chip": ("gfx90a", "gfx942", "gfx950"),
}
"""pack: bytes of neighbours along k that stay together."""

SIZES = {"conv": 4, "convfp16": 2, "convbfp16": 2, "convint8": 1, "convfp64": 8}

CHANNELS_LAST = "-I NHWC -f KYXC -O NHWC"
DIRECT = (
    f"convfp16 -n 2 -c 16 -H 7 -W 9 -k 37 -y 3 -x 3 -p 1 -q 1 -F 1 {CHANNELS_LAST}",
    f"conv -n 1 -c 8 -H 9 -W 8 -k 33 -y 3 -x 2 -p 1,0 -q 0 -u 2 -v 2 -F 1 {CHANNELS_LAST}",
    f"convint8 -n 3 -c 32 -H 5 -W 5 -k 17 -y 3 -x 3 -p 1 -q 1 -l 2 -j 2 -F 1 {CHANNELS_LAST}",
    f"convbfp16 -n 2 -c 32 -H 5 -W 7 -k 16 -y 1 -x 1 -p 0 -q 0 -g 2 -F 1 {CHANNELS_LAST}",
)


def allowed(row: Row) -> bool:
    """MIOpen's int8 is forward only."""
    return row.get("op") != "convint8" or row.get("direction", 1) == 1


def case(row: Row) -> Case:
    size = SIZES[row["op"]]
    rows, columns = (32 * count for count in row["waves"])
    numbers = [rows, columns, 8, 32, 32, row["pack"] // size, "auto"]
    words = [*numbers, row["lds"], "staged", row["swapped"], row["interleave"]]
    line = f"{row['op']} {SHAPES[row['shape']]} -F {row['direction']}{row['layout']}"
    return Case.of(line, f"v1:xdlops:{','.join(map(str, words))}", row["chip"])


ROWS = one_in(2, covering(AXES, allowed))


@pytest.mark.parametrize("part", range(3))
def test_staged(part: int) -> None:
    assert wrong([case(row) for row in ROWS[part::3]], seed=part) == []


def test_direct() -> None:
    """Both operands have channels last, so that k has neighbours: 4 bytes of them on gfx942, 16 on gfx950."""
    tuning = "v1:xdlops:64,64,4,32,32,{},auto,{},direct,{}"
    cases: list[Case] = []
    for i, line in enumerate(DIRECT):
        for j, chip in enumerate(("gfx942", "gfx950")):
            lds, order = ("xor", "plain", "tiled")[(i + j) % 3], ("straight", "swapped")[(i + j) % 2]
            cases.append(Case.of(line, tuning.format(16 // SIZES[line.split()[0]], lds, order), chip))
    assert wrong(cases) == []


def test_atomic() -> None:
    """Backward data that adds overlapping windows in memory; and where it does not overlap, and stores."""
    tuning = "v1:xdlops:32,64,4,32,32,4,auto,xor,staged,{}"
    lines = ["conv -n 2 -c 7 -H 13 -W 11 -k 17 -y 3 -x 3 -p 1 -q 1 -F 2", f"conv {SHAPES['a tile']} -F 2"]
    cases = [
        Case.of(line, tuning.format(order), "gfx942", "v1r1")
        for line in lines
        for order in ("straight", "swapped")
    ]
    assert wrong(cases) == []


def test_every_value_is_met() -> None:
    met: set[tuple[str, Any]] = {entry for row in ROWS for pair in pairs(row) for entry in pair}
    assert met == {(name, value) for name, values in AXES.items() for value in values}
