"""The page of `imbrex explore` in a browser: every panel of ten problems, links, keys, addresses.

No page asks another address, nor does its console say anything (`show` looks); JavaScript computes what the
library does.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Shown

from imbrex.chip import target
from imbrex.config.configuration import parse
from imbrex.config.request import Request
from imbrex.explore import Study, study
from imbrex.explore.ladder import Ladder
from imbrex.explore.page import page
from imbrex.problem.text import parse_problems

FORWARD = "conv -n 2 -c 32 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -F 1"
BACKWARD = "conv -n 1 -c 16 -H 14 -W 14 -k 16 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F 2"
WEIGHT = "conv -n 2 -c 16 -H 9 -W 9 -k 24 -y 3 -x 3 -p 1 -q 1 -F 4"
GROUPED = "convfp16 -n 2 -c 32 -H 10 -W 10 -k 64 -y 3 -x 3 -p 1 -q 1 -g 2 -F 1"
DEPTHWISE = "conv -n 1 -c 32 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -g 32 -F 1"
PRODUCT = "gemm -t f16 -m 256 -n 256 -k 64"
CASES = {
    "cpu": ("avx512", FORWARD),
    "cpu product": ("avx2", "gemm -m 33 -n 65 -k 17"),
    "gfx908": ("gfx908", WEIGHT),
    "gfx90a": ("gfx90a", GROUPED),
    "gfx942": ("gfx942", FORWARD),
    "gfx942 backward": ("gfx942", BACKWARD),
    "gfx942 lanes": ("gfx942", DEPTHWISE),
    "gfx950": ("gfx950", "gemm -t i8 -m 100 -n 130 -k 70"),
    "sm_90a": ("sm_90a", FORWARD),
    "sm_90a product": ("sm_90a", PRODUCT),
}
Show = Callable[..., Shown]


@cache
def studied(chip: str, line: str, config: str | None = None) -> Study:
    (parsed,) = parse_problems(line, None)
    form = "cpu" if chip.startswith("avx") else chip
    return study(Request(parsed.problems[0], target(chip), form, config=config and parse(config)))


@cache
def text_of(*case: str) -> str:
    return page([studied(*case)])


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


@pytest.mark.parametrize("case", CASES)
def test_every_panel(show: Show, case: str) -> None:
    of = studied(*CASES[case])
    found = show(text_of(*CASES[case]))
    for panel in of.panels:
        section = found.page.locator(f"section#{panel.name}")
        wanted = ".absent" if panel.absent else "svg" if panel.svg else "table"
        assert section.locator(wanted).first.is_visible(), panel.name
    tried, silent = found.page.evaluate(POINTED)
    assert silent == []
    assert tried > 10
    assert len(found.asked) == 1 and found.asked[0].startswith("file:")
    for name, ladder in of.subject.ladders.items():
        assert_same_values(found, name, ladder)


def assert_same_values(found: Shown, name: str, ladder: Ladder) -> None:
    """What the page computes of a map at random points is what the library does, and where it exists."""
    dice = random.Random(name)
    upper = [[dice.randrange(dim.size) for dim in ladder.map.upper] for _ in range(20)]
    told = found.page.evaluate(
        "([map, points]) => points.map((point) => imbrex.values(map, point))", [name, upper]
    )
    for point, values in zip(upper, told, strict=True):
        assert values == library_values(ladder, point)


def library_values(ladder: Ladder, upper: list[int]) -> dict[str, Any]:
    env: Mapping[str, int] = {d.name: x for d, x in zip(ladder.map.upper, upper, strict=True)} | dict(
        ladder.parameters or {}
    )
    guards = [(int(guard.index.eval(env)), guard.size) for guard in ladder.guards]
    holds = [0 <= value < size for value, size in guards]
    return {
        "rungs": [[int(value.eval(env)) for value in rung] for rung in ladder.values],
        "guards": [{"value": v, "holds": h} for (v, _), h in zip(guards, holds, strict=True)],
        "address": int(ladder.address.eval(env)),
        "exists": all(holds),
    }


def test_one_thing_lights_up_everywhere(show: Show) -> None:
    """An element of C leads to its pixel, its tile and who holds it, and each of these leads back."""
    found = show(text_of(*CASES["gfx942"]))
    found.keep(m=5, n=199)
    at = found.at()
    assert (at["output.n"], at["output.k"], at["output.ho"], at["output.wo"]) == (1, 5, 0, 3)
    back = {axis.replace(".", "__"): int(value) for axis, value in at.items() if axis.startswith("output.")}
    found.keep(**back)
    assert (found.at()["m"], found.at()["n"]) == (5, 199)
    assert found.lit() > 3
    found.page.keyboard.press("Escape")
    assert found.lit() == 0


def test_a_pixel_lights_up_its_window_and_its_taps(show: Show) -> None:
    found = show(text_of(*CASES["gfx942"]))
    field = found.page.locator('section#image .field[data-rows^="output.ho"]')
    field.scroll_into_view_if_needed()
    box = field.bounding_box()
    assert box is not None
    found.page.mouse.move(box["x"] + box["width"] * 3.5 / 14, box["y"] + box["height"] * 5.5 / 14)
    told = found.page.locator("[data-told]").inner_text()
    assert told.startswith("output.ho 5, output.wo 3, output.n 0, output.k 0, m 0, n 73")
    assert found.page.locator("section#image .here.near").count() >= 18
    found.page.mouse.move(box["x"] + 1, box["y"] + 1)
    assert "output.ho 0, output.wo 0" in found.page.locator("[data-told]").inner_text()


def test_guards_and_addresses_at_the_point(show: Show) -> None:
    found = show(text_of(*CASES["gfx942"]), "#at=m:0+n:0+k:0")
    ladder = found.page.locator('.ladder[data-map="B"]')
    assert ladder.locator(".fails").count() == 2
    assert ladder.locator(".address output").inner_text() == "nothing: a guard fails"
    inputs = ladder.locator(".rung input")
    names = [str(inputs.nth(i).get_attribute("aria-label")).split()[0] for i in range(inputs.count())]
    inputs.nth(names.index("gemmN")).fill("15")
    inputs.nth(names.index("gemmN")).press("Enter")
    assert ladder.locator(".fails").count() == 0
    assert ladder.locator(".address output").inner_text() == "0"
    assert "n%3A15" in found.page.url


def test_a_pointer_shows_a_click_keeps_and_the_address_says_it(show: Show) -> None:
    found = show(text_of(*CASES["gfx942"]))
    ladder = found.page.locator('.ladder[data-map="C"] h4')
    ladder.scroll_into_view_if_needed()
    ladder.hover()
    assert found.lit() > 0 and "#" not in found.page.url
    found.page.mouse.move(2, 2)
    assert found.lit() == 0
    ladder.click()
    found.page.mouse.move(2, 2)
    assert found.lit() > 0 and found.page.url.endswith("#at=map%3AC")
    again = show(text_of(*CASES["gfx942"]), "#at=map%3AC")
    assert again.lit() == found.lit()


def test_a_link_to_nothing_is_a_page_with_nothing_lit(show: Show) -> None:
    found = show(text_of(*CASES["gfx942"]), "#at=m:99999999+nothing:3+x&banks=nonsense")
    assert found.lit() == 0
    assert found.page.locator("section#banks svg:visible").count() == 1
    for hash in ("#maps", "#=&&at&at=:", "#%%%"):
        found.page.evaluate("hash => (location.hash = hash)", hash)
        assert found.lit() == 0


def test_keys_reach_every_part(show: Show) -> None:
    found = show(text_of(*CASES["gfx942"]))
    drawing = found.page.locator("section#maps .drawing")
    drawing.focus()
    found.page.keyboard.press("ArrowRight")
    first = found.page.locator("section#maps .lit").count()
    assert first > 0
    before = found.page.locator("[data-told]").inner_text()
    found.page.keyboard.press("PageDown")
    found.page.keyboard.press("ArrowDown")
    assert found.page.locator("[data-told]").inner_text() != before
    found.page.keyboard.press("Enter")
    assert "#at=" in found.page.url
    found.page.keyboard.press("]")
    found.page.keyboard.press("Escape")
    assert "#" not in found.page.url


def test_two_configurations_side_by_side(show: Show) -> None:
    case = CASES["gfx942"]
    first = studied(*case)
    second = studied(*case, str(first.subject.configuration).replace("data_parallel", "stream_k:8"))
    assert second.subject.configuration != first.subject.configuration
    found = show(page([first, second]))
    sides = [found.page.locator(f'section#maps [data-study="{i}"]') for i in (0, 1)]
    boxes = [side.bounding_box() for side in sides]
    assert boxes[0] and boxes[1] and boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"]
    found.keep(m=3, n=20)
    assert found.at(0)["output.k"] == found.at(1)["output.k"] == 3
    assert [side.locator(".ladder").first.locator("input").nth(1).input_value() for side in sides] == [
        "3",
        "3",
    ]


def test_steps_of_an_animation(show: Show) -> None:
    of = studied(*CASES["gfx942"])
    (panel,) = [p for p in of.panels if p.frames and p.svg][:1]
    assert panel.frames is not None
    found = show(text_of(*CASES["gfx942"]))
    controls = found.page.locator(f"section#{panel.name} .frames")
    controls.get_by_role("button", name="Step").click()
    controls.get_by_role("button", name="Step").click()
    assert controls.locator("output").inner_text() == f"2: {panel.frames.said[2]}"
    assert found.page.url.endswith(f"#at={panel.frames.axis}%3A2")
    controls.get_by_role("button", name="Back").click()
    assert found.at()[panel.frames.axis] == 1
    controls.get_by_role("button", name="Play").click()
    controls.get_by_role("button", name="Pause").click()
    assert found.at()[panel.frames.axis] == 1


def test_a_drawing_in_two_ways(show: Show) -> None:
    of = studied(*CASES["gfx942"])
    (panel,) = [p for p in of.panels if p.variants][:1]
    found = show(text_of(*CASES["gfx942"]))
    section = found.page.locator(f"section#{panel.name}")
    assert section.locator("svg:visible").count() == 1
    other = panel.variants[0][0]
    section.get_by_role("radio", name=other).check()
    assert section.locator(f'[data-variant="{other}"] svg').is_visible()
    assert section.locator("svg:visible").count() == 1
    again = show(text_of(*CASES["gfx942"]), found.page.url[found.page.url.index("#") :])
    assert again.page.locator(f'section#{panel.name} [data-variant="{other}"] svg').is_visible()


def test_without_scripts_drawings_and_tables_are_there(show: Show) -> None:
    of = studied(*CASES["gfx942"])
    found = show(text_of(*CASES["gfx942"]), java_script_enabled=False)
    drawn = sum(1 + len(p.variants) for p in of.panels if p.svg)
    assert found.page.locator("section svg:visible").count() == drawn
    assert found.page.locator(".ladder code:visible").count() >= 3
    assert found.page.locator("noscript").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_dark_and_print(show: Show, scheme: str) -> None:
    found = show(text_of(*CASES["gfx942"]), color_scheme=scheme)
    brightness = "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
    assert (found.page.evaluate(brightness) > 128) == (scheme == "light")
    found.page.locator("#theme").select_option("dark" if scheme == "light" else "light")
    assert (found.page.evaluate(brightness) > 128) != (scheme == "light")
    found.page.locator("#theme").select_option("auto")
    found.page.emulate_media(media="print")
    assert found.page.evaluate(brightness) > 128
    assert not found.page.locator("nav").is_visible()
    assert found.page.locator("section#maps svg").is_visible()


PICTURES = Path(__file__).with_name("pictures")
DIFFERS = 6.0
"""Of 255, by which a picture may differ in the mean: fonts and edges of another machine's browser do less."""
SMALL = """async (png) => {
  const image = Object.assign(new Image(), { src: `data:image/png;base64,${png}` });
  await image.decode();
  const small = new OffscreenCanvas(96, 96);
  const drawn = small.getContext("2d", { willReadFrequently: true });
  drawn.imageSmoothingQuality = "high";
  drawn.drawImage(image, 0, 0, 96, 96);
  const data = drawn.getImageData(0, 0, 96, 96).data;
  const bytes = new Uint8Array(await (await small.convertToBlob()).arrayBuffer());
  return [btoa(String.fromCharCode(...bytes)), [...data]];
}"""
"""A picture as 96 x 96 pixels, and the values of these."""


