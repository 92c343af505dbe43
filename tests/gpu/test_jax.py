"""Functions of JAX on a GPU: values and gradients beside JAX's own, under jit and in a loop of it.

In a process of its own, which has a GPU that nobody else's allocator holds.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest
from tests.patience import HANG_S

PROGRAM = """
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_default_matmul_precision", "highest")
import imbrex.jax as ours
if jax.default_backend() != "gpu":
    print("no GPU of JAX's")
    raise SystemExit
rng = np.random.default_rng(1)
some = lambda *shape: jnp.asarray(rng.integers(-3, 4, shape), "float16")
x, w, a, b = some(8, 64, 14, 14), some(64, 64, 3, 3), some(256, 512), some(512, 384)
wide = lambda given: given.astype("float32")
theirs = lambda x, w: jax.lax.conv_general_dilated(wide(x), wide(w), (1, 1), ((1, 1), (1, 1)))
mine = lambda x, w: ours.conv2d(x, w, padding=1)
near = lambda one, other: np.testing.assert_allclose(
    np.asarray(one, "float32"), np.asarray(other, "float32"), rtol=2e-3, atol=1e-3)
near(jax.jit(mine)(x, w), theirs(x, w))
near(jax.jit(ours.matmul)(a, b), wide(a) @ wide(b))
loss = lambda f: lambda *given: jnp.sum(wide(f(*given)) * 0.01)
for got, want in zip(jax.grad(loss(mine), (0, 1))(x, w), jax.grad(loss(theirs), (0, 1))(x, w)):
    near(got, want)
chain = jax.jit(lambda a, b: jax.lax.fori_loop(0, 5, lambda i, s: ours.matmul(s, b) % 7, a))
square = some(512, 512)
wanted = a
for _ in range(5):
    wanted = (wide(wanted) @ wide(square)).astype("float16") % 7
near(chain(a, square), wanted)
print("right")
"""

pytestmark = pytest.mark.gpu


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_functions_are_jaxs_on_its_gpu(gpu: None) -> None:
    quiet = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=quiet, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr[-3000:]
    if done.stdout.strip() != "right":
        pytest.skip(done.stdout.strip())
