"""What the panels of `imbrex explore` say, and a digest of what each shows: drawings, tables, frames.

    pytest tests/golden --update-golden     writes what they are now

Whoever changes a drawing looks at it, and then writes its digest.  The source that the last panel shows is
kept by `test_source`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.golden.kept import expect_kept, expect_only
from tests.golden.test_source import CASES, Emitted

from imbrex.config import tiles, tuning
from imbrex.explore.studies import study
from imbrex.pipeline import Request, machine_for

FOLDER = Path(__file__).parent / "explored"
SHOWN = (
    "conv_nchw", "conv_nhwc_stride", "gemm_avx2", "gemm_gfx942_stream_k",
    "conv_sm_90a_halo", "conv_sm_90a_lanes",
)  # fmt: skip


def digest(of: Any) -> str:
    return sha256(json.dumps(of, sort_keys=True, default=str).encode()).hexdigest()[:12]


def said(case: Emitted) -> Iterator[str]:
    machine, own = machine_for(case.target, case.isa, 4), tuning.parse(case.tuning)
    request = Request(
        case.problem, machine, case.target, own, case.algorithm, "shown", tiles.parse(case.schedule)
    )
    found = study(request).to_json()
    del found["generator"]
    panels = found.pop("panels")
    yield from (f"{key} {digest(value)}" for key, value in sorted(found.items()))
    for panel in panels:
        if panel["name"] == "source":
            continue
        yield f"panel {panel['name']}: {panel['title']}"
        for key, value in sorted(panel.items()):
            if key == "sentences":
                yield from (f"    {sentence}" for sentence in value)
            elif value and key not in ("name", "title"):
                yield f"    {key} {value if isinstance(value, str) and len(value) < 100 else digest(value)}"


@pytest.mark.parametrize("name", SHOWN)
def test_panels_show_what_they_showed(name: str, update_golden: bool) -> None:
    text, path = "".join(f"{line}\n" for line in said(CASES[name])), FOLDER / f"{name}.txt"
    expect_kept(text, path, update=update_golden)


def test_no_other_text_is_kept() -> None:
    expect_only(SHOWN, FOLDER)
