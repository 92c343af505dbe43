"""The page: studies, one or two side by side, as one HTML file that needs nothing else.

Law: everything stands in the HTML; the script links it, and is given no more than it evaluates: the maps,
what follows from what, and the animations.  A policy in the page forbids any other script, and any address.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from imbrex.explore.studies import Study
from imbrex.explore.svg import STYLE

__all__ = ["Form", "page"]

LINKED: Final = ("axes", "maps", "follows", "filled")
"""What the script needs of a study."""


@dataclass(frozen=True)
class Form:
    """What the server's page lets one edit.  query: the text of each field; error: what is wrong with it."""

    query: Mapping[str, str]
    targets: Sequence[str]
    error: str | None = None


def page(studies: Sequence[Study], form: Form | None = None) -> str:
    """The HTML text.  studies: none where the form's error says why.  form: of a page that a server edits."""
    found = [study.to_json() for study in studies]
    return _template().render(
        title=found[0]["problem"]["text"] if found else "Imbrex",
        studies=found,
        json=Markup(_embedded([_linked(one) for one in found])),
        style=Markup(STYLE),
        script=Markup(_script()),
        policy=_policy(form is not None),
        query=form and form.query,
        targets=form.targets if form else (),
        error=form and form.error,
    )


@cache
def _template() -> Template:
    loader = PackageLoader("imbrex.explore", "")
    environment = Environment(
        loader=loader, undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("template.html.jinja")


@cache
def _script() -> str:
    """The bundle of web/src.  It holds no `</script`, which would end it."""
    text = (files("imbrex.explore") / "page.js").read_text("utf-8").strip()
    assert "</script" not in text
    return text


def _policy(is_served: bool) -> str:
    """The script by its hash, styles that stand in the page, and its own server where there is one."""
    digest = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    own = "; connect-src 'self'; form-action 'self'" if is_served else "; form-action 'none'"
    style = "style-src 'unsafe-inline'; img-src data:"
    return f"default-src 'none'; script-src 'sha256-{digest}'; {style}; base-uri 'none'{own}"


def _linked(study: Mapping[str, Any]) -> dict[str, Any]:
    """The rest stands in the HTML already."""
    panels = [{"name": p["name"], "frames": p["frames"]} for p in study["panels"] if p["frames"]]
    return {name: study[name] for name in LINKED} | {"panels": panels}


def _embedded(found: object) -> str:
    """JSON that ends no script element."""
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
