"""A matrix product with a bias, and the kernel behind it."""

import numpy as np

import imbrex

rng = np.random.default_rng(0)
a = rng.standard_normal((200, 300), dtype=np.float32)
b = rng.standard_normal((300, 100), dtype=np.float32)
bias = rng.standard_normal(100, dtype=np.float32)

# c is broadcast, as NumPy would; a transposed array is read where it lies, by a kernel for it.
columns = np.ascontiguousarray(a.T).T
result = imbrex.gemm(columns, b, bias, alpha=0.5)
np.testing.assert_allclose(result, 0.5 * (a @ b) + bias, rtol=1e-4, atol=1e-4)

# The same product as a kernel of its own: compiled once, called on arrays that are all given.
kernel = imbrex.compile("gemm -t f32 -m 200 -n 100 -k 300")
out = np.empty((200, 100), np.float32)
kernel(a, b, out)
print(kernel.check())
print(f"{kernel.name}: {kernel.tuning_texts[0]}, {kernel.workspace_bytes} bytes a thread beside the arrays")
