"""The dialect, the context that reads it, and text into a verified module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect

from imbrex.diagnostic import Diagnostic
from imbrex.ir import ops
from imbrex.ir.attrs import ATTRIBUTES
from imbrex.ir.chosen import CHOSEN
from imbrex.ir.finder import calm
from imbrex.ir.planned import PLANNED
from imbrex.ir.source import LocatedParser, SourceMap
from imbrex.limit import IR_BYTES

calm()

Miopen: Final = Dialect(
    "miopen",
    [
        ops.Conv2dOp,
        ops.DraftConvOp,
        ops.Conv2dBwdDataOp,
        ops.Conv2dBwdWeightOp,
        ops.GemmOp,
        ops.TransformOp,
        ops.FinishOp,
        ops.GridwiseGemmOp,
        ops.GridwiseGemmExOp,
        ops.LaunchOp,
        ops.AllocOp,
        ops.SubviewOp,
        ops.FillOp,
        ops.LdsBarrierOp,
        ops.BlockwiseCopyOp,
        ops.BlockwiseGemmOp,
        ops.ThreadwiseCopyOp,
        ops.ThreadwiseGemmOp,
        ops.ThreadwiseFilterSumsOp,
        ops.ThreadwiseWindowsOp,
        ops.MfmaOp,
        ops.WarpgroupGemmOp,
        ops.WorkspaceOp,
        ops.BoundOp,
        ops.GroupOp,
        ops.SegmentOp,
        ops.SignalOp,
        ops.TileOp,
        ops.WithinOp,
        ops.AwaitOp,
        ops.JoinOp,
    ],
    [*ATTRIBUTES, *CHOSEN, *PLANNED],
)


def _arith() -> Dialect:
    from xdsl.dialects.arith import Arith

    return Arith


def _builtin() -> Dialect:
    from xdsl.dialects.builtin import Builtin

    return Builtin


def _func() -> Dialect:
    from xdsl.dialects.func import Func

    return Func


def _linalg() -> Dialect:
    """MLIR's linalg with the `linalg.conv` of the seeds."""
    from xdsl.dialects.linalg import Linalg

    return Dialect("linalg", [*Linalg.operations, ops.LinalgConvOp], [*Linalg.attributes])


def _memref() -> Dialect:
    from xdsl.dialects.memref import MemRef

    return MemRef


def _scf() -> Dialect:
    from xdsl.dialects.scf import Scf

    return Scf


DIALECTS: Final = {
    "arith": _arith,
    "builtin": _builtin,
    "func": _func,
    "linalg": _linalg,
    "memref": _memref,
    "miopen": lambda: Miopen,
    "scf": _scf,
}
"""The dialects of this project's text; each is imported when a text first uses it."""


def context() -> Context:
    """A context with those dialects."""
    ctx = Context()
    for name, factory in DIALECTS.items():
        ctx.register_dialect(name, factory)
    return ctx


@dataclass(frozen=True)
class Source:
    """A module and the text that it came from."""

    module: ModuleOp
    sources: SourceMap


def load(text: str, file: str = "<input>", ctx: Context | None = None, first_line: int = 0) -> Source:
    """Parse and verify a module; Diagnostic at the first mistake."""
    source = parse(text, file, ctx, first_line)
    source.sources.verify(source.module)
    return source


def parse(text: str, file: str = "<input>", ctx: Context | None = None, first_line: int = 0) -> Source:
    """Parse a module without verifying it; Diagnostic at the first mistake."""
    if len(text) > IR_BYTES:
        raise Diagnostic(f"IR of {len(text)} characters is longer than {IR_BYTES}", file)
    blank = SourceMap(file, text, first_line)
    with blank.diagnosing():
        parser = LocatedParser(ctx or context(), text, file, first_line)
        return Source(parser.parse_module(), parser.sources)
