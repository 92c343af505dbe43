// Sums on their way from the registers of a warpgroup to memory: conversions, and shared memory to global.
#pragma once
#include "element.h"
#include "ptx/matrices.h"
#include "ptx/shared.h"

namespace imbrex {

// Two neighbours as they lie in memory, the first in the lower half; EndsInRelu: what is negative becomes 0.
template <class T, bool EndsInRelu> struct pair_of;
template <bool EndsInRelu> struct pair_of<f16, EndsInRelu> {
  IMBREX_INLINE uint32_t from(float first, float second) { return f16_pair_of<EndsInRelu>(first, second); }
};
template <bool EndsInRelu> struct pair_of<bf16, EndsInRelu> {
  IMBREX_INLINE uint32_t from(float first, float second) { return bf16_pair_of<EndsInRelu>(first, second); }
};

IMBREX_INLINE uint32_t bits_of(float x) { return __float_as_uint(x); }
IMBREX_INLINE uint32_t bits_of(int32_t x) { return uint32_t(x); }

// Bytes from shared to global memory, aligned to their number.
template <int Bytes> IMBREX_INLINE void copy_out(void *to, uint32_t from) {
  if constexpr (Bytes == 16) {
    uint4 x;
    take_shared(x.x, x.y, x.z, x.w, from);
    *static_cast<uint4 *>(to) = x;
  } else if constexpr (Bytes == 8) {
    uint2 x;
    take_shared(x.x, x.y, from);
    *static_cast<uint2 *>(to) = x;
  } else if constexpr (Bytes == 4) {
    uint32_t x;
    take_shared(x, from);
    *static_cast<uint32_t *>(to) = x;
  } else {
    static_assert(Bytes == 2, "an element of C has two or four bytes");
    uint16_t x;
    take_shared(x, from);
    *static_cast<uint16_t *>(to) = x;
  }
}
} // namespace imbrex
