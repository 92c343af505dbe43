"""Traced: values without numbers, and tensors whose gradients are recorded, are refused by name."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.unit.run import fake_torch

import imbrex
from imbrex.run.arrays import as_array
from imbrex.run.device import on_device
from imbrex.run.traced import expect_readable, is_readable


class Tracer:
    """As JAX's: it has what DLPack asks for, and fails when it is asked."""

    shape, dtype = (4, 4), np.dtype(np.float32)

    def __dlpack__(self) -> None:
        raise AttributeError("DynamicJaxprTracer has no attribute __dlpack__")

    __dlpack_device__ = __dlpack__


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> Tracer:
    jax: Any = ModuleType("jax")
    jax.core = SimpleNamespace(Tracer=Tracer)
    monkeypatch.setitem(sys.modules, "jax", jax)
    return Tracer()


ONES = np.ones((4, 4), np.float32)
IMAGE, FILTER = np.ones((1, 4, 8, 8), np.float32), np.ones((2, 4, 3, 3), np.float32)


def test_a_traced_value_of_jax(tracer: Tracer) -> None:
    calls = {
        "a": lambda: imbrex.gemm(tracer, ONES),
        "b": lambda: imbrex.gemm(ONES, tracer),
        "x": lambda: imbrex.conv2d(tracer, FILTER),
        "w": lambda: imbrex.conv2d(IMAGE, tracer),
        "array": lambda: as_array(tracer),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=f"'{name}' is a traced JAX value.*jax.pure_callback"):
            call()


@pytest.mark.parametrize("name", ["FakeTensor", "FunctionalTensor"])
def test_a_tensor_without_numbers(name: str) -> None:
    fake = type(name, (), {"__module__": "torch._subclasses.fake_tensor", "__dlpack__": None})()
    with pytest.raises(TypeError, match=r"'a' is a fake or functional tensor .*imbrex\.torch"):
        imbrex.gemm(fake, ONES)


@pytest.mark.parametrize(("asked", "way"), [("is_neg", "resolve_neg"), ("_is_zerotensor", "clone")])
def test_numbers_that_memory_does_not_hold(asked: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a plan's key, too, since a call without a copy looks at nothing else."""
    monkeypatch.setitem(sys.modules, "torch", fake_torch.module())
    tensor = fake_torch.Tensor(ONES)
    assert is_readable(tensor)
    monkeypatch.setattr(tensor, asked, lambda: True, raising=False)
    assert is_readable(tensor) is (asked != "is_neg")  # zeros have no address
    with pytest.raises(TypeError, match=rf"'a' .*{way}"):
        expect_readable(tensor, "a")


class Spread:
    """An array of JAX on several devices, or of none."""

    dtype, shape, is_fully_replicated = np.dtype(np.float32), (4, 4), False

    def __init__(self, devices: int) -> None:
        self.count = devices

    def devices(self) -> set[int]:
        return set(range(self.count))

    def is_deleted(self) -> bool:
        return not self.count

    def __dlpack_device__(self) -> tuple[int, int]:
        raise BufferError("__dlpack__ only supported for unsharded arrays.")

    def __dlpack__(self, **_: Any) -> None: ...


@pytest.mark.parametrize(
    ("devices", "why"),
    [(0, "is deleted"), (2, "on 2 devices, a part on each; use imbrex.jax"), (1, "by DLPack: __dlp")],
)
def test_arrays_that_lie_in_no_one_place(devices: int, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jax: Any = ModuleType("jax")
    jax.core, jax.Array = SimpleNamespace(Tracer=Tracer), Spread
    monkeypatch.setitem(sys.modules, "jax", jax)
    array = Spread(devices)
    calls = {
        "a": lambda: imbrex.gemm(array, ONES),
        "b": lambda: imbrex.gemm(ONES, array),
        "w": lambda: imbrex.conv2d(IMAGE, array),
        "value": lambda: on_device(array, "value"),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=f"'{name}' .*{why}"):
            call()


def test_grad_is_refused_where_it_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = fake_torch.module()
    monkeypatch.setitem(sys.modules, "torch", torch)
    tensor = fake_torch.Tensor(ONES)
    expect_readable(tensor, "a")
    tensor.requires_grad = True
    with pytest.raises(TypeError, match=r"'a' requires grad, .* use imbrex.torch, or torch.no_grad\(\)"):
        expect_readable(tensor, "a")
    torch.is_grad_enabled = lambda: False
    expect_readable(tensor, "a")
