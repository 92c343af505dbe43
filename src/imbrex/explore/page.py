"""The page: studies, one or two side by side, as one HTML file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from imbrex.explore.study import Study

__all__ = ["page"]


def page(studies: Sequence[Study]) -> str:
    """The HTML text."""
    environment = Environment(
        loader=PackageLoader("imbrex.explore", ""), undefined=StrictUndefined, autoescape=True
    )
    found = [study.to_json() for study in studies]
    text = json.dumps(found, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")
    return environment.get_template("template.html.jinja").render(studies=found, json=Markup(text))
