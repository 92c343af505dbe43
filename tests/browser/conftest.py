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
    said: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])

    def lit(self, within: str = "main") -> int:
        """How many parts light up."""
        return self.page.locator(f"{within} :is(.lit, .here)").count()

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


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Shown]]:
    """Opens a page, given as text or by its address; closes it after the test: it must have said nothing."""
    opened: list[Shown] = []
    size = {"width": 1400, "height": 900}

    def shown(text: str, hash: str = "", **context: Any) -> Shown:
        if not text.startswith("http:"):
            file = tmp_path / f"page{len(opened)}.html"
            file.write_text(text, "utf-8")
            text = file.as_uri()
        page = browser.new_page(viewport=size, **context)
        found = Shown(page)
        opened.append(found)
        page.on("console", lambda message: found.said.append(message.text))
        page.on("pageerror", lambda error: found.said.append(str(error)))
        page.on("request", lambda request: found.asked.append(request.url))
        page.goto(text + hash)
        return found

    yield shown
    for one in opened:
        assert one.said == []
        one.page.close()
