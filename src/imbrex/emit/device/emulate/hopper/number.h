// Narrow floats by their bits.
#pragma once
#include "machine.h"

namespace imbrex::hopper {

inline float float_of_bits(uint32_t bits) {
  float x;
  copy_memory(&x, &bits, 4);
  return x;
}
inline uint32_t bits_of_float(float x) {
  uint32_t bits;
  copy_memory(&bits, &x, 4);
  return bits;
}

// A number of E bits of exponent and M after the point, all of whose exponents are finite but for the largest.
template <int E, int M> inline float float_of_narrow(uint32_t x) {
  constexpr uint32_t bias = (1u << (E - 1)) - 1, top = ((1u << E) - 1) << M;
  const uint32_t size = x & ((1u << (E + M)) - 1), minus = (x >> (E + M) & 1) << 31;
  const float scaled = float_of_bits(size << (23 - M)) * float_of_bits((254 - bias) << 23);
  const uint32_t bits = size >= top ? 0x7f800000u | (size - top) << (23 - M) : bits_of_float(scaled);
  return float_of_bits(bits | minus);
}
inline float float_of_f16(uint16_t x) { return float_of_narrow<5, 10>(x); }
inline float float_of_bf16(uint16_t x) { return float_of_bits(uint32_t(x) << 16); }
inline float float_of_e5m2(uint8_t x) { return float_of_narrow<5, 2>(x); }
// No infinity; NaN is all ones.
inline float float_of_e4m3(uint8_t x) {
  const uint32_t size = x & 127u, minus = uint32_t(x >> 7) << 31;
  if (size == 127) return float_of_bits(0x7fc00000u | minus);
  return float_of_bits(bits_of_float(float_of_bits(size << 20) * float_of_bits((254u - 7) << 23)) | minus);
}
// What the matrix unit reads of a float: 10 bits after the point.
inline float tf32_of(float x) { return float_of_bits(bits_of_float(x) & 0xffffe000u); }
// What the copy engine makes of it: the nearest, halves away from zero.
inline float rounded_to_tf32(float x) {
  const uint32_t bits = bits_of_float(x);
  return (bits & 0x7f800000u) == 0x7f800000u ? x : float_of_bits((bits + 0x1000u) & 0xffffe000u);
}

inline uint16_t bf16_of(float x) {
  const uint32_t bits = bits_of_float(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline uint16_t f16_of(float x) {
  const uint32_t bits = bits_of_float(x), size = bits & 0x7fffffffu, minus = bits >> 16 & 0x8000u;
  if (size > 0x7f800000u) return 0x7fff;
  if (size >= 0x477ff000u) return uint16_t(minus | 0x7c00u); // 65520 and more
  if (size < 0x38800000u) {                                  // below 2^-14: by adding 1/2, whose last bit is 2^-24
    volatile float shifted = float_of_bits(size) + 0.5f;
    return uint16_t(minus | (bits_of_float(shifted) - 0x3f000000u));
  }
  return uint16_t(minus | ((size - 0x38000000u + 0xfff + (size >> 13 & 1)) >> 13));
}
} // namespace imbrex::hopper
