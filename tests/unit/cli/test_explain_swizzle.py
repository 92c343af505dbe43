"""`imbrex explain swizzle`: every form says what the kernel's swizzles say, and mistakes are told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree

import pytest

from imbrex.emit.mlir import tile_module
from imbrex.view.mma import Operand
from imbrex.view.swizzle import INSTANCES, SEEDS, tile_kernel

Imbrex: TypeAlias = Callable[..., Any]

NAME = "f16_16x16x16_8x8_Kx2"
SVG = "{http://www.w3.org/2000/svg}"


def test_the_list_names_every_kernel(imbrex: Imbrex) -> None:
    said = imbrex("explain", "swizzle")
    assert said.code == 0 and all(name in said.out for name in (*SEEDS, *INSTANCES))
    told = json.loads(imbrex("explain", "swizzle", "--format", "json").out)
    assert [kernel["name"] for kernel in told] == [*SEEDS, *INSTANCES]


def test_the_table_of_one(imbrex: Imbrex) -> None:
    said = imbrex("explain", "swizzle", NAME, "--operand", "a")
    assert said.code == 0
    for line in (
        f"{NAME}: 128 x 128 x 32 by mfma_f32_16x16x16_f16, 64 work items",
        "[[0, 1], [2, 3, 4]]: [m_unroll = 8, m_lane = 16 | k_unroll = 2, k_lane = 4, k_element = 4]",
        "transpose  [0, 3, 1, 2, 4]",
        "packed     [m_unroll=8, k_lane=4, m_lane=16, k_unroll=2, k_element=4]",
        "16 bytes side by side; 32 registers",
    ):
        assert line in said.out
    assert "  B" not in said.out and "  C" in imbrex("explain", "swizzle", NAME).out


def test_json_is_the_swizzle(imbrex: Imbrex) -> None:
    told = json.loads(imbrex("explain", "swizzle", "iree_f32", "--format", "json").out)
    kernel = tile_kernel("iree_f32")
    assert (told["waves"], told["workitems"]) == ({"m": 2, "n": 2, "k": 1}, 256)
    operands: tuple[Operand, ...] = ("a", "b", "c")
    for operand in operands:
        swizzle, have = kernel.swizzle(operand), told["operands"][operand]
        assert tuple(have["expanded_shape"]) == swizzle.expanded_shape
        assert tuple(have["permutation"]) == swizzle.permutation
        assert have["offset"] == str(swizzle.offset)


def test_mlir_is_the_module(imbrex: Imbrex) -> None:
    kernel = tile_kernel(NAME)
    said = imbrex("explain", "swizzle", NAME, "--operand", "b", "--format", "mlir")
    assert said.out.strip() == tile_module(kernel, "b").strip()
    all_three = imbrex("explain", "swizzle", NAME, "--format", "mlir").out
    assert re.findall(r"@(\w+)\(", all_three) == [f"{o}_{f}" for o in "abc" for f in ("pack", "unpack")]


def test_conventions_of_k(imbrex: Imbrex) -> None:
    names = ("explain", "swizzle", "i8_16x16x32_Kx4", "--operand", "a")
    assert "k_unroll = 4, k_lane = 4, k_element = 8]" in imbrex(*names).out
    assert "k_lane = 4, k_unroll = 4, k_element = 8]" in imbrex(*names, "--k", "contiguous").out
    split = imbrex(*names, "--k", "split16").out
    assert "k_unroll = 2, k_lane = 4, k_unroll2 = 2, k_element = 8]" in split


@pytest.mark.parametrize(
    ("name", "operand"),
    [
        ("f16_16x16x16_2x2_Kx2", "a"),
        ("f16_16x16x16_2x2_Kx2", "c"),
        ("f32_16x16x4", "b"),
        ("iree_f32", "c"),
        ("mfma_f32_16x16x4_4b_f16", "c"),
    ],
)
def test_pictures_show_every_element_twice(
    imbrex: Imbrex, tmp_path: Path, name: str, operand: Operand
) -> None:
    """Once where the matrix has it, once where it lies in memory, with the same words."""
    file = tmp_path / "picture.svg"
    said = imbrex("explain", "swizzle", name, "--operand", operand, "--format", "svg", "-o", str(file))
    assert (said.code, said.out) == (0, "")
    tree = ElementTree.parse(file).getroot()
    panels = tree.findall(f"{SVG}g")
    told = [sorted(title.text or "" for title in panel.iter(f"{SVG}title")) for panel in panels]
    assert len(panels) == 2 and told[0] == told[1]
    offsets = {int(text.rsplit(" ", 1)[1]) for text in told[0]}
    elements = tile_kernel(name).swizzle(operand).elements
    run = elements // len(told[0])
    assert offsets == set(range(0, elements, run))


def test_a_picture_tells_who_holds_what(imbrex: Imbrex) -> None:
    said = imbrex("explain", "swizzle", "f16_16x16x16_2x2_Kx2", "--operand", "a", "--format", "svg")
    assert said.out.count("m 17, k 20-23: wave 0, lane 17, offset 652") == 2
    assert said.out.count("m 17, k 20-23: wave 0, lane 17") == 2


def test_a_picture_shows_every_operand_unless_one_is_named(imbrex: Imbrex) -> None:
    said = imbrex("explain", "swizzle", "f16_16x16x16", "--format", "svg")
    assert [said.out.count(f">{o}: ") for o in "ABC"] == [1, 1, 1]
    assert [said.out.count(f">{o} in memory") for o in "ABC"] == [1, 1, 1]
    ElementTree.fromstring(said.out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["f16_16x16x17"], "there is no tile kernel 'f16_16x16x17': no MFMA of one block is f16_16x16x17"),
        (["f16_16x16x16_8x8_K2"], "did you mean 'f16_16x16x16_8x8_Kx2'?"),
        (["nothing"], "write TYPE_MxNxK[_UxV][_KxW][_wAxB]"),
        (["f16_16x16x16_0x8"], "'unroll' takes three positive numbers"),
        (["--operand", "a"], "a tile kernel is needed here"),
        (["i8_16x16x32", "--k", "split16"], "a run of 16 along k does not fit"),
    ],
)
def test_what_is_refused(imbrex: Imbrex, words: list[str], message: str) -> None:
    said = imbrex("explain", "swizzle", *words)
    assert said.code == 1 and message in said.errors and said.errors.startswith("error: ")