@pytest.mark.parametrize("panel", ["instruction", "tile", "banks"])
def test_drawings_look_as_they_did(show: Show, panel: str, update_golden: bool) -> None:
    found = show(text_of(*CASES["gfx942"]), "#at=m:5+n:199+k:7")
    blank = show("<!doctype html>").page  # no policy of ours forbids images there
    png = found.page.locator(f"section#{panel} svg:visible").first.screenshot()
    seen, values = blank.evaluate(SMALL, base64.b64encode(png).decode())
    kept = PICTURES / f"{panel}.png"
    if update_golden:
        kept.write_bytes(base64.b64decode(seen))
    _, before = blank.evaluate(SMALL, base64.b64encode(kept.read_bytes()).decode())
    difference = sum(abs(a - b) for a, b in zip(values, before, strict=True)) / len(before)
    assert difference < DIFFERS
    assert sum(255 - b for b in before) / len(before) > 3 * DIFFERS, "an empty picture would do"


AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"


def test_axe_finds_nothing(show: Show) -> None:
    """What stands within drawings is told by their labels and their tables."""
    if not AXE.exists():
        pytest.skip("needs axe-core: make browser")
    found = show(text_of(*CASES["cpu product"]), "#at=m:3+n:5+k:1")
    found.page.evaluate("for (const svg of document.querySelectorAll('svg')) svg.replaceChildren()")
    found.page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true")
    found.page.evaluate(AXE.read_text("utf-8"))
    for theme, rules in (("light", None), ("dark", ["color-contrast"])):
        found.page.locator("#theme").select_option(theme)
        run = "async (runOnly) => (await axe.run(runOnly ? { runOnly } : {})).violations"
        told = found.page.evaluate(run, rules)
        assert [(v["id"], v["nodes"][0]["html"][:200]) for v in told] == []
