"""A product over packed arrays: pack A and B for the matrix unit, multiply packed tiles, unpack C."""

import numpy as np

import imbrex
from imbrex.view.copy.data_tiled import DataTiled
from imbrex.view.gemm.product import plain
from imbrex.view.swizzle import tile_kernel

NAME = "f16_16x16x16_4x4_Kx2_w2x2"  # the seeds' 128 x 128 tile of 8 x 8 instructions, shared by four waves
kernel = tile_kernel(NAME)
print(f"{NAME}: {kernel.tile} by {kernel.instruction.name}, {kernel.workitems} work items")
for operand in ("a", "b", "c"):
    swizzle = kernel.swizzle(operand)
    print(f"  {operand}: {swizzle.expanded_shape} in the order {swizzle.permutation},", end=" ")
    print(f"{kernel.load_bytes(operand):g} bytes of a lane side by side")

# The packed arrays of a product whose sizes the tiles do not divide: zeros fill what overhangs.
m, n, k = 200, 300, 70
tiled = DataTiled(kernel, plain(m, n, k))
print(f"tiles {tiled.tiles}: packed a has {tiled.elements('a')} elements for {m * k}")

# The whole of it as one kernel: the GPU's schedule, lane by lane, on this machine.
product = imbrex.compile(imbrex.Gemm(m, n, k, dtype="f16"), "emulate", algorithm=f"data_tiled:{NAME}")
print(f"{product.name}: {product.launches} launches of {product.grid_sizes} workgroups; {product.check()}")

# The same behind a function of arrays.
rng = np.random.default_rng(0)
a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (k, n)))
result = imbrex.gemm(a, b, target="emulate", algorithm="data_tiled")
np.testing.assert_array_equal(result, a.astype(np.float32) @ b.astype(np.float32))
