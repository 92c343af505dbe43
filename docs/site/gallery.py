"""The gallery's pages: what the commands of docs/gallery.md write, and a link below each command.

With IMBREX_GALLERY=off the pages are empty: what the commands draw is tested in tests/unit/explore.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from imbrex.cli.explore import command

SOURCE = "gallery.md"
BLOCK = re.compile(r"^```shell\n(imbrex explore [^\n]* -o (\w+\.html))\n```$", re.MULTILINE)


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """The name of each page, and the command's words."""
    for found in BLOCK.finditer(text):
        yield found[2], shlex.split(found[1])[2:]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    text = (Path(config.docs_dir) / SOURCE).read_text(encoding="utf-8")
    is_empty = os.environ.get("IMBREX_GALLERY") == "off"
    with tempfile.TemporaryDirectory() as folder:
        for name, words in commands(text):
            made = Path(folder) / name
            if is_empty:
                made.touch()
            else:
                command.main([*words[:-1], str(made)], standalone_mode=False)
            files.append(File.generated(config, f"gallery/{name}", content=made.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if page.file.src_uri != SOURCE:
        return markdown
    return BLOCK.sub(lambda found: f"{found[0]}\n\n[The page](gallery/{found[2]})", markdown)
