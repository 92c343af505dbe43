"""The machine's description, from files as Linux writes them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from imbrex.build.isa import isa
from imbrex.run import host_machine as module
from imbrex.run.host_machine import HostMachine, host_machine, usable_cores


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("max 100000", None),
        ("250000 100000", 3),
        ("50000 100000", 1),
        ("", None),
        ("junk", None),
        ("1 0", None),
    ],
)
def test_quota(tmp_path: Path, text: str, cores: int | None) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert module._quota_cores(tmp_path / "cpu.max") == cores


def test_no_quota_file(tmp_path: Path) -> None:
    assert module._quota_cores(tmp_path / "cpu.max") is None


def test_quota_cuts_the_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)), raising=False)
    for quota, cores in ((None, 8), (3, 3), (100, 8), (0, 1)):
        monkeypatch.setattr(module, "_quota_cores", lambda path, quota=quota: quota)
        assert usable_cores() == cores


def test_caches_that_hold_data(tmp_path: Path) -> None:
    rows = [
        ("1", "Data", "32K"),
        ("1", "Instruction", "64K"),
        ("2", "Unified", "1M"),
        ("3", "Unified", "junk"),
    ]
    for i, (level, kind, size) in enumerate(rows):
        index = tmp_path / f"index{i}"
        index.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (index / name).write_text(f"{text}\n")
    assert module._cache_sizes(tmp_path) == {1: 32 << 10, 2: 1 << 20}


def test_this_machine_can_be_written_down() -> None:
    facts = host_machine().to_json()
    assert json.loads(json.dumps(facts)) == facts
    assert 1 <= facts["cores"] <= facts["logical_cores"]


def test_one_line_leaves_out_what_is_unknown() -> None:
    known = HostMachine("EPYC", isa("avx512"), 2, 4, 32 << 10, 1 << 20, None, None, "Linux 6", "3.11")
    assert str(known) == "EPYC, avx512, 2 of 4 cores, L1d 32 KiB, L2 1 MiB, Linux 6"
    unknown = replace(known, cpu="", l1d_bytes=None, l2_bytes=None)
    assert str(unknown) == "unknown CPU, avx512, 2 of 4 cores, Linux 6"
