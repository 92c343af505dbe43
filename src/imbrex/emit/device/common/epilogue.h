// Functions of epilogues, in plain arithmetic, so that every target gives the same values.
//
// Errors are a few units in the last place of the larger of value and argument; erf's is 1.5e-7 (Abramowitz and
// Stegun, 7.1.26), below that of a float's own arithmetic near 1.
#pragma once

namespace imbrex {

template <class T> IMBREX_INLINE T minimum(T a, T b) { return a < b || a != a ? a : b; }
template <class T> IMBREX_INLINE T maximum(T a, T b) { return a > b || a != a ? a : b; }
template <class T> IMBREX_INLINE T magnitude(T x) { return x > T(0) ? x : T(0) - x; } // also of -0
template <class T> IMBREX_INLINE T relu(T x) { return maximum(x, T(0)); }
template <class T> IMBREX_INLINE T clamp(T x, T low, T high) { return minimum(maximum(x, low), high); }

// To the nearest integer, halves to even: a float from 2^23 on has no fraction, nor has a double from 2^52 on.
template <class T> IMBREX_INLINE T nearest(T x) {
  const T whole = sizeof(T) == 8 ? T(4503599627370496.) : T(8388608.), size = magnitude(x);
  if (!(size < whole)) return x;
  volatile T shifted = size + whole; // kept from being simplified away
  const T found = shifted - whole;
  return x < T(0) ? -found : found;
}

// As an integer, the nearest one; its least or its largest where that is none, and 0 of a NaN.  The largest of 32 bits
// is no float: so what is compared with is the first number that is too large, which is.
template <class I, class T> IMBREX_INLINE I saturated(T x) {
  constexpr uint32_t end = 1u << (8 * sizeof(I) - 1);
  const T near = nearest(x);
  if (near != near) return I(0);
  if (near >= T(end)) return I(end - 1);
  return near <= -T(end) ? I(-int64_t(end)) : I(near);
}

// 2^x: x = whole + part, |part| <= 1/2, and 2^part by its Taylor series, whose next term is below 6e-9.
IMBREX_INLINE float power_of_two(float x) {
  if (x != x) return x;
  if (x >= 128.f) return bit_cast<float>(0x7f800000u);
  if (x <= -150.f) return 0.f;
  const float shift = x < 0.f ? -0.5f : 0.5f;
  const int32_t whole = int32_t(x + shift);
  const float z = (x - float(whole)) * 0.693147181f;
  float p = 1.f / 5040.f;
  p = p * z + 1.f / 720.f;
  p = p * z + 1.f / 120.f;
  p = p * z + 1.f / 24.f;
  p = p * z + 1.f / 6.f;
  p = p * z + 0.5f;
  p = p * z + 1.f;
  p = p * z + 1.f;
  // In two factors, so that neither overflows and small results are subnormal.
  const int32_t half = whole / 2;
  return p * bit_cast<float>(uint32_t(127 + half) << 23) * bit_cast<float>(uint32_t(127 + whole - half) << 23);
}

IMBREX_INLINE float exponential(float x) { return power_of_two(x * 1.44269504f); }

IMBREX_INLINE float sigmoid(float x) { return 1.f / (1.f + exponential(-x)); }

IMBREX_INLINE float silu(float x) { return x * sigmoid(x); }

IMBREX_INLINE float hyperbolic_tangent(float x) {
  const float y = x * x;
  if (y < 0.09f) return x + x * y * (-1.f / 3.f + y * (2.f / 15.f + y * (-17.f / 315.f + y * (62.f / 2835.f))));
  return 1.f - 2.f / (1.f + exponential(2.f * x));
}

IMBREX_INLINE float error_function(float x) {
  const float size = magnitude(x), t = 1.f / (1.f + 0.3275911f * size);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float found = 1.f - p * t * exponential(-size * size);
  return x < 0.f ? -found : found;
}

IMBREX_INLINE float gelu(float x) { return 0.5f * x * (1.f + error_function(x * 0.707106781f)); }

IMBREX_INLINE float gelu_tanh(float x) {
  return 0.5f * x * (1.f + hyperbolic_tangent(0.797884561f * (x + 0.044715f * x * x * x)));
}
} // namespace imbrex
