// Functions of the special function unit, rounded to nearest here; what is subnormal is 0.
#pragma once
#include "language.h"

namespace imbrex {

IMBREX_INLINE float without_subnormals(float x) {
  return __builtin_fabsf(x) < 1.17549435e-38f ? __builtin_copysignf(0.f, x) : x;
}
IMBREX_INLINE float power_of_two(float x) {
  return without_subnormals(float(__builtin_exp2(double(without_subnormals(x)))));
}
IMBREX_INLINE float reciprocal(float x) { return without_subnormals(1.f / without_subnormals(x)); }

IMBREX_INLINE float minimum(float a, float b) { return a < b || a != a ? a : b; }
IMBREX_INLINE float maximum(float a, float b) { return a > b || a != a ? a : b; }
IMBREX_INLINE float magnitude(float x) { return __builtin_fabsf(x); }
IMBREX_INLINE float nearest(float x) { return __builtin_rintf(x); }
IMBREX_INLINE float with_sign(float size, float x) { return __builtin_copysignf(size, x); }
} // namespace imbrex
