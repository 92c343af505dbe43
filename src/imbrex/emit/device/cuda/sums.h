// Sums on their way from the registers of a warpgroup to memory: conversions and shared memory.
#pragma once
#include "element.h"

namespace imbrex {

// Two neighbours as they lie in memory, the first in the lower half; EndsInRelu: what is negative becomes 0.
template <class T, bool EndsInRelu> struct pair_of;
template <> struct pair_of<f16, false> {
  IMBREX_INLINE uint32_t from(float first, float second) {
    uint32_t x;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(second), "f"(first));
    return x;
  }
};
template <> struct pair_of<bf16, false> {
  IMBREX_INLINE uint32_t from(float first, float second) {
    uint32_t x;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(second), "f"(first));
    return x;
  }
};
template <> struct pair_of<f16, true> {
  IMBREX_INLINE uint32_t from(float first, float second) {
    uint32_t x;
    asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(second), "f"(first));
    return x;
  }
};
template <> struct pair_of<bf16, true> {
  IMBREX_INLINE uint32_t from(float first, float second) {
    uint32_t x;
    asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(second), "f"(first));
    return x;
  }
};

IMBREX_INLINE uint32_t bits_of(float x) { return __float_as_uint(x); }
IMBREX_INLINE uint32_t bits_of(int32_t x) { return uint32_t(x); }

// Matrices of 8 x 8 halves to shared memory, of each a row or, turned, a column by one lane's address.
template <bool Turned> IMBREX_INLINE void put_matrices(uint32_t to, const uint32_t (&x)[2]) {
  if constexpr (Turned)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(to), "r"(x[0]), "r"(x[1])
                 : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(to), "r"(x[0]), "r"(x[1])
                 : "memory");
}
template <bool Turned> IMBREX_INLINE void put_matrices(uint32_t to, const uint32_t (&x)[4]) {
  if constexpr (Turned)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x[0]),
                 "r"(x[1]), "r"(x[2]), "r"(x[3])
                 : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x[0]), "r"(x[1]),
                 "r"(x[2]), "r"(x[3])
                 : "memory");
}

IMBREX_INLINE void put_shared(uint32_t to, uint32_t x) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(x) : "memory");
}
IMBREX_INLINE void put_shared(uint32_t to, uint32_t x, uint32_t y) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(x), "r"(y) : "memory");
}

// Bytes from shared to global memory, aligned to their number.
template <int Bytes> IMBREX_INLINE void copy_out(void *to, uint32_t from) {
  if constexpr (Bytes == 16) {
    uint4 x;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(from));
    *static_cast<uint4 *>(to) = x;
  } else if constexpr (Bytes == 8) {
    uint2 x;
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "r"(from));
    *static_cast<uint2 *>(to) = x;
  } else if constexpr (Bytes == 4) {
    uint32_t x;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(from));
    *static_cast<uint32_t *>(to) = x;
  } else {
    static_assert(Bytes == 2, "an element of C has two or four bytes");
    uint16_t x;
    asm volatile("ld.shared.b16 %0, [%1];" : "=h"(x) : "r"(from));
    *static_cast<uint16_t *>(to) = x;
  }
}
} // namespace imbrex
