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
from imbrex.run.traced import expect_unrecorded


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


def test_grad_is_refused_where_it_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = fake_torch.module()
    monkeypatch.setitem(sys.modules, "torch", torch)
    tensor = fake_torch.Tensor(ONES)
    expect_unrecorded(tensor, "a")
    tensor.requires_grad = True
    with pytest.raises(TypeError, match=r"'a' requires grad, .* use imbrex.torch, or torch.no_grad\(\)"):
        expect_unrecorded(tensor, "a")
    torch.is_grad_enabled = lambda: False
    expect_unrecorded(tensor, "a")
