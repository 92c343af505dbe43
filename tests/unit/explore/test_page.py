"""The page as text: everything is there without scripts, nothing comes from elsewhere, nothing breaks out."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser

import pytest

from imbrex.chip import target
from imbrex.config.request import Request
from imbrex.explore import PANELS, Study, study
from imbrex.explore.page import Form, page
from imbrex.problem.text import parse_problems

RESNET = "conv -n 64 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
PRODUCT = "gemm -t f16 -m 128 -n 256 -k 64"
MOST_BYTES = 2_000_000


def studied(line: str, chip: str) -> Study:
    (parsed,) = parse_problems(line, None)
    return study(Request(parsed.problems[0], target(chip), "cpu" if chip.startswith("avx") else chip))


class Elements(HTMLParser):
    """(tag, attributes) of all elements, ids, and the text of scripts by their type."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.scripts: list[tuple[str | None, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "script" and data.strip():
            self.scripts.append((self.found[-1][1].get("type"), data))


@pytest.mark.parametrize("chip", ["avx512", "gfx942", "sm_90a"])
def test_a_page_of_a_resnet_layer(chip: str) -> None:
    of = studied(RESNET, chip)
    text = page([of])
    assert len(text.encode()) < MOST_BYTES
    found = Elements(text)
    assert [attributes["id"] for tag, attributes in found.found if tag == "section"] == list(PANELS)
    ids = [attributes["id"] for _, attributes in found.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for panel in of.panels:
        assert panel.svg is None or panel.svg in text
    (data, script) = found.scripts
    assert data[0] == "application/json" and list(json.loads(data[1])[0]) == [
        "axes",
        "maps",
        "follows",
        "filled",
        "panels",
    ]
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    (policy,) = (a["content"] for tag, a in found.found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'") and "connect-src" not in policy


def test_a_page_names_no_other_address() -> None:
    text = page([studied(PRODUCT, "gfx942")])
    assert set(re.findall(r"""\w+://[^\s"'<>)]+""", text)) <= {"http://www.w3.org/2000/svg"}
    found = Elements(text).found
    outside = {"img", "iframe", "object", "embed", "base", "audio", "video"}
    assert not outside & {tag for tag, _ in found}
    assert all((a["href"] or "").startswith("data:") for tag, a in found if tag == "link")
    assert not re.findall(r"@import|url\(|\bsrc=", text.split("<script", 1)[0])


def test_two_studies_stand_side_by_side() -> None:
    found = Elements(page([studied(PRODUCT, "gfx942"), studied(PRODUCT, "gfx950")]))
    sides = [attributes["data-study"] for _, attributes in found.found if "data-study" in attributes]
    assert sides == ["0", "1"] * len(PANELS)


def test_text_of_a_user_is_text() -> None:
    nasty = "</textarea><script>x</script>\"'&<!--"
    fields = dict.fromkeys(("problem", "target", "config", "beside"), nasty)
    text = page([], Form(fields, ["cpu"], f"error: '{nasty}'"))
    found = Elements(text)
    assert len(found.scripts) == 1 and "<script>x" not in text and "<!--" not in text
    assert [a["value"] for tag, a in found.found if tag == "input"] == [nasty] * 3
