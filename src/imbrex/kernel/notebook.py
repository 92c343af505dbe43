"""A kernel's page of a notebook: facts, and the Maps of its operands."""

from __future__ import annotations

from imbrex.config.configuration import parse
from imbrex.explore.notebook import html
from imbrex.kernel.choice import Choice
from imbrex.kernel.options import CompileOptions
from imbrex.kernel.target import Target
from imbrex.problem import Problem, problem_text

__all__ = ["page"]


def page(
    problem: Problem, target: Target, configuration: str, choice: Choice, options: CompileOptions | None
) -> str:
    """options: what the kernel was made by; None where it has no Maps of one size."""
    facts = {
        "problem": problem_text(problem),
        "target": str(target),
        "configuration": configuration,
        "chosen": str(choice),
        "operations": f"{problem.flops:,} on {problem.bytes:,} bytes",
    }
    return html(facts, options.request().by(parse(configuration)) if options else None)
