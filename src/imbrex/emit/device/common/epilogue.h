// Functions of epilogues: without branches, in few instructions, as exact as f32 needs.
//
// A target's epilogue.h comes first, with what its hardware does at once, or a polynomial does: power_of_two, to 2 units
// in the last place, where what is subnormal may be 0; reciprocal, to 1; fused, a * b + c rounded once; and with_sign.
// Law: a function f of x is off by at most 8 u (|f(x)| + |x|), u = 2^-24, and by what is subnormal; gelu, where the result
// is stored in fewer bits than f32 has, by 2^-15 |f(x)| more; so with infinities for x, and NaN for NaN.  docs/semantics.md derives it, each function's tests try it.
#pragma once

namespace imbrex {

template <class T> IMBREX_INLINE T minimum(T a, T b) { return a < b || a != a ? a : b; }
template <class T> IMBREX_INLINE T maximum(T a, T b) { return a > b || a != a ? a : b; }
template <class T> IMBREX_INLINE T magnitude(T x) { return x > T(0) ? x : T(0) - x; } // also of -0
template <class T> IMBREX_INLINE T relu(T x) { return maximum(x, T(0)); }
template <class T> IMBREX_INLINE T clamp(T x, T low, T high) { return minimum(maximum(x, low), high); }
template <class T> IMBREX_INLINE T leaky_relu(T x, T slope) { return x > T(0) ? x : slope * x; }
template <class T> IMBREX_INLINE T hardswish(T x) {
  const T least = maximum(x, T(-3)); // so that -infinity * 0 is not met
  return least * clamp(least * T(1. / 6) + T(0.5), T(0), T(1));
}

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

// c + x (.. + x (b + x a)), of coefficients a to c, the highest power's first.
template <class... Lower> IMBREX_INLINE float polynomial(float x, float highest, Lower... lower) {
  float found = highest;
  ((found = fused(found, x, lower)), ...);
  return found;
}

constexpr float log2_of_e = 1.44269502f, log2_of_e_rest = 1.92596299e-8f;
constexpr float far = 128.f; // e^far is infinity, e^-far is 0

// e^x.  One float for the exponent of two is off by up to half its last bit, and so the power by |x| u of itself: WithTail
// keeps the exponent in two floats.  Results of 16 bits and fewer do not show it.
template <bool WithTail> IMBREX_INLINE float exponential(float x) {
  if constexpr (!WithTail) return power_of_two(x * log2_of_e);
  const float near = clamp(x, -far, far), exponent = near * log2_of_e;
  const float rest = fused(near, log2_of_e_rest, fused(near, log2_of_e, -exponent));
  return power_of_two(exponent) * fused(rest, 0.693147182f, 1.f);
}

template <bool WithTail> IMBREX_INLINE float sigmoid(float x) {
  return reciprocal(1.f + exponential<WithTail>(-x));
}

template <bool WithTail> IMBREX_INLINE float silu(float x) { return maximum(x, -far) * sigmoid<WithTail>(x); }

// ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|), and ln(1 + y) / y by a polynomial, to 0.6 u on [0, 1].
template <bool WithTail> IMBREX_INLINE float softplus(float x) {
  const float y = exponential<WithTail>(-magnitude(x));
  const float p = polynomial(y, 0.00536481850f, -0.0300657693f, 0.0792044997f, -0.137537986f, 0.191536531f,
                             -0.248571634f, 0.333213240f, -0.499996483f, 1.f);
  return fused(p, y, relu(x));
}

// Near 0, x + x^3 P(x^2), to 0.1 u; elsewhere 1 - 2 / (1 + e^2|x|), which near 0 would lose its last bits.
IMBREX_INLINE float hyperbolic_tangent(float x) {
  const float size = magnitude(x), y = x * x;
  const float p = polynomial(y, -0.00571704470f, 0.0206505861f, -0.0537434965f, 0.133314908f, -0.333332837f);
  const float small = fused(p * y, x, x);
  const float large = fused(-2.f, reciprocal(1.f + power_of_two(size * (2 * log2_of_e))), 1.f);
  return size < 0.625f ? small : with_sign(large, x);
}

// x times the normal distribution at x, which is max(x, 0) - a Q(a) with a = |x| and Q(a) = erfc(a / sqrt 2) / 2.  The
// logarithm of Q to base 2 is a polynomial on [0, 6], off by so little that a Q(a) is off by 0.5 u a, or, where Full is
// not wanted, by 2^-15.4 of itself and 0.4 u a; beyond 6 Q(a) is below 1e-9, and what is meant to be it falls to 0 a
// little faster.
template <bool Full> IMBREX_INLINE float gelu(float x) {
  const float a = minimum(magnitude(x), 16.f);
  const float p = Full ? polynomial(a, -1.42910585e-6f, 2.35706430e-5f, -1.17267366e-4f, -2.85875110e-4f, 7.23239453e-3f,
                                    -5.25939092e-2f, -0.459182709f, -1.15110731f, -1.f)
                       : polynomial(a, -4.09958040e-4f, 6.62742788e-3f, -5.07126339e-2f, -0.461039871f, -1.15049493f,
                                    -1.00003207f);
  return fused(-a, power_of_two(p), relu(x));
}

// x / (1 + e^-2z), which is x (1 + tanh z) / 2, with z = sqrt(2 / pi) (x + 0.044715 x^3).
IMBREX_INLINE float gelu_tanh(float x) {
  const float least = maximum(x, -16.f);
  const float slope = fused(least * least, -0.102943243f, -2.30220819f);
  return least * reciprocal(1.f + power_of_two(least * slope));
}
} // namespace imbrex
