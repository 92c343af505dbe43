"""Pictures of lines: well-formed, with every line, name and mark."""

from __future__ import annotations

from xml.etree import ElementTree

from imbrex.bench.picture import Line, lines_picture

SPACE = "{http://www.w3.org/2000/svg}"


def test_lines_have_names_marks_and_places_in_order() -> None:
    lines = [
        Line("a < b", "#111111", ((1, 8.0), (10, 4.0), (100, 0.0))),
        Line("c", "#222222", ((1, 2.0), (100, 2.0))),
    ]
    root = ElementTree.fromstring(lines_picture(lines, "trials", "percent"))
    told = [text.text for text in root.iter(f"{SPACE}text")]
    assert {"a < b", "c", "trials", "percent", "1", "10", "100"} <= set(told)
    falling, level = [
        [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]
        for line in root.iter(f"{SPACE}polyline")
    ]
    assert falling[1][0] - falling[0][0] == falling[2][0] - falling[1][0], "decades are equally wide"
    assert falling[0][1] < falling[1][1] < falling[2][1], "less is lower"
    assert level[0][1] == level[1][1]
