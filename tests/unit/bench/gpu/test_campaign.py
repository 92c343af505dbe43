"""Benchmarks on a GPU without one: what refuses says so in its row, and rows come to means and a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from imbrex.bench.gpu.campaign import Campaign
from imbrex.bench.gpu.row import not_run
from imbrex.bench.gpu.sets import Entry, chosen
from imbrex.bench.gpu.summary import COLUMNS, PAGE_COLUMNS, cells, markdown, row_line, set_cells, summary
from imbrex.bench.prepare import Wanted, prepare
from imbrex.cli.bench import command
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Gemm

ENTRY = chosen(["square"])[0]


def timed(ratio: float, right: bool = True, entry: Entry = ENTRY) -> dict[str, object]:
    times = {"imbrex": {"median_ns": 1000.0}, "torch": {"median_ns": 1000.0 * ratio}}
    return {
        **not_run(entry, ""),
        "refused": None,
        "right": right,
        "check": "right",
        "timings": times,
        "tflops": {"imbrex": 2.0, "torch": 1.0},
        "ratios": {"torch": ratio},
        "ratio": ratio,
        "kernel": {"tunings": ["v1:warpgroup:128"]},
    }


def test_a_summary_counts_right_rows_only() -> None:
    rows = [timed(4.0), timed(1.0), timed(9.0, right=False), not_run(ENTRY, "error: it cannot be")]
    (told,) = summary(rows)
    assert (told["rows"], told["timed"], told["refused"], told["wrong"], told["counted"]) == (4, 3, 1, 1, 2)
    assert (told["ratio"], told["least"], told["at_least_1"]) == (pytest.approx(2.0), 1.0, 2)
    assert told["totals_ns"] == {"imbrex": 2000.0, "torch": 5000.0}
    assert len(set_cells(told)) == len(COLUMNS)


def test_rows_as_text() -> None:
    assert "REFUSED error: it cannot be" in row_line(not_run(ENTRY, "error: it cannot be"))
    assert "WRONG" in row_line(timed(1.0, right=False)) and "x 2.000" in row_line(timed(2.0))
    assert cells(timed(2.0))[3] == "torch 2.00"
    assert "WRONG" not in row_line({**timed(2.0), "right": None}), "not checked is not wrong"


def test_a_page_of_a_report() -> None:
    report = {"gpu": {"name": "H"}, "date": "2026-01-02T03", "summary": summary([timed(2.0)])}
    lines = list(markdown(report))
    assert lines[0].startswith("Measured on an H, 2026-01-02")
    assert len(lines[-1].split("|")) == len(PAGE_COLUMNS) + 2 and "| 2.000 |" in lines[-1]


def test_a_spent_budget_leaves_whole_reports() -> None:
    entries, kept = chosen(["square"], quick=True), list[int]()
    campaign = Campaign(entries, budget_s=0.0)
    document = campaign.run(lambda told: kept.append(len(json.loads(json.dumps(told))["rows"])))
    assert kept == list(range(len(entries) + 1))
    assert {row["refused"] for row in document["rows"]} == {"not run: the budget was spent"}
    assert (document["summary"][0]["ratio"], document["summary"][0]["refused"]) == (None, 0)


def test_a_run_that_was_cut_goes_on() -> None:
    """Rows that were measured stay, in their places; those that were not run are asked for again."""
    entries = chosen(["square"], quick=True)
    cut = [timed(2.0, entry=entry) for entry in entries]
    cut[0] = not_run(entries[0], "not run: the budget was spent, then")
    rows = Campaign(entries, budget_s=0.0, known=cut).run(lambda _: None)["rows"]
    assert rows == [not_run(entries[0], "not run: the budget was spent"), *cut[1:]] and len(rows) > 1


def test_preparing_answers_for_every_problem() -> None:
    fine, bad = Wanted(Gemm(16, 16, 16), "cpu"), Wanted(Gemm(16, 16, 16), "cpu", "v1:cpu:nonsense")
    found = prepare([fine, bad, fine], 2)
    assert found[fine] is None and "tuning" in str(found[bad])


def test_the_command(tmp_path: Path) -> None:
    """Where there is no GPU it is one message; else a report."""
    output = tmp_path / "report.json"
    arguments = [
        "gemm -t f32 -m 64 -n 64 -k 64",
        "--target",
        "sm_90a",
        "--seconds",
        "0.01",
        "-o",
        str(output),
    ]
    try:
        result = CliRunner().invoke(command, arguments, standalone_mode=False, catch_exceptions=False)
    except Diagnostic as error:
        assert "a kernel for sm_90a cannot run here" in error.message and not output.exists()
        return
    row = json.loads(output.read_text(encoding="utf-8"))["rows"][0]
    assert row["refused"] is not None or row["right"]
    assert (result.return_value == 0) == (row["refused"] is None)


def test_an_unknown_peer() -> None:
    arguments = ["gemm -m 64 -n 64 -k 64", "--target", "sm_90a", "--peers", "tourch"]
    with pytest.raises(Diagnostic, match="unknown peer 'tourch'"):
        CliRunner().invoke(command, arguments, standalone_mode=False, catch_exceptions=False)
