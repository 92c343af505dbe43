// Conversions between floats and narrower ones, to nearest even, on the bits.
#pragma once
#include "../../emulate/hopper/number.h"
#include "language.h"

namespace imbrex {

IMBREX_INLINE float float_of_f16(uint16_t x) { return hopper::float_of_f16(x); }
IMBREX_INLINE uint16_t f16_of(float x) { return hopper::f16_of(x); }
IMBREX_INLINE uint16_t bf16_of(float x) { return hopper::bf16_of(x); }

// What is negative becomes 0, and so does no other: a NaN is one still.
template <bool AndRelu> IMBREX_INLINE float clamped(float x) { return AndRelu && x < 0 ? 0.f : x; }
template <bool AndRelu> IMBREX_INLINE uint32_t f16_pair_of(float first, float second) {
  return f16_of(clamped<AndRelu>(first)) | uint32_t(f16_of(clamped<AndRelu>(second))) << 16;
}
template <bool AndRelu> IMBREX_INLINE uint32_t bf16_pair_of(float first, float second) {
  return bf16_of(clamped<AndRelu>(first)) | uint32_t(bf16_of(clamped<AndRelu>(second))) << 16;
}

IMBREX_INLINE uint32_t f16_pair_of_e4m3(uint16_t two) {
  return f16_of(hopper::float_of_e4m3(uint8_t(two))) | uint32_t(f16_of(hopper::float_of_e4m3(uint8_t(two >> 8)))) << 16;
}
IMBREX_INLINE uint32_t f16_pair_of_e5m2(uint16_t two) {
  return f16_of(hopper::float_of_e5m2(uint8_t(two))) | uint32_t(f16_of(hopper::float_of_e5m2(uint8_t(two >> 8)))) << 16;
}
} // namespace imbrex
