// f16 16x16x16, K times 2: a lane's 16 bytes are k = 4 g .. 4 g + 3 and 16 + 4 g .. 16 + 4 g + 3 of its row.
#include "hand_8x8.h"

struct Multiply {
  typedef float4 Sums;
  INLINE float4 fold(int4 a, int4 b, float4 c) {
    const half8 x = __builtin_bit_cast(half8, a), y = __builtin_bit_cast(half8, b);
    c = __builtin_amdgcn_mfma_f32_16x16x16f16(x.lo, y.lo, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x16f16(x.hi, y.hi, c, 0, 0, 0);
  }
};

KERNEL void hand_f16(const int4 *a, const int4 *b, float4 *c, int steps) { multiply_tiles<Multiply>(a, b, c, steps); }
