// i8 16x16x32, K times 2: a lane's 16 bytes are k = 8 g .. 8 g + 7 and 32 + 8 g .. 32 + 8 g + 7 of its row.
#include "hand_8x8.h"

struct Multiply {
  typedef int4 Sums;
  INLINE int4 fold(int4 a, int4 b, int4 c) {
    const long2 x = __builtin_bit_cast(long2, a), y = __builtin_bit_cast(long2, b);
    c = __builtin_amdgcn_mfma_i32_16x16x32_i8(x.x, y.x, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_i32_16x16x32_i8(x.y, y.y, c, 0, 0, 0);
  }
};

KERNEL void hand_i8(const int4 *a, const int4 *b, int4 *c, int steps) { multiply_tiles<Multiply>(a, b, c, steps); }
