"""Samples: the problems whose times a calibration fits a model to, and which configurations of each.

Law: what is drawn by lot is always the same, so that a calibration that was interrupted goes on with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Final

import numpy as np

from imbrex.chip import CpuMachine, Machine, parameters, with_parameters
from imbrex.config.candidates import Candidate
from imbrex.config.modelled import is_modelled, modelled
from imbrex.config.request import Request

__all__ = ["LOOKED_AT", "problems_for", "spread"]

_CONV: Final = "-u 1 -v 1 -l 1 -j 1 -g 1 -F 1"
_LAST: Final = "-f NHWC -I NHWC -O NHWC"
_CPU: Final = (
    "gemm -m 960 -n 1100 -k 1000 -transA 1",
    "gemm -m 448 -n 448 -k 448 -transB 1",
    "gemm -m 512 -n 48 -k 512",
    f"conv -n 1 -c 64 -H 28 -W 28 -k 128 -y 1 -x 1 -p 0 -q 0 {_CONV}",
    "gemm -m 288 -n 288 -k 288 -transA 1 -transB 1",
    "gemm -m 16 -n 768 -k 768",
    f"conv -n 1 -c 96 -H 14 -W 14 -k 96 -y 3 -x 3 -p 1 -q 1 {_CONV}",
    "gemm -m 97 -n 203 -k 151",
    f"conv -n 1 -c 256 -H 7 -W 7 -k 512 -y 1 -x 1 -p 0 -q 0 {_CONV} {_LAST}",
    "gemm -m 320 -n 320 -k 320 -transA 1",
    "gemm -m 4 -n 2048 -k 512 -transB 1",
    f"conv -n 1 -c 32 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 {_CONV} {_LAST}",
    "gemm -m 3000 -n 24 -k 96",
    "gemm -m 211 -n 83 -k 307 -transB 1",
    f"conv -n 1 -c 3 -H 64 -W 64 -k 24 -y 5 -x 5 -p 2 -q 2 {_CONV}",
    "gemm -m 1000 -n 32 -k 200 -transA 1",
    "gemm -m 128 -n 640 -k 512 -transA 1 -transB 1",
    f"conv -n 1 -c 512 -H 7 -W 7 -k 128 -y 3 -x 3 -p 1 -q 1 {_CONV}",
    "gemm -m 40 -n 1024 -k 1024",
    f"conv -n 1 -c 48 -H 40 -W 40 -k 96 -y 1 -x 1 -p 0 -q 0 {_CONV} {_LAST}",
)
"""Problems of some hundredths to one millisecond: squares, skinny and odd products, windows; and one of more
than L2 holds.
"""
_WARPGROUPS: Final = (
    "gemm -t f16 -m 4096 -n 4096 -k 4096 -transB 1",
    "gemm -t f16 -m 8192 -n 1024 -k 2048",
    "gemm -t bf16 -m 512 -n 8192 -k 8192 -transB 1",
    "gemm -t f16 -m 128 -n 4096 -k 14336 -transB 1",
    "gemm -t f16 -m 2048 -n 2048 -k 512 -transA 1",
    "gemm -t f16 -m 1536 -n 1536 -k 1536",
    "gemm -t f16 -m 640 -n 640 -k 10240 -transB 1",
    "gemm -t bf16 -m 16384 -n 256 -k 1024 -transB 1",
    "gemm -t f16 -m 2960 -n 1480 -k 760",
    "gemm -t f16 -m 1024 -n 3072 -k 5120 -transA 1 -transB 1",
    "gemm -t fp8 -m 4096 -n 4096 -k 4096 -transB 1",
    "gemm -t f16 -m 264 -n 6144 -k 3000 -transB 1",
)
DRAWS: Final = 100
LOOKED_AT: Final = 400
"""How many of a problem's cheapest the models with other parameters choose from."""
APART: Final = 0.6
"""Standard deviation of their parameters, as a part of the way to the bounds."""


def problems_for(machine: Machine) -> Sequence[str]:
    """Texts of the problems."""
    return _CPU if isinstance(machine, CpuMachine) else _WARPGROUPS


def spread(ranked: Sequence[Candidate], request: Request, count: int) -> list[int]:
    """Places of so many candidates, of more the first ones are the same: the model's pick, then in turn what
    it would pick with other parameters, which is where a fit could lead, and any.
    """
    served = [i for i, of in enumerate(ranked[:LOOKED_AT]) if is_modelled(of.configuration)]
    model = modelled(request, [ranked[i].configuration for i in served])
    fitted, chance = parameters(request.machine), np.random.default_rng(0)
    picks = dict.fromkeys(served[:1])
    for _ in range(DRAWS):
        ways = np.clip(APART * chance.normal(size=len(fitted)), -1, 1)
        values = [
            (p.name, p.default * (p.high / p.default) ** float(way))
            for p, way in zip(fitted, ways, strict=True)
        ]
        picks[served[int(np.argmin(model(with_parameters(request.machine, values))))]] = None
    any_ones = chance.permutation(served).tolist()
    in_turn = chain.from_iterable(zip_longest(picks, any_ones))
    return list(dict.fromkeys(index for index in in_turn if index is not None))[:count]
