"""Server: the page of `imbrex explore` without a problem, for this machine's own browser.

Law: it listens on the loopback interface only, and answers nobody but pages of its own: a request whose Host
is another name (a domain that was pointed here), whose Origin is another site, or that another site's page
has made, is refused before anything is computed.  A query is bounded, and one page is made at a time.
"""

from __future__ import annotations

import errno
import threading
import webbrowser
from collections.abc import Callable
from email.message import Message
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

from imbrex.diagnostic import Diagnostic

__all__ = ["FIELDS", "Query", "Server", "serve"]

LOOPBACK: Final = "127.0.0.1"
FIELDS: Final[tuple[str, ...]] = ("problem", "target", "config", "beside")
"""What a query may say; the page's form has a field of each name."""
FIELD_CHARACTERS: Final = 1 << 14
"""Most characters of a field; http.server itself ends a request's line at 64 KiB."""
PAGES_KEPT: Final = 8
SILENT_S: Final = 30
"""Seconds after which a connection that says nothing is closed."""

Query: TypeAlias = tuple[str, str, str, str]
"""The text of each of FIELDS."""
Page: TypeAlias = tuple[HTTPStatus, str]


class Server(ThreadingHTTPServer):
    """`page` answers a query with a document; a query is asked once, and its page kept for a while."""

    daemon_threads = True

    def __init__(self, port: int, page: Callable[[Query], Page]) -> None:
        super().__init__((LOOPBACK, port), Handler)
        self.page = lru_cache(PAGES_KEPT)(page)
        self.turn = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/"

    @property
    def hosts(self) -> frozenset[str]:
        """What a request may call this server."""
        return frozenset(f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost"))


class Handler(BaseHTTPRequestHandler):
    """One page at `/`; nothing else is there."""

    server_version = "imbrex"
    sys_version = ""
    timeout = SILENT_S

    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        if refused := foreign(self.headers, server.hosts):
            self._answer(HTTPStatus.FORBIDDEN, refused, "text/plain")
            return
        parts = urlsplit(self.path)
        if parts.path != "/":
            self._answer(HTTPStatus.NOT_FOUND, f"there is only one page: {server.url}", "text/plain")
            return
        try:
            query = query_of(parts.query)
        except Diagnostic as error:
            self._answer(HTTPStatus.BAD_REQUEST, str(error), "text/plain")
            return
        with server.turn:
            status, text = server.page(query)
        self._answer(status, text, "text/html")

    do_HEAD = do_GET

    def _answer(self, status: HTTPStatus, text: str, kind: str) -> None:
        data = text.encode("utf-8", "replace")
        self.send_response(status)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(len(data))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            try:
                self.wfile.write(data)
            except (BrokenPipeError, ConnectionResetError):  # the browser has gone on to another page
                self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged: the terminal is the user's."""


def foreign(headers: Message, hosts: frozenset[str]) -> str | None:
    """Why a request is not one of this server's own pages or of its user; None where it is."""
    if (host := headers.get("Host", "")) not in hosts:
        return f"this server is not '{host[:100]}'"
    origin = headers.get("Origin")
    if origin is not None and origin.removeprefix("http://") not in hosts:
        return f"pages of '{origin[:100]}' may not ask this server"
    if headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
        return "pages of other sites may not ask this server"
    return None


def query_of(text: str) -> Query:
    """The fields of a URL's query; a Diagnostic where there is another one, one twice, or one is too long."""
    try:
        given = parse_qs(text, keep_blank_values=True, max_num_fields=len(FIELDS), errors="strict")
    except ValueError:
        raise Diagnostic(f"a query has {', '.join(FIELDS)}, each once, in UTF-8") from None
    for name, values in given.items():
        if name not in FIELDS or len(values) > 1:
            raise Diagnostic(f"a query has {', '.join(FIELDS)}, each once, got '{name[:100]}'")
        if len(values[0]) > FIELD_CHARACTERS:
            raise Diagnostic(f"'{name}' has {len(values[0])} characters; at most {FIELD_CHARACTERS}")
    problem, target, config, beside = (given.get(name, [""])[0].strip() for name in FIELDS)
    return problem, target, config, beside


def serve(page: Callable[[Query], Page], port: int, opens_browser: bool, say: Callable[[str], None]) -> None:
    """Answer until Ctrl-C.  port: 0 for any that is free."""
    try:
        server = Server(port, page)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            message, hint = f"port {port} is in use", "leave --port out to have a free one"
            raise Diagnostic(message, hint=hint) from None
        raise Diagnostic(f"cannot listen on port {port}: {(error.strerror or '').lower()}") from None
    with server:
        try:
            say(f"{server.url}  (Ctrl-C ends it)")
            if opens_browser:
                webbrowser.open(server.url)
            server.serve_forever()
        except KeyboardInterrupt:
            say("")
