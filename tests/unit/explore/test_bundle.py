"""The script in the wheel is what web/src gives: told by its first line, and by building it again."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
from tests.patience import HANG_S

WEB = Path(__file__).parents[3] / "web"
TOOLS = WEB / "node_modules" / ".bin"


def bundle() -> str:
    return (files("imbrex.explore") / "page.js").read_text("utf-8")


def test_the_bundle_names_the_sources_that_it_is_made_of() -> None:
    sources = sorted((WEB / "src").glob("*.ts"), key=lambda path: path.name)
    found = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    assert bundle().splitlines()[0].endswith(f" {found}"), "make page"


def test_the_bundle_asks_for_nothing_elsewhere() -> None:
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)[^\s\"']*", bundle()) == []
    assert "</script" not in bundle() and "eval(" not in bundle() and "new Function" not in bundle()


def test_types_are_right_and_the_sources_give_the_bundle(tmp_path: Path) -> None:
    if shutil.which("node") is None or not (TOOLS / "esbuild").exists():
        pytest.skip("needs node, and web/node_modules: make page")
    checked = subprocess.run(
        [TOOLS / "tsc", "--noEmit"], cwd=WEB, capture_output=True, text=True, timeout=HANG_S
    )
    assert (checked.returncode, checked.stdout) == (0, "")
    out = tmp_path / "page.js"
    subprocess.run(["node", "build.mjs", str(out)], cwd=WEB, check=True, capture_output=True, timeout=HANG_S)
    assert out.read_text("utf-8") == bundle()
