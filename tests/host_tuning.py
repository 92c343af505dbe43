"""Tunings of a CPU for the host: tests write them for vectors of 64 bytes and 32 registers.

Law: what is legal where it is written is legal on every level that has its unit, with as many vectors to a
block; on a host of such vectors it is the very text.
"""

from __future__ import annotations

import re
from dataclasses import replace

from imbrex.build.isa import host_isa
from imbrex.chip import CPU_ISAS, CpuMachine
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.tuning import parse
from imbrex.config.tuning import text as text_of
from imbrex.view.mma.vector import CPU_UNITS

__all__ = ["WRITTEN_FOR", "for_host", "for_machine"]

WRITTEN_FOR = CPU_ISAS["avx512"]


def for_host(text: str) -> str:
    """The text of a tuning or of a configuration, each tuning of a CPU in it for the host's vectors."""
    return for_machine(text, CPU_ISAS[host_isa().level])


def for_machine(text: str, machine: CpuMachine) -> str:
    if (machine.vector_bytes, machine.vector_registers) == (
        WRITTEN_FOR.vector_bytes,
        WRITTEN_FOR.vector_registers,
    ):
        return text
    return re.sub(r"v1:cpu:[\w,]+", lambda found: text_of(_cut(parse(found[0]), machine)), text)


def _cut(tuning: object, machine: CpuMachine) -> CpuTuning:
    """The tuning in shorter vectors: fewer of them, and then fewer rows, where registers do not suffice.  One
    that has not enough of them where it is written has not enough anywhere.
    """
    assert isinstance(tuning, CpuTuning), tuning
    rows, vectors = tuning.m_per_thread, tuning.vectors
    if _fits(tuning, rows, vectors, WRITTEN_FOR):
        while vectors > 1 and not _fits(tuning, rows, vectors, machine):
            vectors -= 1
        while not _fits(tuning, rows, vectors, machine):
            rows -= 1
    lanes = tuning.vector_lanes * machine.vector_bytes // WRITTEN_FOR.vector_bytes
    return replace(
        tuning,
        m_per_thread=rows,
        n_per_thread=vectors * lanes,
        m_per_block=tuning.m_per_block // tuning.m_per_thread * rows,
        n_per_block=tuning.n_per_block // tuning.n_per_thread * vectors * lanes,
        vector_lanes=lanes,
    )


def _fits(tuning: CpuTuning, rows: int, vectors: int, machine: CpuMachine) -> bool:
    unit = CPU_UNITS[tuning.unit]
    return unit.registers(rows, vectors) <= unit.available(machine)
