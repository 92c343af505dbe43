"""The gallery's commands: each names a kernel that can be made, and shows what the text beside it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from imbrex.cli.explore_server import study_of
from imbrex.cli.options import Choices
from imbrex.explore import Study
from imbrex.kernel.constraints import Constraints

GALLERY = Path(__file__).parents[3] / "docs" / "gallery.md"
LINES = re.findall(r"^imbrex explore .*", GALLERY.read_text("utf-8"), re.MULTILINE)
COMMANDS = {words[-1].removesuffix(".html"): words[2:-2] for words in map(shlex.split, LINES)}


def studied(name: str, option: str = "--config") -> Study:
    problem, *words = COMMANDS[name]
    said = dict(zip(words[::2], words[1::2], strict=True))
    wanted = Constraints(algorithm=said.get("--algorithm"), config=said.get(option))
    chosen = Choices(said["--target"], False, 1, None, wanted)
    (entry,) = chosen.problems([problem])
    return study_of(chosen, entry)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_names_a_kernel(name: str) -> None:
    assert studied(name).subject.ladders


def test_the_forward_layer_is_a_product_of_128_by_115200_by_72_without_guards() -> None:
    ladders = studied("forward").subject.ladders
    assert dict(ladders["C"].map.upper) == {"gemmM": 128, "gemmN": 115200}
    assert dict(ladders["A"].map.upper)["gemmK"] == 72
    assert all(not ladder.guards for name, ladder in ladders.items() if name in "ABC")


def test_backward_data_is_four_products() -> None:
    found = studied("backward")
    assert len(found.subject.products) == 4


def test_stream_k_and_two_tile_stand_side_by_side() -> None:
    found = [studied("streamk", option).subject for option in ("--config", "--beside")]
    assert [str(one.configuration).rpartition("@")[2] for one in found] == ["two_tile:32", "stream_k:32"]
