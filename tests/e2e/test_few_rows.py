"""Few rows on a CPU: B is read where it lies, to the end of its last vector, beyond which nobody may read."""

from __future__ import annotations

import pytest

from imbrex import compile
from imbrex.chip import CPU_ISAS
from imbrex.run.host_machine import host_machine


@pytest.mark.parametrize(
    "rows, columns, vectors, k",
    [
        (1, 1000, 6, 37),
        (1, 300, 7, 37),
        (3, 333, 3, 37),
        (1, 5003, 6, 60),
        (2, 1503, 6, 59),
        (2, 1500, 6, 48),
    ],
)
def test_few_rows(rows: int, columns: int, vectors: int, k: int) -> None:
    """The last vector is cut, by mask.  Rows of a larger B pass whole where one or two of A meet them, in
    pieces whose sums stay in the first cache, in each step of K; columns that are summed along K do not.
    """
    lanes = CPU_ISAS[host_machine().isa.level].lanes(4)
    tile = vectors * lanes
    tuning = f"v1:cpu:{rows},{tile},{rows},{-(-columns // tile) * tile},48,{lanes},k_blocked,b,straight"
    kernel = compile(f"gemm -m {rows} -n {columns} -k {k}", tuning=tuning, threads=1)
    assert kernel.check().is_right
