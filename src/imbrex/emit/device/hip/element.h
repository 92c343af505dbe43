// Element types and the conversions between what memory stores and what is computed.
//
// Laws: narrow<S>(widen(x)) == x; narrow rounds to nearest even.
#pragma once
#include "language.h"
#include "../gpu/plain.h"

namespace imbrex {

typedef _Float16 f16;
typedef __bf16 bf16;

template <class T, int N> using vec = T __attribute__((ext_vector_type(N)));

template <> struct carried<8> {
  typedef uint32_t type __attribute__((ext_vector_type(2)));
};
template <> struct carried<12> { // no vector of three: the compiler would load a fourth
  struct __attribute__((may_alias)) type {
    uint32_t part[3];
  };
};
template <> struct carried<16> {
  typedef uint32_t type __attribute__((ext_vector_type(4)));
};
template <int Bytes> using word_in_memory = word<Bytes> __attribute__((may_alias));

IMBREX_INLINE float widen(f16 x) { return float(x); }
IMBREX_INLINE float widen(bf16 x) { return float(x); }

template <class To, class From> IMBREX_INLINE To bit_cast(From from) { return __builtin_bit_cast(To, from); }
} // namespace imbrex
#include "../cpu/narrow.h"
#include "../common/e8m0.h"
#include "../common/packed.h"
namespace imbrex {

template <int Bytes> IMBREX_INLINE void copy_bytes(void *to, const void *from) { __builtin_memcpy(to, from, Bytes); }

// Four bytes of two registers: byte b of `which` numbers the b-th, 0..3 in `low`, 4..7 in `high`.
IMBREX_INLINE uint32_t bytes_of(uint32_t high, uint32_t low, uint32_t which) {
  return __builtin_amdgcn_perm(high, low, which);
}
} // namespace imbrex
#include "../gpu/register.h"
namespace imbrex {

// The same of an operand that takes fewer registers than the builtin's vector has, the first of it.
template <class V, int N, class T> IMBREX_INLINE V get_first(const T *p) {
  static_assert(sizeof(V) > N * sizeof(T) && N * sizeof(T) % 8 == 0, "an operand is a part, of pairs of registers");
  V v = {};
#pragma unroll
  for (int i = 0; i < int(N * sizeof(T)) / 8; ++i) { // as LDS is read, what three reads fill, too
    word<8> x;
    copy_bytes<8>(&x, (const word_in_memory<8> *)(p) + i);
    v[2 * i] = x[0], v[2 * i + 1] = x[1];
  }
  return v;
}
} // namespace imbrex
