// Functions of the special function unit, and what is one instruction of a number or of two.
//
// ex2.approx and rcp.approx are taken to be right to 2 and 1 units in the last place, as docs/semantics.md says; ftz
// makes 0 of what is subnormal.
#pragma once
#include "language.h"

namespace imbrex {

IMBREX_INLINE float power_of_two(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
IMBREX_INLINE float reciprocal(float x) {
  float quotient;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(quotient) : "f"(x));
  return quotient;
}

// NaN where one is.
IMBREX_INLINE float minimum(float a, float b) {
  float found;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(found) : "f"(a), "f"(b));
  return found;
}
IMBREX_INLINE float maximum(float a, float b) {
  float found;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(found) : "f"(a), "f"(b));
  return found;
}
IMBREX_INLINE float magnitude(float x) {
  float found;
  asm("abs.f32 %0, %1;" : "=f"(found) : "f"(x));
  return found;
}
IMBREX_INLINE float nearest(float x) {
  float whole;
  asm("cvt.rni.f32.f32 %0, %1;" : "=f"(whole) : "f"(x));
  return whole;
}
IMBREX_INLINE float with_sign(float size, float x) {
  float found;
  asm("copysign.f32 %0, %1, %2;" : "=f"(found) : "f"(x), "f"(size));
  return found;
}
} // namespace imbrex
