"""`imbrex explain mma`: the four questions, the list, every form, and what is refused."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree

import pytest

from imbrex.view.mma import (
    Element,
    LaneRegister,
    Operand,
    element_at,
    instruction,
    instructions,
    lane_registers,
)

Imbrex: TypeAlias = Callable[..., Any]

NAME = "mfma_f32_32x32x4_2b_f16"
SVG = "{http://www.w3.org/2000/svg}"


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_the_list_names_every_instruction(imbrex: Imbrex) -> None:
    said = imbrex("explain", "mma", "--format", "csv")
    assert said.code == 0
    header, *rows = rows_of(said.out)
    assert [row[0] for row in rows] == [i.name for i in instructions()]
    assert header[-7:] == ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx11", "gfx12", "sm_90a"]


def test_the_list_of_a_chip_and_of_types(imbrex: Imbrex) -> None:
    said = imbrex("explain", "mma", "--chip", "gfx942", "--types", "fp8,bf8", "--format", "json")
    assert {i["instruction"]: i["cycles"]["gfx942"] for i in json.loads(said.out)} == {
        "mfma_f32_32x32x16_fp8_bf8": 32,
        "mfma_f32_16x16x32_fp8_bf8": 16,
    }
    assert "mfma_f32_16x16x8_xf32" in imbrex("explain", "mma", "--types", "xf32").out


def test_facts_of_one(imbrex: Imbrex) -> None:
    said = imbrex("explain", "mma", "v_mfma_f32_32x32x8f16")
    assert said.code == 0
    for line in (
        "mfma_f32_32x32x8_f16",
        "builtin    float16 __builtin_amdgcn_mfma_f32_32x32x8f16(half4 a, half4 b, float16 c, 0, 0, 0)",
        "gfx90a     v_mfma_f32_32x32x8f16, 64 cycles, 256 operations a cycle on each SIMD",
        "registers  A 2, B 2, C 16, of 32 bits, a lane",
        "C          m = ",
    ):
        assert line in said.out
    told = json.loads(imbrex("explain", "mma", "mfma_f32_16x16x32_fp8_fp8", "--format", "json").out)
    assert (told["cycles"], told["registers"]) == ({"gfx942": 16, "gfx950": 16}, {"a": 2, "b": 2, "c": 4})
    assert "fp8 is f8e4m3fnuz" in imbrex("explain", "mma", "mfma_f32_16x16x32_fp8_fp8").out


def test_facts_of_one_that_reads_shared_memory(imbrex: Imbrex) -> None:
    said = imbrex("explain", "mma", "wgmma_m64n16k32_f32_e4m3_e5m2")
    assert said.code == 0
    for line in (
        "wave           128 lanes",
        "registers      A 4, C 8, of 32 bits, a lane",
        "shared memory  B, and A where it is not in registers",
        "assembly       wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e5m2 c, a, b, p, 1, 1",
        "8 cycles, 8192 operations a cycle on the four SIMDs of a multiprocessor; "
        "e4m3 is f8e4m3fn, e5m2 is f8e5m2",
    ):
        assert line in said.out, line
    told = json.loads(imbrex("explain", "mma", "wgmma_m64n16k16_f16_f16", "--format", "json").out)
    assert (told["builtin"], told["registers"], list(told["layouts"])) == ("", {"a": 4, "c": 4}, ["a", "c"])


@pytest.mark.parametrize("question", [["--matrix"], ["--registers"], ["--register-of", "0,0"], []])
def test_no_lane_holds_what_shared_memory_does(imbrex: Imbrex, question: list[str]) -> None:
    name = "wgmma_m64n16k8_f32_tf32"
    assert imbrex("explain", "mma", name, *question).code == 0
    said = imbrex("explain", "mma", name, "--operand", "b", *question)
    assert said.code == 1
    assert f"no lane holds B of {name}: it is read from shared memory" in said.errors


def test_register_of_an_element(imbrex: Imbrex) -> None:
    said = imbrex("explain", "mma", NAME, "--operand", "c", "--register-of", "9,5,1", "--format", "csv")
    assert rows_of(said.out) == [["element", "lane", "register", "bits"], ["C[9][5].1", "5", "21", "v21"]]
    table = imbrex("explain", "mma", NAME, "--register-of", "9,3").out
    assert "A[9][3].0     9         3  v1[31:16]" in table
    assert "B[9]" not in table  # B has four rows
    assert "C[9][3].0     3         5    v5" in table


def test_element_of_a_register(imbrex: Imbrex) -> None:
    said = imbrex("explain", "mma", NAME, "--operand", "a", "--element-of", "40,2", "--format", "json")
    assert json.loads(said.out)["cells"] == [
        {"row": 8, "column": 2, "block": 1, "lane": 40, "register": 2, "bits": "v1[15:0]"}
    ]
    empty = imbrex(
        "explain", "mma", "wmma_i32_16x16x16_iu4_w64_gfx12", "--operand", "a", "--element-of", "40,0"
    )
    assert "lane 40, register 0 of A: nothing" in empty.out


@pytest.mark.parametrize("operand", ["a", "b", "c"])
def test_the_whole_matrix_and_the_whole_register_file(imbrex: Imbrex, operand: Operand) -> None:
    found = instruction(NAME)
    asked = ("explain", "mma", NAME, "--operand", operand)
    blocks = json.loads(imbrex(*asked, "--matrix", "--format", "json").out)
    cells = [cell for block in blocks for cell in block["cells"]]
    assert {
        Element(c["row"], c["column"], c["block"]): (LaneRegister(c["lane"], c["register"]),) for c in cells
    } == (lane_registers(found, operand))
    assert json.loads(imbrex(*asked, "--registers", "--format", "json").out)["cells"] == sorted(
        cells, key=lambda c: (c["lane"], c["register"])
    )
    header, *lanes = rows_of(imbrex(*asked, "--registers", "--format", "csv").out)
    held = element_at(found, operand, LaneRegister(37, len(header) - 2))
    assert held is not None
    assert lanes[37][-1] == f"{operand.upper()}[{held.row}][{held.column}].{held.block}"


def test_copies_are_listed_in_the_matrix(imbrex: Imbrex) -> None:
    said = imbrex(
        "explain", "mma", "wmma_f32_16x16x16_f16_w64", "--operand", "a", "--matrix", "--format", "csv"
    )
    assert rows_of(said.out)[4][6] == "3,19,35,51:v2[31:16]"


@pytest.mark.parametrize(
    "name", ["mfma_f32_16x16x16_f16", "mfma_f32_4x4x4_16b_f16", "wmma_i32_16x16x16_iu4_w32"]
)
@pytest.mark.parametrize("question", ["--matrix", "--registers"])
def test_pictures_show_every_cell(imbrex: Imbrex, tmp_path: Path, name: str, question: str) -> None:
    file = tmp_path / "picture.svg"
    assert imbrex("explain", "mma", name, question, "--format", "svg", "-o", str(file)).out == ""
    tree = ElementTree.parse(file)
    width, height = (float(tree.getroot().attrib[side]) for side in ("width", "height"))
    found, cells = instruction(name), 0
    for group in tree.iter(f"{SVG}g"):
        if "transform" not in group.attrib:
            continue
        left, top = map(float, group.attrib["transform"].removeprefix("translate(").rstrip(")").split())
        for box in group.iter(f"{SVG}rect"):
            cells += 1
            assert 0 <= left + float(box.attrib["x"]) <= width - 52
            assert 0 <= top + float(box.attrib["y"]) <= height - 30
    everything = [held for o in ("a", "b", "c") for held in lane_registers(found, o).values()]  # type: ignore[arg-type]
    assert cells == (len(everything) if question == "--matrix" else sum(map(len, everything)))


def test_a_picture_tells_lane_and_register(imbrex: Imbrex) -> None:
    said = imbrex("explain", "mma", "mfma_f32_16x16x16_f16", "--operand", "a", "--format", "svg")
    assert "<title>A[3][5]: lane 19, v0[31:16]</title>" in said.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mfma_f32_32x32x8_f61"], "there is no matrix instruction 'mfma_f32_32x32x8_f61'"),
        (["mfma_f32_16x16x32_f16", "--chip", "gfx942"], "hint: gfx942 has mfma_f32_16x16x16_f16"),
        (
            ["--chip", "gfx90a", "--types", "fp8"],
            "no matrix instruction of gfx90a multiplies fp8 by fp8; gfx942,",
        ),
        (["--types", "f16,i8"], "no matrix instruction multiplies f16 by i8"),
        (["--chip", "gfx94"], "no matrix instructions are known of 'gfx94'"),
        ([NAME, "--register-of", "3;4"], "--register-of takes ROW,COL or ROW,COL,BLOCK, got '3;4'"),
        ([NAME, "--element-of", "3"], "--element-of takes LANE,REGISTER, got '3'"),
        ([NAME, "--register-of", "32,0"], "A of mfma_f32_32x32x4_2b_f16 has no row 32"),
        ([NAME, "--operand", "c", "--element-of", "64,0"], "C of mfma_f32_32x32x4_2b_f16 has no lane 64"),
        ([NAME, "--matrix", "--registers"], "--matrix and --registers are two questions"),
        (["--matrix"], "--matrix is about one instruction"),
        (["--format", "svg"], "--format svg is about one instruction"),
        ([NAME, "--register-of", "0,0", "--format", "svg"], "--register-of has no picture"),
        ([NAME, "--types", "f16"], "--types chooses from the list"),
        ([NAME, "-o", "/dev/null/all.txt"], "cannot write '/dev/null/all.txt': '/dev/null' is no folder"),
    ],
)
def test_what_is_refused(imbrex: Imbrex, words: list[str], message: str) -> None:
    said = imbrex("explain", "mma", *words)
    assert said.code == 1
    assert message in said.errors
    assert said.out == ""


def test_explain_still_takes_problems(imbrex: Imbrex) -> None:
    assert imbrex("explain", "mma", "--help").out.startswith("Usage: imbrex explain mma [OPTIONS] [NAME]")
    assert "imbrex explain mma" in imbrex("explain", "--help").out
    assert "'mma' is no file" in imbrex("run", "mma").errors


def test_the_lines_of_the_page_run(imbrex: Imbrex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[3] / "docs" / "mma.md"
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("imbrex ")]
    assert len(lines) > 5
    monkeypatch.chdir(tmp_path)
    for line in lines:
        assert imbrex(*line.split()[1:]).code == 0, line
