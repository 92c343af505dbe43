// What epilogues compute with on a CPU: nothing that a compiler does not turn into vectors.
#pragma once
#include "element.h"

namespace imbrex {

IMBREX_INLINE float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
IMBREX_INLINE float reciprocal(float x) { return 1.f / x; }
IMBREX_INLINE float magnitude(float x) { return __builtin_fabsf(x); }
IMBREX_INLINE float with_sign(float size, float x) { return __builtin_copysignf(size, x); }
#if defined(__SSE4_1__) || defined(__aarch64__)
IMBREX_INLINE float nearest(float x) { return __builtin_rintf(x); }
#endif

// 2^x, where x = whole + part and |part| <= 1/2: 2^part by a polynomial, to 0.04 u, and 2^whole by its bits, which are
// those of 0 and of infinity at the ends.
IMBREX_INLINE float power_of_two(float x) {
  constexpr float shift = 12582912.f; // 3 * 2^22: what is added to it has no fraction
  const float above = x < -127.f ? -127.f : x, near = above > 128.f ? 128.f : above;
  const float shifted = near + shift, part = near - (shifted - shift);
  const uint32_t whole = bit_cast<uint32_t>(shifted) - bit_cast<uint32_t>(shift);
  float p = 1.53533620e-4f;
  p = fused(p, part, 1.33988739e-3f);
  p = fused(p, part, 9.61843692e-3f);
  p = fused(p, part, 5.55033237e-2f);
  p = fused(p, part, 0.240226477f);
  p = fused(p, part, 0.693147182f);
  p = fused(p, part, 1.f);
  return p * bit_cast<float>((whole + 127) << 23);
}
} // namespace imbrex
#include "../common/epilogue.h"
