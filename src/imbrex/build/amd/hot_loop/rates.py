"""Clocks of instructions, by the rates of `imbrex.chip`, as far as the hot loop's model needs them.

A compute unit has four SIMDs, one matrix pipe each.  A SIMD's turn to issue comes every fourth clock; in one
turn it issues at most one instruction of a wave, and of different waves at most one for each unit.  LDS and
the path to the first-level cache serve all four.
"""

from __future__ import annotations

from imbrex.build.amd.hot_loop.text import Inst
from imbrex.chip import GPU_MACHINES, TURN, GpuMachine, Rates
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.view.mma import instructions

__all__ = ["matrix_clocks", "modelled", "rates_of", "vector_clocks"]


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


def modelled(chip: str) -> GpuMachine:
    """The GPU; a Diagnostic where its rates are not known."""
    known = [name for name, gpu in GPU_MACHINES.items() if gpu.rates is not None]
    if chip not in known:
        hint = did_you_mean(chip, known) or f"known: {', '.join(known)}"
        raise Diagnostic(f"the hot-loop model does not know '{chip}'", hint=hint)
    return GPU_MACHINES[chip]


def rates_of(gpu: GpuMachine) -> Rates:
    """The rates of a GPU that is modelled."""
    assert gpu.rates is not None, gpu.name
    return gpu.rates


def matrix_clocks(inst: Inst, gpu: GpuMachine) -> tuple[int, bool]:
    """Clocks from its issue to the next one's on the matrix pipe, and whether it shuts out vector ones.

    Its types, where they are no part of its name, are two modifiers.  One that takes scales lasts as long as
    the one without.
    """
    name = inst.name.replace("v_mfma_scale_", "v_mfma_")
    given = dict(word.split(":") for word in inst.modifiers if word.startswith(("cbsz:", "blgp:")))
    for entry in instructions(gpu.chip):
        formats = entry.arguments[3:5] if entry.scale_a is not None else ()
        if entry.mnemonic_on(gpu.chip) == name and all(
            given.get(word, "0") == number for word, number in zip(("cbsz", "blgp"), formats, strict=False)
        ):
            return entry.cycles[gpu.chip], entry.a_type in rates_of(gpu).exclusive
    raise AssertionError(f"{inst.name} is not in the table of {gpu.name}")


def vector_clocks(inst: Inst) -> int:
    """Clocks in which the SIMD issues no other vector instruction: integer products take four turns."""
    return 4 * TURN if inst.name.startswith(_QUARTER_RATE) else TURN
