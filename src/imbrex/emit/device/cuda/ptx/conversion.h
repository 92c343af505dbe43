// Conversions between floats and narrower ones, to nearest even, on the bits.
#pragma once
#include "language.h"

namespace imbrex {

IMBREX_INLINE float float_of_f16(uint16_t x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x));
  return wide;
}
IMBREX_INLINE uint16_t f16_of(float x) {
  uint16_t narrow;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow) : "f"(x));
  return narrow;
}
IMBREX_INLINE uint16_t bf16_of(float x) {
  uint16_t narrow;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow) : "f"(x));
  return narrow;
}

// Two as they lie in memory, the first in the lower half; AndRelu: what is negative becomes 0.
template <bool AndRelu> IMBREX_INLINE uint32_t f16_pair_of(float first, float second) {
  uint32_t x;
  if constexpr (AndRelu)
    asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(second), "f"(first));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(second), "f"(first));
  return x;
}
template <bool AndRelu> IMBREX_INLINE uint32_t bf16_pair_of(float first, float second) {
  uint32_t x;
  if constexpr (AndRelu)
    asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(second), "f"(first));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(second), "f"(first));
  return x;
}

// Two numbers of 8 bits as two of 16, which hold them exactly; the first is the lower byte.
IMBREX_INLINE uint32_t f16_pair_of_e4m3(uint16_t two) {
  uint32_t halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(two));
  return halves;
}
IMBREX_INLINE uint32_t f16_pair_of_e5m2(uint16_t two) {
  uint32_t halves;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(two));
  return halves;
}
} // namespace imbrex
