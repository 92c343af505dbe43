"""The page in a browser: links, pointer, keys, the address, animations, two kernels, no scripts, axe."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.browser.conftest import Shown
from tests.browser.kernels import CASES, USUAL, studied, text_of

from imbrex.explore.page import page


@pytest.fixture(scope="module")
def loaded(tab: Shown) -> Shown:
    """The page of the usual kernel, for all of these tests."""
    tab.open(text_of(*USUAL))
    return tab


@pytest.fixture
def usual(loaded: Shown) -> Iterator[Shown]:
    """That page, where nothing is kept, pointed at or scrolled to."""
    yield loaded
    assert loaded.said == []
    loaded.page.emulate_media(media="screen", color_scheme="light")
    loaded.page.mouse.move(2, 2)
    loaded.page.evaluate("imbrex.keep(new Map()), scrollTo(0, 0), document.activeElement.blur()")


def go(found: Shown, hash: str) -> None:
    """Follow a link to the same page."""
    found.page.evaluate("hash => (location.hash = hash)", hash)
    found.page.wait_for_function("hash => location.hash === hash", arg=hash)


def test_one_thing_lights_up_everywhere(usual: Shown) -> None:
    """An element of C leads to its pixel, its tile and who holds it, and its pixel back to it."""
    usual.keep(m=5, n=199)
    at = usual.at()
    assert (at["output.n"], at["output.k"], at["output.ho"], at["output.wo"]) == (1, 5, 0, 3)
    assert {"m_tile", "n_tile", "wave", "lane", "register", "workgroup"} <= set(at)
    assert usual.lit() > 3
    for panel in ("image", "tile", "instruction", "banks", "loads", "order", "segments"):
        assert usual.lit(f"section#{panel}"), panel
    usual.keep(**{axis.replace(".", "__"): int(at[axis]) for axis in at if axis.startswith("output.")})
    assert (usual.at()["m"], usual.at()["n"]) == (5, 199)
    usual.page.keyboard.press("Escape")
    assert usual.lit() == 0


def test_an_element_of_a_tile_lies_in_a_bank_and_is_summed_in_a_step(usual: Shown) -> None:
    """And back: a stretch of shared memory leads to the element of A in the kept tile and step."""
    usual.keep(m=5, n=199, k=70)
    at = usual.at()
    cut = studied(*USUAL).subject.tiling
    assert cut is not None and int(at["step"]) * cut.depth + int(at["tk"]) == 70
    cells = usual.page.locator("section#banks [data-variant='as built'] rect.lit[data-is*='tk:']")
    assert cells.count() == 2, "one of A's tile, one of B's"
    told = [cells.nth(i).get_attribute("data-is") or "" for i in range(2)]
    assert sorted(one.partition(":")[0] for one in told) == ["tm", "tn"]
    kept = {axis: at[axis] for axis in ("m_tile", "step")}
    usual.page.locator("section#banks [data-is^='tm:3 ']").first.hover()
    where = usual.page.locator("[data-told]").inner_text()
    assert f"step {kept['step']}" in where and f"m_tile {kept['m_tile']}" in where and "filter.y" in where


def test_a_pixel_lights_up_its_window_and_its_taps(usual: Shown) -> None:
    field = usual.page.locator('section#image .field[data-rows^="output.ho"]')
    field.scroll_into_view_if_needed()
    box = field.bounding_box()
    assert box is not None
    usual.page.mouse.move(box["x"] + box["width"] * 3.5 / 14, box["y"] + box["height"] * 5.5 / 14)
    told = usual.page.locator("[data-told]").inner_text()
    assert told.startswith("output.ho 5, output.wo 3, map C, output.n 0, output.k 0, m 0, n 73")
    assert usual.page.locator("section#image .here.near").count() >= 18
    assert usual.page.locator("section#source pre .lit").count() > 3
    usual.page.mouse.move(box["x"] + 1, box["y"] + 1)
    assert "output.ho 0, output.wo 0" in usual.page.locator("[data-told]").inner_text()


def test_guards_and_addresses_at_the_point(usual: Shown) -> None:
    usual.keep(m=0, n=0, k=0)
    ladder = usual.page.locator('.ladder[data-map="B"]')
    assert ladder.locator(".fails").count() == 2
    assert ladder.locator(".address output").inner_text() == "nothing: a guard fails"
    column = ladder.get_by_role("spinbutton", name="gemmN")
    column.fill("15")
    column.press("Enter")
    assert ladder.locator(".fails").count() == 0
    assert ladder.locator(".address output").inner_text() == "0"
    assert "n%3A15" in usual.page.url


def test_a_pointer_shows_a_click_keeps_and_the_address_says_it(usual: Shown) -> None:
    title = usual.page.locator('.ladder[data-map="C"] h4')
    title.scroll_into_view_if_needed()
    title.hover()
    assert usual.lit() > 0 and "#" not in usual.page.url
    usual.page.mouse.move(2, 2)
    assert usual.lit() == 0
    title.click()
    usual.page.mouse.move(2, 2)
    lit = usual.lit()
    assert lit > 0 and usual.page.url.endswith("#at=map%3AC")
    go(usual, "#at=map%3AB")
    assert usual.page.locator('.ladder[data-map="B"] h4.lit').count() == 1
    go(usual, "#at=map%3AC")
    assert usual.lit() == lit


@pytest.mark.parametrize(
    "hash", ["#maps", "#at=m:99999999+nothing:3+x&banks=nonsense", "#=&&at&at=:", "#%%%"]
)
def test_a_link_to_nothing_lights_up_nothing(usual: Shown, hash: str) -> None:
    go(usual, hash)
    assert usual.lit() == 0
    assert usual.page.locator("section#maps svg").is_visible()


def test_keys_reach_every_part(usual: Shown) -> None:
    told = usual.page.locator("[data-told]")
    usual.page.locator("section#maps .drawing").focus()
    usual.page.keyboard.press("ArrowRight")
    assert usual.page.locator("section#maps .lit").count() > 0
    before = told.inner_text()
    usual.page.keyboard.press("PageDown")
    usual.page.keyboard.press("ArrowDown")
    assert told.inner_text() != before
    usual.page.keyboard.press("Enter")
    assert "#at=" in usual.page.url
    usual.page.keyboard.press("]")
    usual.page.keyboard.press("Escape")
    assert "#" not in usual.page.url
    usual.page.locator("section#image .drawing").focus()
    usual.page.keyboard.press("ArrowRight")
    for _ in range(3):
        usual.page.keyboard.press("PageDown")
    first = told.inner_text()
    usual.page.keyboard.press("ArrowDown")
    assert told.inner_text() != first


@pytest.mark.parametrize("name", ["order", "segments"])
def test_steps_of_an_animation(usual: Shown, name: str) -> None:
    (panel,) = (p for p in studied(*USUAL).panels if p.name == name)
    assert panel.frames is not None and panel.svg is not None
    frames = panel.frames
    controls = usual.page.locator(f"section#{name} .frames")
    controls.get_by_role("button", name="Step").click()
    controls.get_by_role("button", name="Step").click()
    assert controls.locator("output").inner_text() == f"2: {frames.said[2]}"
    assert usual.page.url.endswith(f"#at={frames.axis}%3A2")
    spans = [(int(a), int(b or a)) for a, b in re.findall(rf"{frames.axis}:(\d+)(?:-(\d+))?", panel.svg)]
    drawn = usual.page.locator(f"section#{name} svg")
    assert drawn.locator(".past").count() == sum(last < 2 for _, last in spans)
    assert drawn.locator(".later").count() == sum(first > 2 for first, _ in spans)
    controls.get_by_role("button", name="Back").click()
    assert usual.at()[frames.axis] == 1
    controls.get_by_role("button", name="Play").click()
    controls.get_by_role("button", name="Pause").click()
    assert usual.at()[frames.axis] == 1


def test_a_step_of_time_stays_and_one_of_workgroups_yields_to_what_is_pointed_at(usual: Shown) -> None:
    usual.keep(time=3, workgroup=2)
    cell = usual.page.locator('section#order rect[data-is~="workgroup:5"]').first
    cell.hover()
    assert usual.page.locator("section#order svg .here").count() == 1
    told = usual.page.locator("[data-told]").inner_text()
    assert "time 3" in told and "workgroup 5" in told and "workgroup 2" not in told


def test_light_dark_and_print(usual: Shown) -> None:
    first = "() => Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])"
    choice = usual.page.locator("#theme")
    for scheme, other in (("light", "dark"), ("dark", "light")):
        usual.page.emulate_media(color_scheme=scheme)
        assert (usual.page.evaluate(first) > 128) == (scheme == "light")
        choice.select_option(other)
        assert (usual.page.evaluate(first) > 128) == (other == "light")
        choice.select_option("auto")
    usual.page.emulate_media(media="print")
    assert usual.page.evaluate(first) > 128
    assert not usual.page.locator("nav").is_visible()
    assert usual.page.locator("section#maps svg").is_visible()


PICTURES = Path(__file__).with_name("pictures")
LOOKED_AT = ("maps", "tile", "instruction", "banks", "loads", "order", "segments", "pipeline")
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


def test_drawings_look_as_they_did(usual: Shown, update_golden: bool) -> None:
    usual.keep(m=5, n=199, k=7)
    before: dict[str, list[int]] = {}
    for panel in LOOKED_AT:
        png = usual.page.locator(f"section#{panel} svg:visible").first.screenshot()
        seen, values = usual.page.evaluate(SMALL, base64.b64encode(png).decode())
        kept = PICTURES / f"{panel}.png"
        if update_golden:
            kept.write_bytes(base64.b64decode(seen))
        _, before[panel] = usual.page.evaluate(SMALL, base64.b64encode(kept.read_bytes()).decode())
        assert difference(values, before[panel]) < DIFFERS
    assert min(difference(a, b) for a in before.values() for b in before.values() if a is not b) > DIFFERS


def difference(a: list[int], b: list[int]) -> float:
    return sum(abs(x - y) for x, y in zip(a, b, strict=True)) / len(a)


def test_a_drawing_in_two_ways(usual: Shown) -> None:
    panel = next(p for p in studied(*USUAL).panels if p.variants)
    other = panel.variants[0][0]
    section = usual.page.locator(f"section#{panel.name}")
    assert section.locator("svg:visible").count() == 1
    section.get_by_role("radio", name=other).check()
    assert section.locator(f'[data-variant="{other}"] svg').is_visible()
    assert section.locator("svg:visible").count() == 1
    usual.open(text_of(*USUAL), usual.page.url[usual.page.url.index("#") :])
    assert section.locator(f'[data-variant="{other}"] svg').is_visible()
    usual.open(text_of(*USUAL))


def test_two_configurations_side_by_side(tab: Shown) -> None:
    first = studied(*USUAL)
    second = studied(*USUAL[:2], USUAL[2].replace("data_parallel", "stream_k:8"))
    assert second.subject.configuration != first.subject.configuration
    tab.open(page([first, second]))
    sides = [tab.page.locator(f'section#maps [data-study="{i}"]') for i in (0, 1)]
    boxes = [side.bounding_box() for side in sides]
    assert boxes[0] and boxes[1] and boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"]
    tab.keep(m=3, n=20)
    assert tab.at(0)["output.k"] == tab.at(1)["output.k"] == 3
    inputs = [side.locator('.ladder[data-map="A"] input').nth(1) for side in sides]
    assert [one.input_value() for one in inputs] == ["3", "3"]
    ways = tab.page.locator("section#banks").get_by_role("radio")
    assert ways.count() == 2
    ways.nth(1).check()
    assert tab.page.locator("section#banks svg:visible").count() == 2
    assert tab.said == []


def test_without_scripts_drawings_and_tables_are_there(show: Callable[..., Shown]) -> None:
    found = show(text_of(*USUAL), java_script_enabled=False)
    drawn = sum(1 + len(p.variants) for p in studied(*USUAL).panels if p.svg)
    assert found.page.locator("section svg:visible").count() == drawn
    assert found.page.locator(".ladder code:visible").count() >= 3
    assert found.page.locator("noscript").is_visible()


AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"


def test_axe_finds_nothing(tab: Shown) -> None:
    """What stands within drawings is told by their labels and their tables."""
    if not AXE.exists():
        pytest.skip("needs axe-core: make browser")
    tab.open(text_of(*CASES["cpu product"]), "#at=m:3+n:5+k:1")
    tab.page.evaluate("for (const svg of document.querySelectorAll('svg')) svg.replaceChildren()")
    # one of each kind of table and text is enough, and what is not unfolded is not looked at
    tab.page.evaluate(
        "for (const rest of document.querySelectorAll('tr ~ tr ~ tr, pre span ~ span')) rest.remove()"
    )
    tab.page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true")
    tab.page.evaluate(AXE.read_text("utf-8"))
    for theme, rules in (("light", None), ("dark", ["color-contrast"])):
        tab.page.locator("#theme").select_option(theme)
        run = "async (runOnly) => (await axe.run(runOnly ? { runOnly } : {})).violations"
        told = tab.page.evaluate(run, rules)
        assert [(v["id"], v["nodes"][0]["html"][:200]) for v in told] == []
