"""A plan of a call on a GPU: on the device that it is of, and where no result reaches into another array."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from imbrex.function.plan import _OnGpu as OnGpu

REACHES = (16, 8, 32)
"""Bytes of a, b and the result."""


def arrays(*addresses: int) -> tuple[Any, ...]:
    return tuple(SimpleNamespace(data_ptr=lambda at=at: at) for at in addresses)


def planned(device_now: Callable[[], int] | None = None, count: int = 1, is_done: bool = True) -> Any:
    calls: list[Any] = []

    def at(addresses: tuple[int, ...], device: int, stream: int) -> bool:
        calls.append((addresses, device, stream))
        return is_done

    made = arrays(4096)
    plan = OnGpu(
        SimpleNamespace(at=at),
        (1, 0, 2),
        REACHES,
        3,
        lambda: made,
        count,
        lambda device: 70 + device,
        device_now,
    )  # type: ignore[arg-type]
    return SimpleNamespace(run=lambda of: plan.run(of, None), calls=calls, made=made)


@pytest.mark.parametrize(
    ("device_now", "fits"), [(None, True), (lambda: 3, True), (lambda: 2, False), (lambda: 0, False)]
)
def test_a_plan_is_of_its_device(device_now: Callable[[], int] | None, fits: bool) -> None:
    plan, given = planned(device_now), arrays(0, 100, 200)
    assert plan.run(given) is (given[-1] if fits else None)
    assert plan.calls == ([((100, 0, 200), 3, 73)] if fits else [])


@pytest.mark.parametrize(
    ("addresses", "fits"),
    [
        ((0, 16, 24), True), ((0, 16, 23), False), ((0, 15, 24), True), ((32, 40, 0), True),
        ((31, 40, 0), False), ((64, 31, 0), False), ((64, 32, 0), True), ((0, 0, 16), True),
        ((8, 100, 0), False), ((0, 100, 8), False),
    ],
)  # fmt: skip
def test_a_result_reaches_into_no_other_array(addresses: tuple[int, ...], fits: bool) -> None:
    """What is read may be the same; the first byte behind an array belongs to the next one."""
    plan, given = planned(), arrays(*addresses)
    assert plan.run(given) is (given[-1] if fits else None)
    assert len(plan.calls) == fits


def test_results_reach_into_each_other_neither() -> None:
    assert planned(count=2).run(given := arrays(0, 16, 24)) == given[1:]
    assert planned(count=2).run(arrays(0, 16, 20)) is None
    assert planned(count=2).run(arrays(0, 15, 24)) is None


def test_results_that_calls_do_not_bring_are_made() -> None:
    plan = planned()
    assert plan.run((*arrays(0, 16), None)) is plan.made[0]
    assert plan.calls == [((16, 0, 4096), 3, 73)]
    assert planned(is_done=False).run(arrays(0, 16, 24)) is None
