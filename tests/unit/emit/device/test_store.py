"""store.h and threads.h: results reach memory through their map, once each, from any number of threads."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.unit.emit.device.conftest import Axis, Device, there

STORE_LANES, STORE_TRANSPOSED, ADD_LANES, ADD_TRANSPOSED = range(4)
TYPES: dict[str, tuple[Any, Any, str, bool]] = {  # storage, computed, vectors, guards
    "f32": (np.float32, np.float32, "f32", True),
    "f64": (np.float64, np.float64, "f64", False),
    "i32": (np.int32, np.int32, "i32", True),
    "f16": (np.float16, np.float32, "f32", False),
    "bf16": (ml_dtypes.bfloat16, np.float32, "f32", True),
}
POISON = 77


def _maps(guarded: bool) -> dict[str, tuple[Axis, Axis, tuple[int, int]]]:
    rng = np.random.default_rng(9)
    maps = {
        "matrix": (Axis.of(np.arange(13) * 40), Axis.of(np.arange(37)), (1, 1)),
        "pieces": (Axis.of(np.arange(5) * 7), Axis.of(np.arange(33) // 7 * 35 + np.arange(33) % 7), (1, 1)),
        "every second": (Axis.of(np.arange(5) * 60), Axis.of(np.arange(29) * 2), (1, 1)),
        "scattered": (Axis.of(np.arange(9) * 41), Axis.of(rng.permutation(41)), (1, 1)),
    }
    if guarded:
        maps["guarded"] = (
            Axis.of(np.arange(11) * 40, np.arange(11) - 2),
            Axis.of(np.arange(36), np.arange(36) % 5),
            (9, 1),
        )
    return maps


# only whole accumulators are added atomically
CASES = [
    (k, f) for k, t in TYPES.items() for f in range(4) if f < ADD_LANES or np.dtype(t[0]) == np.dtype(t[1])
]


@pytest.mark.parametrize("kind, form", CASES)
def test_a_tile_reaches_memory(device: Device, kind: str, form: int) -> None:
    storage, computed, vectors, guarded = TYPES[kind]
    rng = np.random.default_rng(10)
    w = device.width[vectors]
    for rows, lanes, size in _maps(guarded).values():
        shape = len(rows.offset), len(lanes.offset)
        place, exists = rows.offset[:, None] + lanes.offset[None, :], there(rows, lanes, size)
        for alpha, beta in ((1, 0), (2, 3)):
            values = rng.integers(-9, 9, shape).astype(computed)
            unread = form < ADD_LANES and beta == 0 and kind != "i32"
            memory = np.full(int(place.max()) + 2, np.nan if unread else POISON, storage)
            expected, old = memory.copy(), beta if form < ADD_LANES else 1
            kept = old * memory[place[exists]].astype(computed) if old else 0
            expected[place[exists]] = alpha * values[exists] + kept
            tall, wide = (-(-n // w) * w for n in shape)
            tile = np.full((tall, wide), 5, computed)
            tile[: shape[0], : shape[1]] = values
            if form in (STORE_TRANSPOSED, ADD_TRANSPOSED):
                tile = np.ascontiguousarray(tile.T)
            limits = np.array(size, np.int32)
            at = (memory, tile, tile.shape[1], rows.table, lanes.table, limits)
            device.call(f"put_{kind}", form, *at, float(alpha), float(beta))
            np.testing.assert_array_equal(memory.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 0, -1])
@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_every_workgroup_runs_once(device: Device, count: int, threads: int) -> None:
    visits, sums = np.zeros(count + 1, np.int32), np.zeros(4, np.float32)
    assert device.call("visit", count, ctypes.c_int32(threads), visits, sums) == 0
    np.testing.assert_array_equal(visits, [1] * count + [0])
    np.testing.assert_array_equal(sums, np.bincount(np.arange(count) % 4, minlength=4))


def test_calls_from_several_threads_at_once(device: Device) -> None:
    visits = [np.zeros(500, np.int32) for _ in range(6)]
    sums = np.zeros(4, np.float32)
    calls = [
        threading.Thread(target=device.call, args=("visit", 500, ctypes.c_int32(3), v, sums)) for v in visits
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    assert all((v == 1).all() for v in visits)
    np.testing.assert_array_equal(sums, [750] * 4)


def test_a_forked_child_may_call(device: Device) -> None:
    visits, sums = np.zeros(50, np.int32), np.zeros(4, np.float32)
    device.call("visit", 50, ctypes.c_int32(2), visits, sums)
    child = os.fork()
    if child == 0:
        status = device.call("visit", 50, ctypes.c_int32(2), visits, sums)
        os._exit(status if (visits == 2).all() else 9)
    assert os.waitpid(child, 0)[1] == 0


def test_no_memory_is_a_status(device: Device) -> None:
    visits = np.zeros(10, np.int32)
    assert device.call("visit_huge", 10, ctypes.c_int32(2), visits) == 1
    assert not visits.any()


def test_threads_that_may_run(device: Device) -> None:
    assert device.call("cpus") == len(os.sched_getaffinity(0))


def test_threads_come_and_go(device: Device) -> None:
    """More threads, fewer, more again, with pauses in which the pool falls asleep: each call is complete."""
    for threads in (2, 8, 3, 1, 8, 2) * 20:
        visits, sums = np.zeros(64, np.int32), np.zeros(4, np.float32)
        assert device.call("visit", 64, ctypes.c_int32(threads), visits, sums) == 0
        assert (visits == 1).all()
        time.sleep(0.0003 * (threads % 3))
