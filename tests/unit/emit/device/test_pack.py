"""view.h and pack.h: panels hold what the index map says, 0 elsewhere, and read nothing outside."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.unit.emit.device.conftest import Axis, Device, elements, there

LANES, BLOCKED, TRANSPOSED, PANELS, COLUMNS = range(5)
TYPES: dict[str, tuple[Any, Any, str]] = {  # storage, computed, the vectors that are counted
    "f32": (np.float32, np.float32, "f32"),
    "f32_narrow": (np.float32, np.float32, "f32"),
    "f64": (np.float64, np.float64, "f64"),
    "f16": (np.float16, np.float32, "f32"),
    "bf16": (ml_dtypes.bfloat16, np.float32, "f32"),
    "i8": (np.int8, np.int32, "i32"),
}
GUARDS = {"f32": 2, "f32_narrow": 0, "f64": 2, "f16": 2, "bf16": 0, "i8": 2}
ROWS_A_PANEL = {"f32": 7, "f32_narrow": 3, "f64": 5, "f16": 4, "bf16": 4, "i8": 4}


def _panel_lanes(device: Device, kind: str) -> int:
    w = device.width[TYPES[kind][2]]
    return {"f32": 2 * w, "f32_narrow": w + w // 2 + 1}.get(kind, w)


def _image(pad: int, stride: int, k: int = 3, size: int = 7) -> tuple[Axis, Axis, tuple[int, int]]:
    """Rows are (channel, y, x) of a window, lanes are output pixels: an implicit GEMM's B."""
    c, y, x = np.meshgrid(range(2), range(k), range(k), indexing="ij")
    out = (size + 2 * pad - k) // stride + 1
    h, w = (v.ravel() * stride - pad for v in np.meshgrid(range(out), range(out), indexing="ij"))
    rows = Axis.of(((c * size + y) * size + x).ravel(), y.ravel(), x.ravel())
    return rows, Axis.of(h * size + w, h, w), (size, size)


def _scattered() -> tuple[Axis, Axis, tuple[int, int]]:
    rng = np.random.default_rng(7)
    rows = Axis.of(rng.integers(0, 40, 19), rng.integers(-3, 4, 19))
    return rows, Axis.of(rng.integers(0, 58, 37), rng.integers(0, 4, 37)), (5, 1)


def _matrix(rows: int, lanes: int, row_step: int, lane_step: int) -> tuple[Axis, Axis, tuple[int, int]]:
    return Axis.of(np.arange(rows) * row_step), Axis.of(np.arange(lanes) * lane_step), (1, 1)


def _classy() -> tuple[Axis, Axis, tuple[int, int]]:
    """Every row has a guard of its own, more than there are classes."""
    return Axis.of(np.zeros(100), np.arange(100) - 90), Axis.of(np.arange(40), np.arange(40)), (70, 1)


MAPS = {
    "3x3 pad 1": _image(1, 1),
    "3x3 pad 1 stride 2": _image(1, 2),
    "3x3 no pad": _image(0, 1),
    "1x1 stride 2": _image(0, 2, 1),
    "5x5 pad 4": _image(4, 3, 5),
    "scattered": _scattered(),
    "rows": _matrix(17, 70, 80, 1),
    "columns": _matrix(9, 33, 1, 31),
    "one": _matrix(1, 1, 1, 1),
    "broadcast": _matrix(5, 20, 3, 0),
    "every row its own class": _classy(),
}
CASES = [(kind, map) for kind in TYPES for map, m in MAPS.items() if GUARDS[kind] or there(*m).all()]


