"""The metadata of code objects: values as MessagePack's specification has them, byte by byte."""

from __future__ import annotations

from typing import Any

import pytest

from imbrex.cdna import msgpack

VALUES = {
    b"\xc0": None,
    b"\xc2": False,
    b"\xc3": True,
    b"\x7f": 127,
    b"\xe0": -32,
    b"\xcc\xff": 255,
    b"\xcd\x01\x00": 256,
    b"\xd1\xff\x00": -256,
    b"\xce\x00\x01\x00\x00": 1 << 16,
    b"\xa3abc": "abc",
    b"\xd9\x03abc": "abc",
    b"\x93\x01\xc3\xa1x": [1, True, "x"],
    b"\xdc\x00\x02\x01\x02": [1, 2],
    b"\x82\xa1a\x01\xa1b\xc0": {"a": 1, "b": None},
    b"\xde\x00\x01\xa1a\x91\x05": {"a": [5]},
}


@pytest.mark.parametrize(("data", "value"), VALUES.items())
def test_values(data: bytes, value: Any) -> None:
    found = msgpack.unpacked(data)
    assert found == value and type(found) is type(value)
