"""Every panel in a browser: each is there, each part lights up, and JavaScript computes as the library does.

The page asks no address but its own, and its console says nothing.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from typing import Any

import pytest
from tests.browser.conftest import Shown
from tests.browser.kernels import CASES, FEW, studied, text_of

from imbrex.explore.ladder import Ladder

POINTED = """() => {
  const silent = [];
  let tried = 0;
  for (const panel of document.querySelectorAll("section")) {
    const all = [...panel.querySelectorAll("[data-is], .field")];
    const parts = all.filter((part) => part.getClientRects().length);
    for (let i = 0; i < 5 && parts.length; i++, tried++) {
      const part = parts[Math.floor((i * parts.length) / 5)];
      const box = part.getBoundingClientRect();
      const [clientX, clientY] = [box.left + box.width * 0.7, box.top + box.height * 0.3];
      part.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX, clientY }));
      const lit = part.matches(".field") ? part.parentElement.querySelector(".here") : part.matches(".lit");
      if (!lit) silent.push(`${panel.id}: ${part.outerHTML.slice(0, 150)}`);
    }
  }
  return [tried, silent];
}"""
"""Points at five parts of each panel: how many, and those that do not light up themselves."""


@pytest.mark.parametrize("case", CASES if os.environ.get("IMBREX_TESTS") == "all" else FEW)
def test_every_panel(tab: Shown, case: str) -> None:
    of = studied(*CASES[case])
    tab.open(text_of(*CASES[case]))
    for panel in of.panels:
        section = tab.page.locator(f"section#{panel.name}")
        wanted = ".absent" if panel.absent else "svg" if panel.svg else "table"
        assert section.locator(wanted).first.is_visible(), panel.name
    tried, silent = tab.page.evaluate(POINTED)
    assert silent == []
    assert tried > 10
    assert [address.partition(":")[0] for address in tab.asked] == ["file"]
    assert_same_values(tab, of.subject.ladders)
    assert tab.said == []


def assert_same_values(found: Shown, ladders: Mapping[str, Ladder]) -> None:
    """What the page computes of maps at random points is what the library does, and where it exists."""
    for name, ladder in ladders.items():
        dice = random.Random(name)
        points = [[dice.randrange(dim.size) for dim in ladder.map.upper] for _ in range(20)]
        computes = "([map, points]) => points.map((point) => imbrex.values(map, point))"
        told = found.page.evaluate(computes, [name, points])
        assert told == [library_values(ladder, point) for point in points]


def library_values(ladder: Ladder, upper: list[int]) -> dict[str, Any]:
    coordinates = {dim.name: x for dim, x in zip(ladder.map.upper, upper, strict=True)}
    env = {**coordinates, **(ladder.parameters or {})}
    guards = [(int(guard.index.eval(env)), guard.size) for guard in ladder.guards]
    holds = [0 <= value < size for value, size in guards]
    return {
        "rungs": [[int(value.eval(env)) for value in rung] for rung in ladder.values],
        "guards": [{"value": v, "holds": h} for (v, _), h in zip(guards, holds, strict=True)],
        "address": int(ladder.address.eval(env)),
        "exists": all(holds),
    }