def _source(kind: str, count: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(4).integers(-99, 99, count).astype(TYPES[kind][0])


def _padded(array: np.ndarray[Any, Any], rows: int, lanes: int) -> np.ndarray[Any, Any]:
    grown = np.zeros((max(rows, array.shape[0]), max(lanes, array.shape[1])), array.dtype)
    grown[: array.shape[0], : array.shape[1]] = array
    return grown


def _whole(
    device: Device, kind: str, map: str
) -> tuple[Axis, Axis, Any, np.ndarray[Any, Any], tuple[Any, ...]]:
    rows, lanes, size = MAPS[map]
    place = rows.offset[:, None] + lanes.offset[None, :]
    source = _source(kind, int(place[there(rows, lanes, size)].max()) + 1)
    expected = elements(source.astype(TYPES[kind][1]), rows, lanes, size)
    limits = np.array(size, np.int32)
    return rows, lanes, source, expected, (rows.table, lanes.table, limits, len(source))


@pytest.mark.parametrize("kind, map", CASES)
def test_pack_lanes(device: Device, kind: str, map: str) -> None:
    rows, lanes, source, expected, at = _whole(device, kind, map)
    width = _panel_lanes(device, kind)
    count = -(-len(lanes.offset) // width)
    wide = _padded(expected, 0, count * width)
    for panel in range(count):
        found = np.full((len(rows.offset), width), -7, TYPES[kind][1])
        device.call(f"pack_{kind}", LANES, found, source, *at, panel, 0)
        np.testing.assert_array_equal(found, wide[:, panel * width : (panel + 1) * width])
    several = np.full((count, len(rows.offset), width), -7, TYPES[kind][1])
    device.call(f"pack_{kind}", PANELS, several, source, *at, 0, count)
    np.testing.assert_array_equal(several, wide.reshape(len(rows.offset), count, width).transpose(1, 0, 2))


@pytest.mark.parametrize("kind, map", CASES)
def test_pack_blocked(device: Device, kind: str, map: str) -> None:
    rows, lanes, source, expected, at = _whole(device, kind, map)
    w, height = device.width[TYPES[kind][2]], ROWS_A_PANEL[kind]
    blocks = -(-len(lanes.offset) // w)
    tall = _padded(expected, len(rows.offset) + height, blocks * w)
    for first in range(0, len(rows.offset), height):
        found = np.full((blocks, height, w), -7, TYPES[kind][1])
        device.call(f"pack_{kind}", BLOCKED, found, source, *at, first, 0)
        np.testing.assert_array_equal(
            found, tall[first : first + height].reshape(height, blocks, w).transpose(1, 0, 2)
        )


@pytest.mark.parametrize("kind, map", CASES)
def test_pack_transposed(device: Device, kind: str, map: str) -> None:
    rows, lanes, source, expected, at = _whole(device, kind, map)
    w, width = device.width[TYPES[kind][2]], _panel_lanes(device, kind)
    depth = -(-len(lanes.offset) // w) * w
    tall = _padded(expected, len(rows.offset) + width, depth)
    for first in range(0, len(rows.offset), width):
        found = np.full((depth, width), -7, TYPES[kind][1])
        device.call(f"pack_{kind}", TRANSPOSED, found, source, *at, first, 0)
        np.testing.assert_array_equal(found, tall[first : first + width].T)


@pytest.mark.parametrize("map", MAPS)
def test_pack_columns(device: Device, map: str) -> None:
    rows, lanes, source, expected, at = _whole(device, "f32", map)
    w, first = device.width["f32"], max(0, len(lanes.offset) - 3)
    count, depth = len(lanes.offset) - first, -(-len(rows.offset) // w) * w
    found = np.full((count, depth), -7, np.float32)
    device.call("pack_f32", COLUMNS, found, source, *at, first, count)
    np.testing.assert_array_equal(found, _padded(expected[:, first:].T, 0, depth))


WORDS: dict[str, tuple[Any, Any, int, int]] = {
    "bf16": (ml_dtypes.bfloat16, ml_dtypes.bfloat16, 2, 7),
    "i8": (np.int8, np.int8, 4, 4),
    "i16": (np.int8, np.int16, 2, 7),
}
"""Elements in memory and in panels, neighbours along k in a word of 32 bits, rows a panel."""
WORD_CASES = [(kind, map) for kind in WORDS for map, m in MAPS.items() if kind != "i8" or there(*m).all()]


def _in_words(k_major: np.ndarray[Any, Any], together: int) -> np.ndarray[Any, Any]:
    """[k][lane] as [k / together][lane][together]."""
    k, lanes = k_major.shape
    return k_major.reshape(k // together, together, lanes).transpose(0, 2, 1)


@pytest.mark.parametrize("kind, map", WORD_CASES)
def test_panels_of_words(device: Device, kind: str, map: str) -> None:
    """`together` neighbours along k side by side, in each form of panel; nothing behind it is written."""
    stored, element, together, height = WORDS[kind]
    *_, source, expected, at = _whole(device, "i8" if stored == np.int8 else kind, map)
    row_count, lane_count = expected.shape
    source = source.astype(stored)
    expected, w = expected.astype(stored).astype(element), device.width["f32"]
    width, vector = w + w // 2 + 1 if kind == "i8" else 2 * w, w * together

    def packed(form: int, shape: tuple[int, ...], first: int, count: int = 0) -> np.ndarray[Any, Any]:
        found = np.full(int(np.prod(shape)) + vector, -7, element)
        device.call(f"pack_words_{kind}", form, found, source, *at[:3], first, count)
        assert (found[-vector:] == -7).all()
        return found[:-vector].reshape(shape)

    panels, words = -(-lane_count // width), -(-row_count // together)
    wide = _padded(expected, words * together, panels * width)
    want = [_in_words(wide[:, i * width : (i + 1) * width], together) for i in range(panels)]
    for panel in range(panels):
        np.testing.assert_array_equal(packed(LANES, (words, width, together), panel), want[panel])
    np.testing.assert_array_equal(packed(PANELS, (panels, words, width, together), 0, panels), want)

    vectors = -(-lane_count // vector)
    tall = _padded(expected, row_count + max(height, width), vectors * vector)
    for first in range(0, row_count, height):
        blocks = tall[first : first + height].reshape(height, vectors, vector).transpose(1, 0, 2)
        np.testing.assert_array_equal(packed(BLOCKED, blocks.shape, first), blocks)
    for first in range(0, row_count, width):
        turned = _in_words(tall[first : first + width].T, together)
        np.testing.assert_array_equal(packed(TRANSPOSED, turned.shape, first), turned)

    first = max(0, lane_count - 3)
    columns = _padded(expected[:, first:].T, 0, -(-row_count // vector) * vector)
    np.testing.assert_array_equal(packed(COLUMNS, columns.shape, first, lane_count - first), columns)


def test_an_array_that_ends_with_its_page(device: Device) -> None:
    """Windows that hang over both ends of the image never read past them."""
    import ctypes
    import mmap

    pages = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    for page in (0, 2):
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(base + page * mmap.PAGESIZE), mmap.PAGESIZE, 0) == 0
    side = 7
    starts = {"first": base + mmap.PAGESIZE, "last": base + 2 * mmap.PAGESIZE - 2 * side * side * 4}
    for map in ("3x3 pad 1", "3x3 pad 1 stride 2", "5x5 pad 4"):
        rows, lanes, size = MAPS[map]
        limits = np.array(size, np.int32)
        for start in starts.values():
            image = np.ctypeslib.as_array(
                ctypes.cast(start, ctypes.POINTER(ctypes.c_float)), (2 * side * side,)
            )
            image[:] = _source("f32", image.size)
            at = (rows.table, lanes.table, limits, image.size)
            for form, first in ((LANES, 0), (BLOCKED, 0), (TRANSPOSED, 0), (COLUMNS, len(lanes.offset) - 1)):
                found = np.full((len(rows.offset) + 32) * 160, -7, np.float32)
                device.call("pack_f32", form, found, image, *at, first, 1)
            found = np.full((len(rows.offset), _panel_lanes(device, "f32")), -7, np.float32)
            device.call("pack_f32", LANES, found, image, *at, 0, 0)
            expected = _padded(elements(image, rows, lanes, size), 0, found.shape[1])[:, : found.shape[1]]
            np.testing.assert_array_equal(found, expected)


def test_rows_of_one_class_share_their_masks(device: Device) -> None:
    """A padded 3x3 window has 9 classes; rows that no lane can violate have one; too many are told."""
    found = {}
    for map in ("3x3 pad 1", "3x3 no pad", "every row its own class"):
        rows, lanes, size = MAPS[map]
        found[map] = device.call("classes", rows.table, lanes.table, np.array(size, np.int32))
    assert found == {"3x3 pad 1": 9, "3x3 no pad": 1, "every row its own class": -1}


@pytest.mark.parametrize("lane_step", [1, 2, 0, 3, -1])
def test_an_even_axis_is_told_either_way(device: Device, lane_step: int) -> None:
    same = device.function("even_is_the_same", ctypes.c_bool)
    for row_step, count in ((7, 1), (-5, 2), (0, 17), (300, 40)):
        rows, lanes = (Axis.of(100 + np.arange(count) * step) for step in (row_step, lane_step))
        tables = rows.table, lanes.table
        arguments = [ctypes.byref(table) for table in tables]
        assert same(*arguments, ctypes.c_int64(row_step), ctypes.c_int64(lane_step)), (row_step, count)
        off = ctypes.c_int64(row_step + 1), ctypes.c_int64(lane_step)
        assert count == 1 or not same(*arguments, *off), (row_step, count)
