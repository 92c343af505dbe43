// Element types and the conversions between what memory stores and what is computed.
//
// Laws: narrow<S>(widen(x)) == x; narrow rounds to nearest even.
#pragma once
#include "language.h"

namespace imbrex {

typedef _Float16 f16;
typedef __bf16 bf16;

template <class T, int N> using vec = T __attribute__((ext_vector_type(N)));

// What one memory instruction of a lane carries.
template <int Bytes> struct carried;
template <> struct carried<1> {
  typedef uint8_t type;
};
template <> struct carried<2> {
  typedef uint16_t type;
};
template <> struct carried<4> {
  typedef uint32_t type;
};
template <> struct carried<8> {
  typedef uint32_t type __attribute__((ext_vector_type(2)));
};
template <> struct carried<16> {
  typedef uint32_t type __attribute__((ext_vector_type(4)));
};
template <int Bytes> using word = typename carried<Bytes>::type;
template <int Bytes> using word_in_memory = word<Bytes> __attribute__((may_alias));

IMBREX_INLINE float widen(f16 x) { return float(x); }
IMBREX_INLINE float widen(bf16 x) { return float(x); }
IMBREX_INLINE float widen(float x) { return x; }
IMBREX_INLINE double widen(double x) { return x; }
IMBREX_INLINE int32_t widen(int32_t x) { return x; }
IMBREX_INLINE int32_t widen(int8_t x) { return x; }

template <class To, class From> IMBREX_INLINE To bit_cast(From from) { return __builtin_bit_cast(To, from); }

template <class S> struct narrow_to {
  template <class T> IMBREX_INLINE S from(T x) { return S(x); }
};
} // namespace imbrex
#include "../cpu/narrow.h"
namespace imbrex {

template <class D, class S> IMBREX_INLINE D converted(S x) {
  if constexpr (__is_same(D, S))
    return x;
  else
    return narrow_to<D>::from(widen(x));
}

// The registers at p of a private array, as the vector that an instruction takes.  Private arrays are plain: where all
// their indices are constants, the compiler splits them into the vectors that they are used as.
template <class V, int N, class T> IMBREX_INLINE V get(const T *p) {
  static_assert(sizeof(V) == N * sizeof(T), "an operand is whole");
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}
template <class V, class T> IMBREX_INLINE void put(T *p, V v) { __builtin_memcpy(p, &v, sizeof(V)); }

template <int N, class T> IMBREX_INLINE void fill(T *p, decltype(widen(T{})) value) {
#pragma unroll
  for (int i = 0; i < N; ++i) p[i] = narrow_to<T>::from(value);
}

// dst = src, from register to register.
template <int W, class D, class S> IMBREX_INLINE void copy(D *dst, const S *src) {
#pragma unroll
  for (int i = 0; i < W; ++i) dst[i] = converted<D>(src[i]);
}
} // namespace imbrex
