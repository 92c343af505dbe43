"""Interleave: the launch that fills an input's gradient from its phases; see `view.copy.interleave`.

%phase = workspace : 128x256x28x28     one for each residue of rows and columns that has taps
gridwise_gemm(.., %phase)
launch: %input = the phases, and zeros where there is none
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from imbrex.ir.passes.packing import copy, launch, workspace
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import PRIVATE, element_of
from imbrex.view.conv.implicit_gemm import phases
from imbrex.view.copy.interleave import Interleave

__all__ = ["phase_arrays", "put_together"]


def phase_arrays(view: Interleave, array: SSAValue, run: Run) -> list[SSAValue]:
    """Workspaces for the phases of an input's gradient, in the order of `implicit_gemm.phases`."""
    return [workspace("phase", element_of(array), view.phase(*phase), run) for phase in phases(view.conv)]


def put_together(view: Interleave, apart: Sequence[SSAValue], array: SSAValue, run: Run) -> None:
    """The launch that fills an input's gradient from its phases."""
    element, all_phases = element_of(array), phases(view.conv)
    written = run.view(array, view.written.layers, "input")
    sources = [
        run.view(one, view.read(*phase).layers, "phase") for one, phase in zip(apart, all_phases, strict=True)
    ]

    def body(into: Run, coords: Sequence[SSAValue]) -> None:
        box = into.alloc("thread_input", element, [d.size for d in view.box], PRIVATE)
        if len(all_phases) < view.rows * view.residues:
            into.zero(box)
        sizes = [view.pieces, view.columns]
        parts = [into.alloc("thread_phase", element, sizes, PRIVATE) for _ in sources]
        for source, part in zip(sources, parts, strict=True):
            into.add(copy(source, coords, part, []))
        for part, phase in zip(parts, all_phases, strict=True):
            into.add(copy(part, [], into.view(box, [view.kept(*phase)], "thread_input"), []))
        stored = into.view(box, [view.stored], "thread_input")
        into.add(copy(stored, [], written, coords))

    launch(view.workgroups, view.workitems, body, run)
