"""What a kernel says of itself: a report as plain JSON, and a page of a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from imbrex.build.shared_library import SharedLibrary
from imbrex.kernel.built import SUFFIXES, built
from imbrex.problem import problem_text

if TYPE_CHECKING:
    from imbrex.kernel.compiled import Kernel

__all__ = ["notebook_page", "report_of"]


def report_of(kernel: Kernel) -> Mapping[str, Any]:
    """What it was made of and what it asks of a machine."""
    is_of_cpu = isinstance(kernel.library, SharedLibrary)
    return {
        "problem": problem_text(kernel.problem),
        "name": kernel.name,
        "target": kernel.target.kind,
        "chip": kernel.target.chip,
        "configuration": kernel.configuration,
        "choice": kernel.choice.to_json(),
        "source_digest": kernel.source_digest,
        "algorithm": kernel.algorithm,
        "tunings": list(kernel.tuning_texts),
        "grid_sizes": list(kernel.grid_sizes),
        "flops": kernel.problem.flops,
        "operand_bytes": kernel.problem.bytes,
        "workspace_bytes_per_thread" if is_of_cpu else "workspace_bytes": kernel.workspace_bytes,
        **built(kernel.library),
        **({} if is_of_cpu else {"kernels": [of_one.to_json() for of_one in kernel.resources]}),
        "files": [*kernel.bundle.units, *(f"{kernel.name}{s}" for s in SUFFIXES[type(kernel.library)])],
    }


def notebook_page(kernel: Kernel) -> str:
    """Facts and the Maps of its operands, for notebooks."""
    from imbrex.config.configuration import parse
    from imbrex.explore.notebook import html

    facts = {
        "problem": problem_text(kernel.problem),
        "target": str(kernel.target),
        "configuration": kernel.configuration,
        "chosen": str(kernel.choice),
        "operations": f"{kernel.problem.flops:,} on {kernel.problem.bytes:,} bytes",
    }
    if kernel.origin is None or kernel.problem.run_time is not None:
        return html(facts, None)
    return html(facts, kernel.origin.options.request().by(parse(kernel.configuration)))
