// Floats of 8 bits and fewer, one to a byte, by their names in MLIR: f8e4m3fn has 4 bits of exponent and 3 after the
// point.
//
//   f8e5m2                          infinities and NaNs as IEEE has them
//   f8e4m3fn                        no infinity, NaN is all ones
//   f8e4m3fnuz, f8e5m2fnuz          no infinity, NaN is what would be -0, the bias is one more
//   f6e2m3fn, f6e3m2fn, f4e2m1fn    neither
//
// A float too large for the type becomes infinity or else NaN or else the largest value, as in ml_dtypes.
#pragma once
#ifndef IMBREX_INLINE // a GPU brings its own conversions of wider types
#include "element.h"
#endif

namespace imbrex {

enum class specials { ieee, nan_only, minus_zero_is_nan, none };

template <int Exponent, int Mantissa, specials Kind> struct narrow_float {
  uint8_t bits;
  static constexpr bool is_fnuz = Kind == specials::minus_zero_is_nan;
  static constexpr uint32_t bias = (1u << (Exponent - 1)) - (is_fnuz ? 0 : 1);
  static constexpr uint32_t minus = 1u << (Exponent + Mantissa), infinity = ((1u << Exponent) - 1) << Mantissa;
  static constexpr uint32_t nan = Kind == specials::ieee ? infinity | 2 : Kind == specials::nan_only ? minus - 1 : minus;
  static constexpr uint32_t largest = Kind == specials::ieee ? infinity - 1 : Kind == specials::nan_only ? nan - 1 : minus - 1;
  static constexpr uint32_t beyond = Kind == specials::ieee ? infinity : Kind == specials::none ? largest : nan;
};
using f8e5m2 = narrow_float<5, 2, specials::ieee>;
using f8e4m3fn = narrow_float<4, 3, specials::nan_only>;
using f8e5m2fnuz = narrow_float<5, 2, specials::minus_zero_is_nan>;
using f8e4m3fnuz = narrow_float<4, 3, specials::minus_zero_is_nan>;
using f6e2m3fn = narrow_float<2, 3, specials::none>;
using f6e3m2fn = narrow_float<3, 2, specials::none>;
using f4e2m1fn = narrow_float<2, 1, specials::none>;

template <int E, int M, specials Kind> IMBREX_INLINE float widen(narrow_float<E, M, Kind> x) {
  using T = narrow_float<E, M, Kind>;
  const uint32_t magnitude = x.bits & (T::minus - 1), sign = x.bits & T::minus ? 0x80000000 : 0;
  if (T::is_fnuz ? x.bits == T::nan : magnitude > T::largest)
    return bit_cast<float>((Kind == specials::ieee && magnitude == T::infinity ? 0x7f800000 : 0x7fc00000) | sign);
  // In a float's fields the value is 2^(127 - bias) too small, also where it is subnormal.
  const float scaled = bit_cast<float>(magnitude << (23 - M)) * bit_cast<float>((254 - T::bias) << 23);
  return bit_cast<float>(bit_cast<uint32_t>(scaled) | sign);
}

template <int E, int M, specials Kind> struct narrow_to<narrow_float<E, M, Kind>> {
  using T = narrow_float<E, M, Kind>;
  IMBREX_INLINE T from(float x) {
    const uint32_t u = bit_cast<uint32_t>(x), minus = u >> 31 ? T::minus : 0, magnitude = u & 0x7fffffff;
    if (magnitude > 0x7f800000) return {uint8_t(T::is_fnuz ? T::nan : T::nan | minus)};
    const uint32_t near = rounded(magnitude);
    if (T::is_fnuz) return {uint8_t(near > T::largest ? T::nan : near ? near | minus : 0)};
    return {uint8_t((near > T::largest ? T::beyond : near) | minus)};
  }
  // To nearest even; a subnormal by adding the power of two whose last bit is the smallest value's.
  IMBREX_INLINE uint32_t rounded(uint32_t magnitude) {
    if (magnitude < (128 - T::bias) << 23) {
      const uint32_t power = (151 - T::bias - M) << 23;
      return bit_cast<uint32_t>(bit_cast<float>(magnitude) + bit_cast<float>(power)) - power;
    }
    const uint32_t shifted = magnitude - ((127 - T::bias) << 23), last = (shifted >> (23 - M)) & 1;
    return (shifted + (1u << (22 - M)) - 1 + last) >> (23 - M);
  }
};
} // namespace imbrex
