"""Drawings against what the library counts: tiles, holders, banks, segments."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.pairs import in_turn
from tests.unit.explore.studied import BACKWARD, DEPTHWISE, FORWARD, PRODUCT, WEIGHT, studied

from imbrex.chip import CpuMachine, target
from imbrex.config import tiles
from imbrex.config.cpu.cost import cycles, parts
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.l2 import CacheTraffic
from imbrex.config.request import Request
from imbrex.config.tuning import parse
from imbrex.explore import study
from imbrex.explore.ladder import Ladder
from imbrex.explore.panels.banks import _accesses  # pyright: ignore[reportPrivateUsage]
from imbrex.explore.regions import regions
from imbrex.explore.subject import Subject
from imbrex.explore.tile_grid import tile_grid
from imbrex.index.query import is_injective
from imbrex.kernel import compile
from imbrex.problem import Gemm
from imbrex.view.work.workgroup import raster_order

LAST = " --in_layout NHWC --fil_layout NHWC --out_layout NHWC"
TALL = "gemm -t f16 -m 300 -n 4096 -k 4096"


def test_regions_cover_every_element_once() -> None:
    values = np.random.default_rng(5).integers(0, 3, (17, 23))
    seen = np.full(values.shape, -1)
    for one in regions(values):
        part = seen[one.row : one.row + one.height, one.column : one.column + one.width]
        assert (part == -1).all()
        part[:] = one.value
    assert (seen == values).all()


@pytest.mark.parametrize(
    ("line", "chip"),
    in_turn(
        [FORWARD, BACKWARD, WEIGHT, PRODUCT, TALL], ["avx512", "gfx908", "gfx950", "sm_90a"], whole=[FORWARD]
    ),
)
def test_every_element_of_a_tile_has_one_holder(chip: str, line: str) -> None:
    subject = studied(chip, line).subject
    held, cut = subject.held, subject.tiling
    assert isinstance(held, Ladder) and cut is not None
    rows, columns = (d.size for d in held.map.lower)
    assert (rows, columns) == cut.tile and is_injective(held.map)
    assert np.prod([d.size for d in held.map.upper]) == rows * columns


def test_conflicts_are_those_that_the_plan_counts() -> None:
    """Of accesses without conflicts none is drawn as one; without the permutation there are some."""
    panel = studied("gfx942", TALL).panel("banks")
    assert panel.svg is not None and " bad" not in panel.svg
    ((_, plain),) = panel.variants
    assert " bad" in plain
    subject: Subject = studied("gfx942", TALL).subject
    assert subject.gpu is not None
    for one in _accesses(subject, subject.gpu):
        busiest = [max(map(len, one.words(phase).values()), default=1) for phase in range(len(one.how.lanes))]
        assert sum(busiest) - len(busiest) == one.extra == 0


@pytest.mark.parametrize("chip", ["gfx942", "sm_90a"])
def test_what_asks_for_banks_stands_under_their_numbers(chip: str) -> None:
    svg = studied(chip, TALL).panel("banks").svg
    assert svg is not None
    root = ElementTree.fromstring(svg)
    numbers = [one for one in root.iter() if one.get("class") == "mid tiny soft"]
    seen = 0
    for box in (one for one in root.iter() if one.tag.endswith("rect")):
        title = re.search(r"phase \d+, banks? (\d+)(?: to (\d+))?:", "".join(box.itertext()))
        if title is None:
            continue
        x, y, width = (float(box.get(name, "")) for name in ("x", "y", "width"))
        row = max(float(one.get("y", "")) for one in numbers if float(one.get("y", "")) < y)
        above = [int(one.text or "") for one in numbers
                 if float(one.get("y", "")) == row and x < float(one.get("x", "")) < x + width]  # fmt: skip
        assert above == [*range(int(title[1]), int(title[2] or title[1]) + 1)]
        seen += 1
    assert seen > 8


def test_configurations_are_drawn_to_the_scale_of_their_costs() -> None:
    """Each between the lines of the least cost and of the most, which the scale names."""
    panel = studied("gfx942", PRODUCT).panel("configurations")
    assert panel.svg is not None
    root = ElementTree.fromstring(panel.svg)
    boxes = [one for one in root.iter() if one.get("data-is", "").startswith("configuration:")]
    middles = [float(one.get("y", "")) + float(one.get("height", "")) / 2 for one in boxes]
    costs = [float(re.findall(r"^[\d.]+", "".join(one.itertext()))[0]) for one in boxes]
    lines = [float(y) for y in re.findall(r'class="line" d="M[\d.]+ ([\d.]+)', panel.svg)]
    assert max(costs) > 2 * min(costs), "a problem whose configurations differ"
    assert (min(middles), max(middles)) == pytest.approx((min(lines), max(lines)), abs=0.1)
    assert middles.index(min(middles)) == costs.index(max(costs)) and f">{max(costs):.2f}<" in panel.svg


@pytest.mark.parametrize(("chip", "line", "most"), [("gfx942", PRODUCT, 400), ("avx512", DEPTHWISE, 16)])
def test_configurations_stand_evenly_apart_by_rank(chip: str, line: str, most: int) -> None:
    """From one end of the scale's lines to the other, however few there are."""
    panel = studied(chip, line).panel("configurations")
    assert panel.svg is not None
    root = ElementTree.fromstring(panel.svg)
    boxes = [one for one in root.iter() if one.get("data-is", "").startswith("configuration:")]
    middles = np.array([float(one.get("x", "")) + float(one.get("width", "")) / 2 for one in boxes])
    (ends,) = set(re.findall(r'class="line" d="M([\d.]+) [\d.]+[A-Z ]([\d.]+)', panel.svg))
    left, right = map(float, ends)
    ranks = [int(one.get("data-is", "").removeprefix("configuration:")) for one in boxes]
    near = min(len(ranks), most // 2)  # of more than are drawn, those behind are some of them
    assert ranks[:near] == list(range(near)) and ranks == sorted(set(ranks))
    assert 2 < len(boxes) <= most
    assert np.diff(middles) == pytest.approx((middles[-1] - middles[0]) / (len(boxes) - 1), abs=0.2)
    assert left < middles[0] < left + 15 and right - 15 < middles[-1] < right


def test_segments_are_those_of_the_plan() -> None:
    found = studied("gfx942", TALL, schedule="stream_k:100")
    plan = found.subject.tiling and found.subject.tiling.plan
    assert plan is not None
    panel = found.panel("segments")
    assert panel.svg is not None and panel.sampled == "32 of 100 workgroups are drawn"
    drawn = re.findall(r"workgroup (\d+), tile (\d+), steps (\d+) to (\d+)", panel.svg)
    wanted = [
        (str(w), str(s.output), str(s.first), str(s.end - 1))
        for w in (*range(30), 98, 99)
        for s in plan.segments(w)
    ]
    assert drawn == wanted


@pytest.mark.parametrize("way", ["swapped", "straight"])
def test_what_is_found_in_l2_counts_the_bytes_of_each_matrix(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8 bits of A and 4 of B: rows of a tile are rows of B where the product is exchanged."""
    told: list[tuple[int, int]] = []

    def traffic(plan: object, order: object, cache: object, tile_bytes: tuple[int, int]) -> CacheTraffic:
        told.append(tile_bytes)
        return CacheTraffic(4, 1)

    monkeypatch.setattr("imbrex.explore.panels.segments.plan_traffic", traffic)
    problem = Gemm(300, 520, 1056, dtype="mxfp8_mxfp4", transpose_b=True)
    tuning = parse(f"v1:xdlops:128,64,4,64,32,16,auto,xor,ahead,{way}")
    found = study(Request(problem, target("gfx950"), "gfx950", tuning, schedule=tiles.wanted("stream_k:7")))
    cut = found.subject.tiling
    assert cut is not None and cut.swapped == (way == "swapped")
    assert "75.0% of the tiles" in " ".join(found.panel("segments").sentences)
    ((rows, columns),) = told
    bits = (4, 8) if cut.swapped else (8, 4)
    assert rows * bits[1] * cut.tile[1] == columns * bits[0] * cut.tile[0] > 0


def test_whole_tiles_are_dealt_out_as_the_kernel_has_them() -> None:
    found = studied("sm_90a", "gemm -t f16 -m 2048 -n 2048 -k 2048")
    cut = found.subject.tiling
    assert cut is not None and cut.is_dealt and not cut.is_one_each
    svg, (units,) = found.panel("segments").svg, (d.size for d in cut.order.upper)
    assert svg is not None and units > cut.at_a_time
    drawn = {(int(w), int(u)) for w, u in re.findall(r"workgroup (\d+), tile (\d+)", svg)}
    assert {(0, 0), (0, cut.at_a_time), (1, 1), (1, cut.at_a_time + 1)} <= drawn and (0, 1) not in drawn


@pytest.mark.parametrize("line", [FORWARD, TALL])
def test_the_parts_of_a_cpus_product_are_its_cycles(line: str) -> None:
    found = studied("avx512", line).subject
    assert found.product is not None and found.tuned is not None
    tuning, machine = found.tuned.tuning, found.request.machine
    assert isinstance(tuning, CpuTuning) and isinstance(machine, CpuMachine) and machine.threads == 1
    spent = sum(parts(tuning, found.product.context, machine).values())
    assert spent == pytest.approx(cycles(tuning, found.product.context, machine))


@pytest.mark.parametrize("chip", ["avx512", "gfx942", "sm_90a"])
def test_texts_are_those_of_the_compiler_and_name_their_maps(chip: str) -> None:
    found = studied(chip, FORWARD)
    panel, bundle = found.panel("source"), found.subject.source.bundle
    for one in panel.listings:
        if one.language == "c++":
            assert bundle.files[one.name].rstrip("\n").startswith("\n".join(text for text, _ in one.lines))
        named = {word for _, tokens in one.lines for word in tokens.removeprefix("map:").split(",") if word}
        assert not one.name.endswith(".hpp") or named == {"A", "B", "C"}


def test_a_wave_of_neighbours_uses_all_that_comes() -> None:
    """128 rows of B are neighbours: 32 lanes with 16 bytes each are four lines, every byte used."""
    said = " ".join(studied("sm_90a", "gemm -m 128 -n 512 -k 512").panel("loads").sentences)
    assert "loads of b: 16 bytes a lane" in said and "100% of what comes" in said


def test_the_roof_of_a_hopper_is_its_matrix_units() -> None:
    said = studied("sm_90a", "gemm -t f16 -m 4096 -n 4096 -k 4096").panel("roofline").sentences[0]
    assert said.startswith(f"The peak is {132 * 4096:,} operations a cycle")


def test_a_picture_of_tiles() -> None:
    picture = ElementTree.fromstring(tile_grid("tiles", [[0, 2], [1, 3]], lambda number: number % 2))
    colours = [e.attrib["class"] for e in picture if e.tag.endswith("rect")]
    assert colours[0] == colours[1] != colours[2] == colours[3], "rows run on one die each"


def test_notebooks_show_kernels_and_maps() -> None:
    kernel = compile("gemm -m 5 -n 7 -k 9", "cpu")
    shown = kernel._repr_html_()
    assert "gemm -t f32 -m 5 -n 7 -k 9" in shown and "C is c" in shown
    ElementTree.fromstring(shown[shown.index("<svg") :])
    assert "merge" in raster_order(2, 3)._repr_html_()
    told_later = compile("gemm -m ?1..9 -n 7 -k 9", "cpu")._repr_html_()
    assert "?1..9" in told_later and "<svg" not in told_later


def test_operands_of_a_swapped_kernel_are_the_products_own() -> None:
    """The kernel's a is gemm's B: what is said of B is what the lowered product says of its a."""
    found = studied("sm_90a", FORWARD.replace("conv ", "convfp16 ") + LAST).subject
    assert found.pipeline is not None and found.tiling is not None
    row = f"{found.pipeline.a.tile.k} x {found.pipeline.a.tile.d} a stage"
    panel = studied("sm_90a", FORWARD.replace("conv ", "convfp16 ") + LAST).panel("loads")
    assert found.tiling.swapped and panel.svg is not None
    assert re.search(rf">B: [^<]*{row}", panel.svg)


def test_places_of_tiles_are_those_of_the_order() -> None:
    cut = studied("gfx942", FORWARD).subject.tiling
    assert cut is not None
    (count,) = (dim.size for dim in cut.order.upper)
    (batch, m, n), _ = cut.order.evaluate([np.arange(count)])
    begun = zip(range(count), *(x.tolist() for x in np.broadcast_arrays(batch, m, n)), strict=True)
    found = [(place, i, j) for place, g, i, j in begun if g == 0]
    assert [(int(cut.corner[i, j]), i, j) for _, i, j in found if max(i, j) < 64] == [
        tile for tile in found if max(tile[1:]) < 64
    ]
    assert cut.begun_first(7) == [tile for tile in found if tile[0] < 7]


def test_what_is_too_large_is_sampled_or_says_so() -> None:
    of = studied("gfx942", "gemm -t f16 -m 400000 -n 400000 -k 64")
    assert of.panel("order").sampled is not None and of.panel("tile").sampled is not None
    assert "too many tiles to follow" in (of.panel("segments").absent or "")
