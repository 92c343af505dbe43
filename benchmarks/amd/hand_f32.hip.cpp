// f32 16x16x4, K times 4: a lane's 16 bytes are k = g, g + 4, g + 8, g + 12 of its row, g = lane / 16.
#include "hand_8x8.h"

struct Multiply {
  typedef float4 Sums;
  INLINE float4 fold(int4 a, int4 b, float4 c) {
    const float4 x = __builtin_bit_cast(float4, a), y = __builtin_bit_cast(float4, b);
#pragma unroll
    for (int u = 0; u < 4; ++u) c = __builtin_amdgcn_mfma_f32_16x16x4f32(x[u], y[u], c, 0, 0, 0);
    return c;
  }
};

KERNEL void hand_f32(const int4 *a, const int4 *b, float4 *c, int steps) { multiply_tiles<Multiply>(a, b, c, steps); }
