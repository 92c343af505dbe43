// Element types and the conversions between what memory stores and what is computed.
//
// Laws: narrow<S>(widen(x)) == x; narrow rounds to nearest even.
#pragma once
#include "language.h"
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

IMBREX_INLINE float widen(f16 x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
}
IMBREX_INLINE float widen(bf16 x) { return bit_cast<float>(uint32_t(x.bits) << 16); }

template <> struct narrow_to<f16> {
  IMBREX_INLINE f16 from(float x) {
    f16 narrow;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
    return narrow;
  }
};
template <> struct narrow_to<bf16> {
  IMBREX_INLINE bf16 from(float x) {
    bf16 narrow;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
    return narrow;
  }
};

// Four bytes of two registers: byte b of `which` numbers the b-th, 0..3 in `low`, 4..7 in `high`.
IMBREX_INLINE uint32_t bytes_of(uint32_t high, uint32_t low, uint32_t which) {
  return __byte_perm(low, high, (which & 7) | (which >> 4 & 0x70) | (which >> 8 & 0x700) | (which >> 12 & 0x7000));
}
} // namespace imbrex
#include "../cpu/narrow.h"
#include "../gpu/register.h"
namespace imbrex {

// Two numbers of 8 bits as two of 16, which hold them exactly; the first is `x`.
#define IMBREX_WIDEN(type, name)                                                                                       \
  IMBREX_INLINE float widen(type x) {                                                                                  \
    uint32_t halves;                                                                                                   \
    asm("cvt.rn.f16x2." name "x2 %0, %1;" : "=r"(halves) : "h"(uint16_t(x.bits)));                                     \
    return widen(f16{uint16_t(halves)});                                                                               \
  }
IMBREX_WIDEN(f8e4m3fn, "e4m3")
IMBREX_WIDEN(f8e5m2, "e5m2")
#undef IMBREX_WIDEN
} // namespace imbrex
