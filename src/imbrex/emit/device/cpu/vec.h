// One vector register of the CPU, and how it is loaded from memory and stored there.
//
// vec<T> holds width<T> lanes of a compute type T (float, double, int32_t).  A storage type S is T itself or one
// of f16, bf16, int8_t.  Laws: load<T>(p)[j] == widen(p[j]); store(p, v) leaves p[j] == narrow<S>(v[j]), rounded to
// nearest even; with a mask, only the lanes whose bit is set touch memory, and a load gives 0 in the others.
#pragma once
#include "element.h"
#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS > 0
#include <arm_sve.h>
#elif defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#endif

namespace imbrex {

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define IMBREX_AVX512 1
constexpr int vector_bytes = 64;
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define IMBREX_AVX2 1
constexpr int vector_bytes = 32;
#elif defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS > 0
#define IMBREX_SVE 1
constexpr int vector_bytes = __ARM_FEATURE_SVE_BITS / 8;
#else
constexpr int vector_bytes = 16;
#endif

#if defined(IMBREX_AVX512) || defined(__aarch64__)
constexpr int vector_registers = 32;
#else
constexpr int vector_registers = 16;
#endif

// Do loads take a mask as cheaply as none?  Else what does not exist is sooner read, where it lies in the array, and cleared.
#if defined(IMBREX_AVX512) || defined(IMBREX_SVE)
constexpr bool has_masks = true;
#else
constexpr bool has_masks = false;
#endif

template <class T, int Bytes> struct vector_of {
  typedef T type __attribute__((vector_size(Bytes)));
  typedef T loose __attribute__((vector_size(Bytes), aligned(1), may_alias));
};
template <class T> using vec = typename vector_of<T, vector_bytes>::type;
template <class T> constexpr int width = vector_bytes / int(sizeof(T));
constexpr int line_bytes = 64; // of a cache

template <int Bytes> struct same_size_int {
  typedef int32_t type;
};
template <> struct same_size_int<8> {
  typedef int64_t type;
};
using lane_bits = vector_of<int32_t, vector_bytes>::type;

// One bit a lane, lane 0 lowest.
typedef uint32_t mask_t;
template <class T> constexpr mask_t all_lanes = mask_t((uint64_t(1) << width<T>) - 1);
IMBREX_INLINE mask_t first_lanes(int64_t count) { return count >= 32 ? ~mask_t(0) : (mask_t(1) << count) - 1; }

template <class T> IMBREX_INLINE vec<T> splat(T x) { return x - vec<T>{}; }

// How width<T> elements of S move; vec_x86.h and vec_arm.h replace it where the CPU has an instruction.
template <class T, class S> struct lanes_io {
  IMBREX_INLINE vec<T> load(const S *p) { return load(p, all_lanes<T>, vec<T>{}); }
  IMBREX_INLINE vec<T> load(const S *p, mask_t mask, vec<T> other) {
    for (int j = 0; j < width<T>; ++j)
      if (mask >> j & 1) other[j] = widen(p[j]);
    return other;
  }
  IMBREX_INLINE void store(S *p, vec<T> v, mask_t mask) {
    for (int j = 0; j < width<T>; ++j)
      if (mask >> j & 1) p[j] = narrow_to<S>::from(v[j]);
  }
  IMBREX_INLINE void store(S *p, vec<T> v) { store(p, v, all_lanes<T>); }
};

// The lanes j of a vector of T with unsigned(lane[j] + row) < size.
template <class T> IMBREX_INLINE mask_t below(const int32_t *lane, int32_t row, int32_t size) {
#if defined(IMBREX_AVX512)
  const mask_t within = width<T> == 16 ? 0xffff : 0xff;
  __m512i at = _mm512_add_epi32(_mm512_maskz_loadu_epi32(__mmask16(within), lane), _mm512_set1_epi32(row));
  return _mm512_mask_cmplt_epu32_mask(__mmask16(within), at, _mm512_set1_epi32(size));
#else
  mask_t mask = 0;
  for (int j = 0; j < width<T>; ++j) mask |= mask_t(uint32_t(row + lane[j]) < uint32_t(size)) << j;
  return mask;
#endif
}
} // namespace imbrex
#include "vec_arm.h"
#include "vec_x86.h"
namespace imbrex {

// Lane j all ones where bit j is set, all zeros elsewhere.
template <class T> IMBREX_INLINE vec<T> lanes_of(mask_t mask) {
  typedef typename same_size_int<sizeof(T)>::type bits_t;
  bits_t bits[width<T>];
  for (int j = 0; j < width<T>; ++j) bits[j] = -bits_t(mask >> j & 1);
  vec<T> v;
  __builtin_memcpy(&v, bits, sizeof(v));
  return v;
}

template <class T, class S> IMBREX_INLINE vec<T> load(const S *p) { return lanes_io<T, S>::load(p); }
template <class T, class S> IMBREX_INLINE vec<T> load(const S *p, mask_t mask) {
  return lanes_io<T, S>::load(p, mask, vec<T>{});
}
// The lanes outside the mask keep `other`.
template <class T, class S> IMBREX_INLINE vec<T> load(const S *p, mask_t mask, vec<T> other) {
  return lanes_io<T, S>::load(p, mask, other);
}
template <class T, class S> IMBREX_INLINE void store(S *p, vec<T> v) { lanes_io<T, S>::store(p, v); }
template <class T, class S> IMBREX_INLINE void store(S *p, vec<T> v, mask_t mask) { lanes_io<T, S>::store(p, v, mask); }
// The same of the first lanes, one and more of them.
template <class T, class S> IMBREX_INLINE void store_first(S *p, vec<T> v, mask_t mask) {
#if defined(IMBREX_AVX2)
  if constexpr (sizeof(S) == sizeof(T)) return store_halves<T>(p, v, mask);
#endif
  store<T>(p, v, mask);
}
} // namespace imbrex
