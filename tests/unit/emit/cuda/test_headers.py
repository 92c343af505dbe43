"""The functions of CUDA's headers that few kernels use, in kernels of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from imbrex.build.nvidia.cubin import LOG, compile_cubin
from imbrex.build.nvidia.report import usages
from imbrex.emit.bundle import device_headers

nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC compiles for NVIDIA GPUs")

TURNS = """
template <class T, int Rows, int Columns> IMBREX_INLINE void turned(T *to, const T *from) {
  T x[Rows * Columns], y[Rows * Columns];
  imbrex::load<4>(x, from, true);
  imbrex::turn<Rows, Columns>(y, x);
  imbrex::store<4>(to, true, y);
}
using imbrex::f16;
extern "C" __global__ void bytes(int8_t *to, const int8_t *from) { turned<int8_t, 8, 4>(to, from); }
extern "C" __global__ void halves(f16 *to, const f16 *from) { turned<f16, 2, 2>(to, from); }
extern "C" __global__ void words(float *to, const float *from) { turned<float, 3, 4>(to, from); }
"""
DIRECT = """
template <int W> IMBREX_INLINE void direct(float *to, const float *from, int32_t count) {
  float x[W], *place = reinterpret_cast<float *>(imbrex::shared_memory) + W * threadIdx.x;
  imbrex::load_direct<W>(place, from + W * threadIdx.x, int32_t(threadIdx.x) < count);
  imbrex::barrier_after_direct();
  imbrex::read<W>(x, place);
  imbrex::store<W>(to + W * threadIdx.x, true, x);
}
extern "C" __global__ void one(float *to, const float *from, int32_t count) { direct<1>(to, from, count); }
extern "C" __global__ void two(float *to, const float *from, int32_t count) { direct<2>(to, from, count); }
extern "C" __global__ void four(float *to, const float *from, int32_t count) { direct<4>(to, from, count); }
"""
SUMS = """
template <class T, class S> IMBREX_INLINE void sum(T *to, S x) {
  const S two[2] = {x, x};
  imbrex::add<2>(to, true, two);
}
extern "C" __global__ void f16(imbrex::f16 *to) { sum(to, 1.0f); }
extern "C" __global__ void bf16(imbrex::bf16 *to) { sum(to, 1.0f); }
extern "C" __global__ void f32(float *to) { sum(to, 1.0f); }
extern "C" __global__ void f64(double *to) { sum(to, 1.0); }
extern "C" __global__ void i32(int32_t *to) { sum(to, 1); }
"""


@pytest.mark.parametrize("text", [TURNS, DIRECT, SUMS], ids=["turns", "direct", "sums"])
def test_compiles(text: str, tmp_path: Path) -> None:
    sources = {**device_headers("sm_90a"), "all.cu": f'#include "device/cuda/shared.h"\n{text}'}
    assert compile_cubin(sources, "all.cu", "sm_90a", tmp_path).exists()
    log = (tmp_path / LOG).read_text(encoding="utf-8")
    found = usages(log)
    assert "warning" not in log and len(found) == text.count("__global__"), log
    assert all(u.stack_bytes == 0 for u in found), "private arrays are registers"
