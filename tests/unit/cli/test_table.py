"""Tables: in a terminal as wide as that, with every letter of every cell; in a pipe a line a row."""

from __future__ import annotations

import sys

import pytest

from imbrex.cli.table import print_table

PROBLEM = "conv -n ?1..16 -c 8 -H 8 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1"
CONFIGURATION = "+".join(f"product=v1:cpu:{m},64,8,64,80,16" for m in range(9))
COLUMNS = ("problem", "times", "time", "configuration")


@pytest.mark.parametrize("width", [80, 130, None])
def test_nothing_is_cut(
    width: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if width is not None:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "dumb")
    print_table(COLUMNS, [(PROBLEM, "3", "1.09 us", CONFIGURATION)])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert all(len(line) <= (width or 1000) for line in lines)
    assert (len(lines) > 3) == (width is not None)
    head, _, *body = lines
    last = head.index("configuration")
    assert body[0][head.index("times") : last].split() == ["3", "1.09", "us"]
    assert "".join(line[: head.index("times")].strip() for line in body).replace(" ", "") == PROBLEM.replace(
        " ", ""
    )
    assert "".join(line[last:].strip() for line in body) == CONFIGURATION
