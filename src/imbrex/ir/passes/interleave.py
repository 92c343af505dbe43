"""Interleave: launches that put the phases of a strided gradient together; see `view.copy.interleave`.

%phase = workspace : 128x256x28x28     one for each residue of rows and columns that has taps
gridwise_gemm(.., %phase)
launch: %input = the phases, and zeros where there is none
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.ir import SSAValue

from imbrex.index.map import Dim, layer_over
from imbrex.index.rule import Embed, PassThrough
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.problem import Conv2dBwdDataOp, ConvOp
from imbrex.ir.passes.packing import copy, launch, workspace
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import PRIVATE, element_of
from imbrex.view.conv import implicit_gemm
from imbrex.view.copy.interleave import Interleave

__all__ = ["Phases", "first_phase"]

PHASE: Final = "phase"
"""The workspaces' name."""


def first_phase(op: ConvOp, shape: implicit_gemm.Convolution, run: Run) -> SSAValue:
    """The elements of an input that windows of one tap read, none of them in padding: a dense workspace."""
    element = element_of(op.input)
    view = Interleave.reading(shape, element_bytes(element))
    (phase, *_) = implicit_gemm.phases(shape)
    dest = workspace("sampled", element, view.phase(*phase), run)
    source = run.view(op.input, view.first.layers, "input")
    written = run.view(dest, view.read(*phase).layers, "sampled")
    slots = (Dim("piece", view.pieces), Dim("slot", view.slots))
    every = (Embed((view.residues,)), "column", "slot")
    kept = layer_over(slots, (PassThrough(), "piece", "piece"), every, column=view.columns)

    def body(into: Run, coords: Sequence[SSAValue]) -> None:
        box = into.alloc("thread_input", element, [d.size for d in slots], PRIVATE)
        part = into.alloc("thread_sampled", element, [view.pieces, view.columns], PRIVATE)
        into.add(copy(source, coords, box, []))
        into.add(copy(into.view(box, [kept], "thread_input"), [], part, []))
        into.add(copy(part, [], written, coords))

    launch(view.workgroups, view.workitems, body, run)
    return dest


class Phases:
    """The workspaces of a gradient's phases, in the order of `implicit_gemm.backward_data_v4r1`."""

    def __init__(self, op: Conv2dBwdDataOp, shape: implicit_gemm.Convolution, run: Run) -> None:
        self.input = op.input
        self.element = element_of(op.input)
        self.view = Interleave.of(shape, element_bytes(self.element))
        self.phases = implicit_gemm.phases(shape)
        self.arrays: Sequence[SSAValue] = [
            workspace(PHASE, self.element, self.view.phase(*phase), run) for phase in self.phases
        ]

    def put_together(self, run: Run) -> None:
        """The launch."""
        view = self.view
        written = run.view(self.input, view.written.layers, "input")
        sources = [
            run.view(array, view.read(*phase).layers, "phase")
            for array, phase in zip(self.arrays, self.phases, strict=True)
        ]

        def body(into: Run, coords: Sequence[SSAValue]) -> None:
            box = into.alloc("thread_input", self.element, [d.size for d in view.box], PRIVATE)
            if len(self.phases) < view.rows * view.residues:
                into.zero(box)
            sizes = [view.pieces, view.columns]
            parts = [into.alloc("thread_phase", self.element, sizes, PRIVATE) for _ in sources]
            for source, part in zip(sources, parts, strict=True):
                into.add(copy(source, coords, part, []))
            for part, phase in zip(parts, self.phases, strict=True):
                into.add(copy(part, [], into.view(box, [view.kept(*phase)], "thread_input"), []))
            stored = into.view(box, [view.stored], "thread_input")
            into.add(copy(stored, [], written, coords))

        launch(view.workgroups, view.workitems, body, run)
