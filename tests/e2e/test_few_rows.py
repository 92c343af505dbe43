"""Few rows on a CPU: B is read where it lies, to the end of its last vector, beyond which nobody may read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.host_tuning import for_host

from imbrex import compile
from imbrex.config.context import round_up
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.tuning import parse, text


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
    wide = 16 * vectors
    tile = parse(for_host(f"v1:cpu:{rows},{wide},{rows},{wide},48,16,k_blocked,b,straight"))
    assert isinstance(tile, CpuTuning)
    tuning = replace(tile, n_per_block=round_up(columns, tile.n_per_thread))
    kernel = compile(f"gemm -m {rows} -n {columns} -k {k}", tuning=text(tuning), threads=1)
    assert kernel.check().is_right
