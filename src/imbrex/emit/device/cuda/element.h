// Element types and the conversions between what memory stores and what is computed.
//
// Laws: narrow<S>(widen(x)) == x; narrow rounds to nearest even.
#pragma once
#include "ptx/conversion.h"
#include "../gpu/plain.h"

namespace imbrex {

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

template <> struct carried<8> {
  typedef uint2 type;
};
template <> struct carried<16> {
  typedef uint4 type;
};
template <int Bytes> using word_in_memory = word<Bytes>;

template <int Bytes> IMBREX_INLINE void copy_bytes(void *to, const void *from) { memcpy(to, from, Bytes); }
template <class To, class From> IMBREX_INLINE To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
  To to;
  copy_bytes<sizeof(To)>(&to, &from);
  return to;
}

IMBREX_INLINE float widen(f16 x) { return float_of_f16(x.bits); }
IMBREX_INLINE float widen(bf16 x) { return bit_cast<float>(uint32_t(x.bits) << 16); }

template <> struct narrow_to<f16> {
  IMBREX_INLINE f16 from(float x) { return {f16_of(x)}; }
};
template <> struct narrow_to<bf16> {
  IMBREX_INLINE bf16 from(float x) { return {bf16_of(x)}; }
};

// Four bytes of two registers: byte b of `which` numbers the b-th, 0..3 in `low`, 4..7 in `high`.
IMBREX_INLINE uint32_t bytes_of(uint32_t high, uint32_t low, uint32_t which) {
  return __byte_perm(low, high, (which & 7) | (which >> 4 & 0x70) | (which >> 8 & 0x700) | (which >> 12 & 0x7000));
}
} // namespace imbrex
#include "../cpu/narrow.h"
#include "../gpu/register.h"
namespace imbrex {

IMBREX_INLINE float widen(f8e4m3fn x) { return widen(f16{uint16_t(f16_pair_of_e4m3(x.bits))}); }
IMBREX_INLINE float widen(f8e5m2 x) { return widen(f16{uint16_t(f16_pair_of_e5m2(x.bits))}); }
} // namespace imbrex
