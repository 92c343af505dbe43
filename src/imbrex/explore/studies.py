"""Study: everything that the algebra, the plan and the models say about one kernel, as one versioned JSON.

Law: all numbers and all drawings are made here; whoever shows them evaluates the Maps' own formulae and
lights up what has the same tokens, and computes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from imbrex.cached import cached_property
from imbrex.config.request import Request
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.explore.axes import FILLED, axes_of, links
from imbrex.explore.panel import Panel
from imbrex.explore.panels.banks import banks
from imbrex.explore.panels.configurations import configurations
from imbrex.explore.panels.image import image
from imbrex.explore.panels.instruction import instruction
from imbrex.explore.panels.loads import loads
from imbrex.explore.panels.maps import maps
from imbrex.explore.panels.order import order
from imbrex.explore.panels.problem import problem
from imbrex.explore.panels.roofline import roofline
from imbrex.explore.panels.segments import segments
from imbrex.explore.panels.source import source
from imbrex.explore.panels.tile import tile
from imbrex.explore.panels.timeline import timeline
from imbrex.explore.subject import Subject
from imbrex.explore.svg import STYLE
from imbrex.problem import Conv2d, problem_text
from imbrex.version import __version__

__all__ = ["PANELS", "VERSION", "Study", "study"]

VERSION: Final = 1
PANELS: Final[Mapping[str, Callable[[Subject], Panel]]] = {
    "problem": problem,
    "image": image,
    "maps": maps,
    "tile": tile,
    "instruction": instruction,
    "banks": banks,
    "loads": loads,
    "order": order,
    "segments": segments,
    "pipeline": timeline,
    "roofline": roofline,
    "configurations": configurations,
    "source": source,
}
"""Panels in reading order; each says why where it has nothing to show."""


@dataclass(frozen=True)
class Study:
    """One kernel, by panels."""

    subject: Subject

    def panel(self, name: str) -> Panel:
        """One panel; a Diagnostic where there is none of that name."""
        if name not in PANELS:
            hint = did_you_mean(name, PANELS) or f"known: {', '.join(PANELS)}"
            raise Diagnostic(f"unknown panel '{name}'", hint=hint)
        return PANELS[name](self.subject)

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        """All of them, in reading order."""
        return tuple(self.panel(name) for name in PANELS)

    def to_json(self) -> dict[str, Any]:
        """The whole, as plain JSON."""
        subject, request = self.subject, self.subject.request
        found = links(subject)
        return {
            "version": VERSION,
            "generator": f"imbrex {__version__}",
            "problem": {
                "text": problem_text(request.problem),
                "kind": "conv2d" if isinstance(request.problem, Conv2d) else "gemm",
                "facts": _problem_facts(request),
            },
            "target": request.target,
            "machine": {"name": request.machine.name, "facts": [["source", request.machine.source]]},
            "configuration": {"text": str(subject.configuration), "facts": _configuration_facts(subject)},
            "axes": axes_of(found, self.panels),
            "maps": {link.name: link.ladder.to_json() for link in found},
            "filled": dict(FILLED),
            "follows": [link.follow() for link in found],
            "style": STYLE,
            "panels": [panel.to_json() for panel in self.panels],
        }


def study(request: Request) -> Study:
    """The study of a request; a Diagnostic where nothing serves it."""
    found = Study(Subject(request))
    assert found.subject.configuration
    return found


def _problem_facts(request: Request) -> list[list[str]]:
    of = request.problem
    arrays = [[o.role, f"[{', '.join(map(str, o.shape))}] {o.dtype}"] for o in of.operands]
    return [*arrays, ["operations", f"{of.flops:,}"], ["bytes", f"{of.bytes:,}"]]


def _configuration_facts(subject: Subject) -> list[list[str]]:
    product = subject.product
    head = [["algorithm", subject.configuration.algorithm]]
    return head if product is None else [*head, *([k, v] for k, v in product.derived.items())]
