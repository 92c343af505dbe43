"""vec.h, transpose.h and ceiling.h: what a register loads, stores and becomes."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.unit.emit.device.conftest import Device

PROT_NONE = 0  # <sys/mman.h>
NARROW: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
TYPES: dict[str, tuple[Any, str]] = {
    "f32": (np.float32, "f32"),
    "f64": (np.float64, "f64"),
    "i32": (np.int32, "i32"),
    "f16": (np.float16, "f32"),
    "bf16": (ml_dtypes.bfloat16, "f32"),
    "i8": (np.int8, "i32"),
}


@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.parametrize("path", ["move", "scalar"])
def test_every_narrow_number_widens_exactly(device: Device, kind: str, path: str) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    wide = np.full(1 << 16, -7, np.float32)
    device.call(f"{path}_{kind}", wide, bits, len(bits), True)
    np.testing.assert_array_equal(wide, bits.view(NARROW[kind]).astype(np.float32))


@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.parametrize("path", ["move", "scalar"])
def test_narrowing_rounds_to_nearest_even(device: Device, kind: str, path: str) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(NARROW[kind]).astype(np.float32)
    bits = every.view(np.uint32)
    near = np.concatenate(
        [bits + np.uint32(d % 2**32) for d in (0, 1, -1, 0x8000, 0x7FFF, 0x1000, 0xFFF, 0x1001)]
    )
    random = np.random.default_rng(1).integers(0, 2**32, 1 << 16, dtype=np.uint32)
    wide = np.concatenate([near, random]).view(np.float32)
    narrow = np.full(len(wide), 0x1234, np.uint16)
    device.call(f"{path}_{kind}", wide, narrow, len(wide), False)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = wide.astype(NARROW[kind])
    got = narrow.view(NARROW[kind])
    is_nan = np.isnan(wide)
    assert np.isnan(got[is_nan].astype(np.float32)).all()
    np.testing.assert_array_equal(narrow[~is_nan], expected.view(np.uint16)[~is_nan])


def test_bytes_widen_to_integers(device: Device) -> None:
    narrow = np.arange(-128, 128, dtype=np.int8)
    wide = np.zeros(256, np.int32)
    device.call("move_i8", wide, narrow, 256, True)
    np.testing.assert_array_equal(wide, narrow)


@pytest.mark.parametrize("kind", TYPES)
def test_masks_choose_lanes_and_touch_no_others(device: Device, kind: str) -> None:
    dtype, computed = TYPES[kind]
    lanes = device.width[computed]
    rng = np.random.default_rng(2)
    source = rng.integers(-100, 100, lanes).astype(dtype)
    for mask in {0, 1, (1 << lanes) - 1, 1 << (lanes - 1), *map(int, rng.integers(0, 1 << lanes, 20))}:
        on = (mask >> np.arange(lanes) & 1).astype(bool)
        to = np.full(lanes, 99, dtype)
        kept = np.zeros(lanes, TYPES[computed][0])
        device.call(f"masked_{kind}", to, source, kept, mask)
        np.testing.assert_array_equal(to, np.where(on, source, np.array(99, dtype)))
        np.testing.assert_array_equal(kept, np.where(on, source.astype(kept.dtype), 1))


@pytest.mark.parametrize("kind", ["f32", "f64", "i32"])
def test_first_lanes_are_all_that_is_stored(device: Device, kind: str) -> None:
    dtype, lanes = TYPES[kind][0], device.width[kind]
    source = np.arange(1, lanes + 1).astype(dtype)
    for count in range(1, lanes + 1):
        to = np.full(lanes + 1, 99, dtype)
        device.call(f"first_{kind}", to, source, (1 << count) - 1)
        np.testing.assert_array_equal(to, [*source[:count], *[99] * (lanes + 1 - count)])


@pytest.mark.parametrize("kind", TYPES)
def test_lanes_off_may_lie_on_no_page(device: Device, kind: str) -> None:
    """The array ends with its page, and the next page may not be read; nor the one before the first."""
    dtype, computed = TYPES[kind]
    lanes, size = device.width[computed], np.dtype(dtype).itemsize
    pages = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    libc = ctypes.CDLL(None)
    for page in (0, 2):
        assert libc.mprotect(ctypes.c_void_p(base + page * mmap.PAGESIZE), mmap.PAGESIZE, PROT_NONE) == 0
    to, kept = np.zeros(lanes, dtype), np.zeros(lanes, TYPES[computed][0])
    for count in range(1, lanes):
        last = ctypes.c_void_p(base + 2 * mmap.PAGESIZE - count * size)
        device.call(f"masked_{kind}", to, last, kept, (1 << count) - 1)
        device.call(f"masked_{kind}", last, to, kept, (1 << count) - 1)
        first = ctypes.c_void_p(base + mmap.PAGESIZE - count * size)
        device.call(f"masked_{kind}", to, first, kept, ((1 << lanes) - 1) & ~((1 << count) - 1))


@pytest.mark.parametrize("kind", ["f32", "f64", "i32"])
def test_transpose_of_a_square(device: Device, kind: str) -> None:
    lanes = device.width[kind]
    square = np.arange(lanes * lanes).reshape(lanes, lanes).astype(TYPES[kind][0])
    turned = square.copy()
    device.call(f"square_{kind}", turned)
    np.testing.assert_array_equal(turned, square.T)


def test_masks_as_lanes_of_bits(device: Device) -> None:
    for kind, dtype in (("f32", np.uint32), ("f64", np.uint64)):
        lanes = device.width[kind]
        for mask in (0, 1, 0b101 & ((1 << lanes) - 1), (1 << lanes) - 1):
            found = np.full(lanes, 3, dtype)
            device.call(f"bits_{kind}", mask, found)
            expected = [np.iinfo(dtype).max if mask >> j & 1 else 0 for j in range(lanes)]
            np.testing.assert_array_equal(found, np.array(expected, dtype))


def test_guards_of_a_vector(device: Device) -> None:
    rng = np.random.default_rng(3)
    for kind in ("f32", "f64"):
        lanes = device.width[kind]
        for _ in range(50):
            lane = rng.integers(-4, 9, lanes, dtype=np.int32)
            row, size = int(rng.integers(-4, 5)), int(rng.integers(1, 7))
            expected = sum(1 << j for j in range(lanes) if 0 <= lane[j] + row < size)
            assert device.call(f"below_{kind}", lane, row, size) == expected


def test_the_probe_multiplies_and_adds(device: Device) -> None:
    """sum += x * x, `rounds` times in every lane of every chain, which begin as 0, 1, 2 and so on."""
    chains, lanes, rounds, x = device.call("chains"), device.width["i32"], 5, 0x3C3C3C3C
    assert device.function("multiply_adds", ctypes.c_int64)() == chains * lanes
    truth = lanes * (sum(range(chains)) + chains * rounds * x * x)
    assert device.function("probed", ctypes.c_int32)(ctypes.c_int64(rounds)) == ctypes.c_int32(truth).value
