"""What a driver calls the stream that a caller means."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from imbrex.run.stream import stream_handle

STREAMS = [
    (None, 0),
    (5, 5),
    (SimpleNamespace(cuda_stream=6), 6),
    (SimpleNamespace(ptr=7), 7),
    (SimpleNamespace(__cuda_stream__=lambda: (0, 8)), 8),
]


@pytest.mark.parametrize(("stream", "handle"), STREAMS)
def test_streams_of_others(stream: Any, handle: int) -> None:
    assert stream_handle(stream, ()) == handle


def test_the_handle_of_a_library_that_is_not_known_is_its_object() -> None:
    stream = object()
    assert stream_handle(stream, ()) is stream
