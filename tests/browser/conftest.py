"""A browser of this machine: Chromium, as Debian packages it, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")


@dataclass
class Shown:
    """A page in the browser, what its console said, and which addresses it asked."""

    page: Page
    file: Path
    said: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])

    def lit(self, within: str = "main") -> int:
        """How many parts light up."""
        return self.page.locator(f"{within} :is(.lit, .here)").count()

    def open(self, text: str, hash: str = "") -> None:
        """Another document, or the same one anew, given as text or by its address."""
        if not text.startswith("http:"):
            self.file.write_text(text, "utf-8")
            text = self.file.as_uri()
        self.asked.clear()
        self.page.goto("about:blank")  # else another hash is no other document
        self.page.goto(text + hash)

    def at(self, study: int = 0) -> dict[str, int | str]:
        """The axes of what is kept, with all that follows."""
        found = self.page.evaluate("i => Object.fromEntries(imbrex.completed(imbrex.kept, i))", study)
        assert isinstance(found, dict)
        return found

    def keep(self, **point: int) -> None:
        """Keep a point; `__` for the dot of an axis."""
        named = {axis.replace("__", "."): value for axis, value in point.items()}
        self.page.evaluate("point => imbrex.keep(new Map(Object.entries(point)))", named)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: make browser")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"needs one of {', '.join(NAMES)}")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


def shown(browser: Browser, file: Path, **context: Any) -> Shown:
    """An empty tab."""
    page = browser.new_page(viewport={"width": 1400, "height": 900}, **context)
    found = Shown(page, file)
    page.on("console", lambda message: found.said.append(message.text))
    page.on("pageerror", lambda error: found.said.append(str(error)))
    page.on("request", lambda request: found.asked.append(request.url))
    return found


@pytest.fixture(scope="session")
def tab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """A tab for all tests that need no other one, since each costs half a second."""
    found = shown(browser, tmp_path_factory.mktemp("tab") / "page.html")
    yield found
    found.page.close()


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Shown]]:
    """Opens a page in a tab of its own, closed after the test, which must have said nothing."""
    opened: list[Shown] = []

    def show(text: str, hash: str = "", **context: Any) -> Shown:
        found = shown(browser, tmp_path / f"page{len(opened)}.html", **context)
        opened.append(found)
        found.open(text, hash)
        return found

    yield show
    for one in opened:
        assert one.said == []
        one.page.close()
