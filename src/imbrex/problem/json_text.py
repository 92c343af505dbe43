"""JSON text: the problems of one JSON value inside a text, each error at its key.

Law: a value is one object or a list of objects, and nothing stands behind it on its last line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import cast

from imbrex.diagnostic import Diagnostic
from imbrex.limit import JSON_DEPTH, too_deep
from imbrex.numeral import json_whole
from imbrex.problem.conv import Conv2d
from imbrex.problem.flags import Line, Token
from imbrex.problem.gemm import Gemm
from imbrex.problem.json_form import from_json

__all__ = ["json_end", "read_json"]

_BETWEEN = re.compile(r"[\s,\[]*")
_DECODER = json.JSONDecoder(parse_int=json_whole)


def json_end(text: str, start: int, line_end: int) -> int:
    """The end of the last line of the value that begins at `start`; `line_end` where none is whole."""
    if too_deep(text, start) is not None:
        return line_end
    try:
        end = text.find("\n", _decode(text, start)[1])
    except json.JSONDecodeError:
        return line_end
    return len(text) if end < 0 else end


def read_json(text: str, start: int, file: str | None) -> list[Conv2d | Gemm]:
    """The problems of the value that begins at `start`."""
    if (at := too_deep(text, start)) is not None:
        error = Diagnostic(f"malformed JSON: more than {JSON_DEPTH} lists and objects inside each other")
        raise _located(error, text, at, 1, file)
    try:
        end = _decode(text, start)[1]
    except json.JSONDecodeError as error:
        message = f"malformed JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise _located(Diagnostic(message), text, error.pos, 1, file) from None
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    if rest := text[end:stop].strip():
        error = Diagnostic("unexpected text after a JSON value")
        raise _located(error, text, text.index(rest, end), len(rest), file)
    return list(_problems(text, start, file))


def _problems(text: str, start: int, file: str | None) -> Iterator[Conv2d | Gemm]:
    for item, begin, end in _items(text, start):
        try:
            yield from_json(item)
        except Diagnostic as error:
            key = re.compile(f'"{re.escape(error.subject or "")}"(?=\\s*:)').search(text, begin, end)
            at, length = (key.start(), len(key[0])) if key else (begin, 1)
            raise _located(error, text, at, length, file) from None


def _items(text: str, start: int) -> Iterator[tuple[object, int, int]]:
    """The value at `start`, or each of its list; well-formed; with the piece of the text that it takes."""
    at, is_list = start, text[start] == "["
    while True:
        if is_list:
            between = _BETWEEN.match(text, at)
            at = between.end() if between else at
            if text[at] == "]":
                return
        value, end = _decode(text, at)
        yield value, at, end
        if not is_list:
            return
        at = end


def _decode(text: str, at: int) -> tuple[object, int]:
    return cast("tuple[object, int]", _DECODER.raw_decode(text, at))


def _located(error: Diagnostic, text: str, at: int, length: int, file: str | None) -> Diagnostic:
    """The error with the line that holds offset `at`."""
    begin = text.rfind("\n", 0, at) + 1
    line = Line(text[begin:].split("\n", 1)[0].rstrip("\r"), file, text.count("\n", 0, at) + 1)
    return line.locate(error, Token(text[at : at + length] or " ", at - begin + 1))
