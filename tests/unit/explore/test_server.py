"""The server of `imbrex explore`: whom it answers, what it refuses, and how it ends."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from urllib.parse import urlencode

import pytest
from tests.patience import HANG_S

from imbrex.cli import main
from imbrex.cli.explore_server import answer
from imbrex.cli.options import Choices
from imbrex.explore.server import FIELD_CHARACTERS, Query, Server
from imbrex.kernel.constraints import Constraints

CHOSEN = Choices("gfx942", False, 1, None, Constraints())


@pytest.fixture
def asked() -> list[Query]:
    """What the server computed."""
    return []


@pytest.fixture
def server(asked: list[Query]) -> Iterator[Server]:
    def page(query: Query) -> tuple[HTTPStatus, str]:
        asked.append(query)
        return HTTPStatus.OK, f"<p>{query[0]}</p>"

    with Server(0, page) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def said(server: Server, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, str]:
    """Its status and its text.  headers: `_` for `-`."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=HANG_S)) as connection:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=given)
        response = connection.getresponse()
        return response.status, response.read().decode()


def test_a_query_is_answered_and_kept(server: Server, asked: list[Query]) -> None:
    path = "/?" + urlencode({"problem": " gemm -m 4 ", "target": "cpu"})
    assert said(server, path) == (200, "<p>gemm -m 4</p>")
    assert said(server, path, Host=f"localhost:{server.server_port}")[0] == 200
    assert said(server, path, Sec_Fetch_Site="same-origin", Origin=server.url[:-1])[0] == 200
    assert said(server, path, "HEAD") == (200, "")
    assert asked == [("gemm -m 4", "cpu", "", "")]


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "evil.example:80"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_others_pages_are_refused_before_anything_is_computed(
    server: Server, asked: list[Query], headers: dict[str, str]
) -> None:
    assert said(server, **headers)[0] == 403
    assert asked == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/favicon.ico", 404),
        ("/../../etc/passwd", 404),
        ("/?problem=a&problem=b", 400),
        ("/?other=a", 400),
        ("/?a&b&c&d&e&f&g", 400),
        ("/?problem=%ff", 400),
        (f"/?problem={'a' * (FIELD_CHARACTERS + 1)}", 400),
        (f"/?problem={'a' * (1 << 17)}", 414),
    ],
)
def test_queries_are_bounded(server: Server, asked: list[Query], path: str, status: int) -> None:
    assert said(server, path)[0] == status
    assert asked == []


def test_it_has_one_method_and_listens_on_the_loopback_interface(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert said(server, method="POST")[0] == 501


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (("conv -n 1 -c 6x", "", "", ""), "error: &#39;-c&#39; takes an integer, got &#39;6x&#39;"),
        (("/etc/passwd", "", "", ""), "unknown problem form &#39;/etc/passwd&#39;"),
        (("", "gfx942", "", ""), "error: the problem is empty"),
        (("gemm -m 8 -n 8 -k 8", "gfx9", "", ""), "target &#39;gfx9&#39; is not supported"),
        (
            ("gemm -m 8 -n 8 -k 8", "cpu,gfx942", "", ""),
            "--target takes one name here, got &#39;cpu,gfx942&#39;",
        ),
        (("gemm -m 8 -n 8 -k 8", "", "nonsense", ""), "nonsense"),
        (("gemm -m 8 -n 8 -k 8", "", "", "<script>"), "&lt;script&gt;"),
    ],
)
def test_what_is_wrong_is_told_in_place_as_the_command_line_tells_it(query: Query, message: str) -> None:
    status, text = answer(CHOSEN, query)
    assert status == HTTPStatus.UNPROCESSABLE_ENTITY
    assert message in text[text.index('role="alert"') :]
    assert 'id="studies"' not in text and "<script>alert" not in text


def test_a_busy_port_has_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        with pytest.raises(SystemExit) as end:
            main(["explore", "--no-browser", "--port", str(port)])
    assert end.value.code == 1
    said = capsys.readouterr().err
    assert said == f"error: port {port} is in use\nhint: leave --port out to have a free one\n"


def test_it_ends_with_ctrl_c() -> None:
    # a shell that runs tests in the background has them ignore the signal, and their children with them
    reset = "import signal, runpy, sys; signal.signal(signal.SIGINT, signal.default_int_handler); " \
        "sys.argv[0] = 'imbrex'; runpy.run_module('imbrex', run_name='__main__')"  # fmt: skip
    command = [sys.executable, "-c", reset, "explore", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as server:
        assert server.stderr is not None
        try:
            first = server.stderr.readline()
            server.send_signal(signal.SIGINT)
            rest = server.communicate(timeout=HANG_S)[1]
        finally:
            server.kill()
    assert first.startswith("http://127.0.0.1:") and first.endswith("  (Ctrl-C ends it)\n")
    assert server.returncode == 0 and rest.strip() == ""
