"""`imbrex explore` alone, in a browser: what is edited is drawn, what is wrong is told in place."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from tests.browser.conftest import Shown

from imbrex.cli.explore_server import answer
from imbrex.cli.options import Choices
from imbrex.explore.server import Server
from imbrex.kernel.constraints import Constraints

CHOSEN = Choices("gfx942", False, 1, None, Constraints())
START = ("gemm -m 24 -n 24 -k 24", "avx2", "", "")


@pytest.fixture
def url() -> Iterator[str]:
    with Server(0, lambda query: answer(CHOSEN, query if any(query) else START)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


def test_edits_are_drawn_and_mistakes_told_in_place(show: Callable[..., Shown], url: str) -> None:
    found = show(url, "#at=m:3+n:20")
    page = found.page
    assert page.locator("h2").inner_text().startswith("gemm")
    assert found.lit() > 0
    page.get_by_role("textbox", name="Problem").fill("gemm -m 6x -n 24 -k 24")
    page.locator(".error").wait_for()
    assert "'-m' takes an integer, got '6x'" in page.locator(".error pre").inner_text()
    assert page.locator("section").count() == 0
    page.get_by_role("textbox", name="Problem").fill(
        "conv -n 1 -c 16 -H 8 -W 8 -k 16 -y 3 -x 3 -p 1 -q 1 -F 1"
    )
    page.locator("section#maps").wait_for()
    assert page.locator("h2").inner_text().startswith("conv")
    assert found.at()["output.k"] == 3, "what was kept stays"
    page.get_by_role("combobox", name="Target").fill("avx512")
    page.get_by_role("button", name="Show").click()
    page.locator("h2 + p", has_text="avx512").wait_for()
    again = show(page.url)
    assert again.page.locator("h2 + p").inner_text() == page.locator("h2 + p").inner_text()
    assert found.asked[0].startswith(url) and all(one.startswith(url) for one in found.asked)
    found.said.clear()  # Chromium notes the status of the wrong problem's answer
    assert again.said == []


def test_a_page_of_another_site_is_refused(show: Callable[..., Shown], url: str) -> None:
    """A file's page has the origin `null`."""
    found = show("<!doctype html><title>elsewhere</title>")
    asks = "url => fetch(url).then(() => 'answered', () => 'refused')"
    assert found.page.evaluate(asks, url) == "refused"
    found.said.clear()
