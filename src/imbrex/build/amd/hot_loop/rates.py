"""Rates: what a compute unit of each chip does in a clock, as far as the hot loop's model needs it.

A compute unit has four SIMDs, one matrix pipe each.  A SIMD's turn to issue comes every fourth clock; in one
turn it issues at most one instruction of a wave, and of different waves at most one for each unit.  LDS and
the path to the first-level cache serve all four.
"""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.build.amd.hot_loop.text import Inst
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.view.mma import instructions

__all__ = ["RATES", "SIMDS", "TURN", "Rates", "matrix_clocks", "rates_of", "vector_clocks"]

SIMDS = 4
TURN = 4
"""Clocks from one turn of a SIMD to its next; a vector instruction of 64 lanes takes one turn."""

_QUARTER_RATE = (
    "v_mul_lo",
    "v_mul_hi",
    "v_mad_u64",
    "v_mad_i64",
    "v_rcp",
    "v_rsq",
    "v_sqrt",
    "v_exp",
    "v_log",
)


@dataclass(frozen=True)
class Rates:
    """lds_bytes, l1_bytes: of a compute unit in one clock.

    shadow: clocks from the issue of a matrix instruction in which no vector instruction issues.
    exclusive: types of A whose matrix instructions admit no vector instruction until they are done.
    lds_latency, memory_latency: clocks from an access alone on its path to its result, besides its transfer.
    """

    lds_bytes: int
    l1_bytes: int
    shadow: int
    exclusive: frozenset[str]
    lds_latency: int
    memory_latency: int
    source: str


_COEXECUTION = "shadow and exclusive: AMD matrix instruction calculator 1.3.2, entries on VALU co-execution"
_LATENCY = (
    "latencies: rounded up from third-party measurements of MI300X (chipsandcheese.com, 2024): LDS 31 ns, "
    "HBM 350 ns at 2.1 GHz"
)

RATES: dict[str, Rates] = {
    "gfx908": Rates(128, 64, 8, frozenset(), 128, 750, f"MI100 ISA; {_COEXECUTION}; {_LATENCY}"),
    "gfx90a": Rates(128, 64, 8, frozenset({"f64"}), 128, 750, f"MI200 ISA; {_COEXECUTION}; {_LATENCY}"),
    "gfx942": Rates(
        128, 64, 4, frozenset({"f32", "f64"}), 128, 750, f"MI300 ISA; {_COEXECUTION}; {_LATENCY}"
    ),
    "gfx950": Rates(
        256, 64, 4, frozenset({"f32", "f64"}), 128, 750, f"CDNA4 ISA; as gfx942 where not told; {_LATENCY}"
    ),
}


def rates_of(chip: str) -> Rates:
    """A Diagnostic where the chip is none of RATES."""
    if chip not in RATES:
        hint = did_you_mean(chip, RATES) or f"known: {', '.join(RATES)}"
        raise Diagnostic(f"the hot-loop model does not know '{chip}'", hint=hint)
    return RATES[chip]


def matrix_clocks(inst: Inst, chip: str) -> tuple[int, bool]:
    """Clocks from its issue to the next one's on the matrix pipe, and whether it shuts out vector ones."""
    for entry in instructions(chip):
        if entry.mnemonic_on(chip) == inst.name:
            return entry.cycles[chip], entry.a_type in RATES[chip].exclusive
    raise AssertionError(f"{inst.name} is not in the table of {chip}")


def vector_clocks(inst: Inst) -> int:
    """Clocks in which the SIMD issues no other vector instruction: integer products take four turns."""
    return 4 * TURN if inst.name.startswith(_QUARTER_RATE) else TURN
