"""What the site needs beyond docs/: the pages of the root folder, and text as MkDocs reads it.

README.md, CHANGELOG.md and their like become pages of the site, and links between them and docs/ follow.  A
link to source stays as its text, since the site has no source.  Words behind a fence's language are for the
tests alone.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
START = "start.md"
"""README.md on the site, whose own name would make it the home page, which docs/index.md is."""
ROOT_PAGES = {path.name: START if path.stem == "README" else path.name for path in ROOT.glob("*.md")}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, page in sorted(ROOT_PAGES.items()):
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return rewritten(markdown)


def rewritten(text: str) -> str:
    """The text of a page as MkDocs reads it."""
    text = re.sub(r"\]\((?:\.\./)?README\.md", f"]({START}", text)
    text = re.sub(r"\]\((?:\.\./|docs/)(\w+\.md(?:#[\w-]*)?)\)", r"](\1)", text)
    text = re.sub(r"\[([^\]]+)\]\((?:\.\./)?(?:src|tests|examples|benchmarks)/[^)]*\)", r"\1", text)
    return re.sub(r"^```(\w+) [^\n]*$", r"```\1", text, flags=re.MULTILINE)
