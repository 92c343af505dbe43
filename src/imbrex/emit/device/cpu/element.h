// One element of memory: how it is stored, and the conversions between that and what is computed.
//
// A storage type S is float, double, int32_t itself, or one of f16, bf16, int8_t and the floats of narrow.h.  Laws:
// widen is exact; narrow_to<S>::from rounds to nearest even.
#pragma once
#include <stddef.h>
#include <stdint.h>

#define IMBREX_INLINED __attribute__((always_inline))
#define IMBREX_INLINE static inline __attribute__((always_inline))

namespace imbrex {

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

template <class To, class From> IMBREX_INLINE To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

// Half to single: shift the exponent and mantissa into place, scale by 2^112; subnormals scale exactly too.
IMBREX_INLINE float widen(f16 x) {
  uint32_t magnitude = uint32_t(x.bits & 0x7fff) << 13, sign = uint32_t(x.bits & 0x8000) << 16;
  float scaled = bit_cast<float>(magnitude) * bit_cast<float>(uint32_t(0x77800000));
  uint32_t special = magnitude >= 0x0f800000 ? magnitude | 0x7f800000 : bit_cast<uint32_t>(scaled);
  return bit_cast<float>(special | sign);
}
IMBREX_INLINE float widen(bf16 x) { return bit_cast<float>(uint32_t(x.bits) << 16); }
IMBREX_INLINE float widen(float x) { return x; }
IMBREX_INLINE double widen(double x) { return x; }
IMBREX_INLINE int32_t widen(int32_t x) { return x; }
IMBREX_INLINE int32_t widen(int8_t x) { return x; }

template <class S> struct narrow_to {
  template <class T> static S from(T x) { return S(x); }
};
template <> struct narrow_to<int32_t> {
  static int32_t from(int32_t x) { return x; }
  // The largest is no float: what stands for it in a tile of floats is one more.
  static int32_t from(float x) { return x < 2147483648.f ? int32_t(x) : 2147483647; }
  static int32_t from(double x) { return int32_t(x); }
};
template <> struct narrow_to<bf16> {
  static bf16 from(float x) {
    uint32_t u = bit_cast<uint32_t>(x);
    bool is_nan = (u & 0x7fffffff) > 0x7f800000;
    return {uint16_t(is_nan ? (u >> 16) | 0x40 : (u + 0x7fff + ((u >> 16) & 1)) >> 16)};
  }
};
template <> struct narrow_to<f16> {
  // Round to nearest even by adding a power of two whose last mantissa bit is the half's last bit.
  static f16 from(float x) {
    uint32_t u = bit_cast<uint32_t>(x), sign = (u >> 16) & 0x8000, magnitude = u & 0x7fffffff;
    if (magnitude > 0x7f800000) return {uint16_t(sign | 0x7e00)};
    if (magnitude >= 0x477ff000) return {uint16_t(sign | 0x7c00)};
    if (magnitude < 0x38800000) {
      float shifted = bit_cast<float>(magnitude) + bit_cast<float>(uint32_t(0x3f000000));
      return {uint16_t(sign | (bit_cast<uint32_t>(shifted) - 0x3f000000))};
    }
    return {uint16_t(sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13))};
  }
};
} // namespace imbrex
#include "narrow.h"
