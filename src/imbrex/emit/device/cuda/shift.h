// Bytes that begin anywhere in two words of 16: rows of an array need not begin where accesses do.
#pragma once
#include "ptx/language.h"

namespace imbrex {

// 16 bytes that begin `shift` bytes into the first of two aligned pieces; zeros after the first `bytes` of them.
IMBREX_INLINE uint4 shifted(uint4 low, uint4 high, uint32_t shift, int32_t bytes) {
  const uint32_t w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  uint32_t u[6], v[5], x[4];
#pragma unroll
  for (int i = 0; i < 6; ++i) u[i] = shift & 8 ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) v[i] = shift & 4 ? u[i + 1] : u[i];
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = __funnelshift_r(v[i], v[i + 1], (shift & 3) * 8);
  if (bytes < 16) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int32_t left = bytes - 4 * i;
      x[i] &= left >= 4 ? ~0u : left <= 0 ? 0u : (1u << 8 * left) - 1;
    }
  }
  return uint4{x[0], x[1], x[2], x[3]};
}
} // namespace imbrex
