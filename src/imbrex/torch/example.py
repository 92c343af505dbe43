"""The example that a model is looked at with: each run begins with the same numbers, random ones too.

Law: neither the example's tensors nor the generators of torch, NumPy and Python are different afterwards.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from imbrex.torch.arguments import is_dense
from imbrex.torch.direct import EXACT

__all__ = ["drawn", "repeatable"]

torch: Any = import_module("torch")
_pytree: Any = import_module("torch.utils._pytree")


@contextmanager
def repeatable(example: Any) -> Generator[None]:
    """What runs in the block draws the numbers that the next such block does, and may write into the example,
    which has its own numbers again.
    """
    leaves = [leaf for leaf in _pytree.tree_leaves(example) if type(leaf) in EXACT and is_dense(leaf)]
    with torch.no_grad():
        kept = [(leaf, _version(leaf), leaf.clone()) for leaf in leaves]
    try:
        with drawn():
            yield
    finally:
        for leaf, version, numbers in kept:
            if version is None or leaf._version != version:
                with torch.inference_mode(leaf.is_inference()), torch.no_grad():
                    leaf.copy_(numbers)


@contextmanager
def drawn() -> Generator[list[str]]:
    """Gives generators their state back, and after the block says of which of them it was another one."""
    found: list[str] = []
    before = _states()
    try:
        yield found
    finally:
        after = _states()
        found += [name for name, state in before.items() if not _is_same(state, after.get(name, state))]
        for name in found:
            _give_back(name, before[name])


def _states() -> dict[str, Any]:
    """States by generator; of GPUs where torch uses any, and captures no graph, which lets nobody ask."""
    is_used = torch.cuda.is_initialized() and not torch.cuda.is_current_stream_capturing()
    cuda: list[Any] = torch.cuda.get_rng_state_all() if is_used else []
    return {
        "torch": torch.get_rng_state(),
        "numpy": np.random.get_state(legacy=False),
        "python": random.getstate(),
        **{str(device): state for device, state in enumerate(cuda)},
    }


def _is_same(one: Any, other: Any) -> bool:
    return (
        torch.equal(one, other) if isinstance(one, torch.Tensor) else pickle.dumps(one) == pickle.dumps(other)
    )


def _give_back(name: str, state: Any) -> None:
    match name:
        case "torch":
            torch.set_rng_state(state)
        case "numpy":
            np.random.set_state(state)
        case "python":
            random.setstate(state)
        case _:
            torch.cuda.set_rng_state(state, int(name))


def _version(tensor: Any) -> int | None:
    """How often it was written; of one of inference mode nobody counts."""
    return None if tensor.is_inference() else tensor._version
