// The moves of vec.h in AVX-512 and AVX2 instructions.  Included by vec.h; nothing here on another CPU.
#pragma once
#include "vec.h"

namespace imbrex {
#if defined(IMBREX_AVX512)

#define IMBREX_PLAIN_IO(T, SUFFIX, MASK, CAST)                                                                         \
  template <> struct lanes_io<T, T> {                                                                                  \
    IMBREX_INLINE vec<T> load(const T *p) { return (vec<T>)_mm512_loadu_##SUFFIX(p); }                                 \
    IMBREX_INLINE vec<T> load(const T *p, mask_t mask, vec<T> other) {                                                 \
      return (vec<T>)_mm512_mask_loadu_##SUFFIX((CAST)other, MASK(mask), p);                                           \
    }                                                                                                                  \
    IMBREX_INLINE void store(T *p, vec<T> v, mask_t mask) { _mm512_mask_storeu_##SUFFIX(p, MASK(mask), (CAST)v); }     \
    IMBREX_INLINE void store(T *p, vec<T> v) { _mm512_storeu_##SUFFIX(p, (CAST)v); }                                   \
  };
IMBREX_PLAIN_IO(float, ps, __mmask16, __m512)
IMBREX_PLAIN_IO(double, pd, __mmask8, __m512d)
IMBREX_PLAIN_IO(int32_t, epi32, __mmask16, __m512i)
#undef IMBREX_PLAIN_IO

// Intrinsics that leave a register undefined on purpose make gcc 12 warn: their maskz forms, with every lane, do not.
template <> struct lanes_io<float, f16> {
  IMBREX_INLINE vec<float> wide(__m256i half) { return (vec<float>)_mm512_maskz_cvtph_ps(0xffff, half); }
  IMBREX_INLINE vec<float> load(const f16 *p) { return wide(_mm256_loadu_si256((const __m256i *)p)); }
  IMBREX_INLINE vec<float> load(const f16 *p, mask_t mask, vec<float> other) {
    const __mmask16 on = __mmask16(mask);
    return (vec<float>)_mm512_mask_cvtph_ps((__m512)other, on, _mm256_maskz_loadu_epi16(on, p));
  }
  IMBREX_INLINE __m256i bits(vec<float> v) {
    return _mm512_maskz_cvtps_ph(0xffff, (__m512)v, _MM_FROUND_TO_NEAREST_INT);
  }
  IMBREX_INLINE void store(f16 *p, vec<float> v, mask_t mask) { _mm256_mask_storeu_epi16(p, __mmask16(mask), bits(v)); }
  IMBREX_INLINE void store(f16 *p, vec<float> v) { _mm256_storeu_si256((__m256i *)p, bits(v)); }
};

template <> struct lanes_io<float, bf16> {
  typedef uint16_t halves __attribute__((vector_size(32)));
  typedef uint32_t words __attribute__((vector_size(64)));
  IMBREX_INLINE words shifted(__m256i half) { return __builtin_convertvector((halves)half, words) << 16; }
  IMBREX_INLINE vec<float> load(const bf16 *p) { return (vec<float>)shifted(_mm256_loadu_si256((const __m256i *)p)); }
  IMBREX_INLINE vec<float> load(const bf16 *p, mask_t mask, vec<float> other) {
    const words got = shifted(_mm256_maskz_loadu_epi16(__mmask16(mask), p));
    return (vec<float>)_mm512_mask_mov_epi32((__m512i)other, __mmask16(mask), (__m512i)got);
  }
  IMBREX_INLINE __m256i bits(vec<float> v) {
    const words u = (words)v, high = u >> 16, is_nan = (words)(v != v);
    const words rounded = (u + 0x7fff + (high & 1)) >> 16;
    return (__m256i)__builtin_convertvector((is_nan & (high | 0x40)) | (~is_nan & rounded), halves);
  }
  IMBREX_INLINE void store(bf16 *p, vec<float> v, mask_t mask) { _mm256_mask_storeu_epi16(p, __mmask16(mask), bits(v)); }
  IMBREX_INLINE void store(bf16 *p, vec<float> v) { _mm256_storeu_si256((__m256i *)p, bits(v)); }
};

template <> struct lanes_io<int32_t, int8_t> {
  IMBREX_INLINE vec<int32_t> load(const int8_t *p) {
    return (vec<int32_t>)_mm512_maskz_cvtepi8_epi32(0xffff, _mm_loadu_si128((const __m128i *)p));
  }
  IMBREX_INLINE vec<int32_t> load(const int8_t *p, mask_t mask, vec<int32_t> other) {
    const __m128i got = _mm_maskz_loadu_epi8(__mmask16(mask), p);
    return (vec<int32_t>)_mm512_mask_cvtepi8_epi32((__m512i)other, __mmask16(mask), got);
  }
  IMBREX_INLINE void store(int8_t *p, vec<int32_t> v, mask_t mask) {
    _mm512_mask_cvtepi32_storeu_epi8(p, __mmask16(mask), (__m512i)v);
  }
  IMBREX_INLINE void store(int8_t *p, vec<int32_t> v) { store(p, v, all_lanes<int32_t>); }
};

#elif defined(IMBREX_AVX2)

// Bit j of the mask as lane j all ones.
IMBREX_INLINE __m256i lanes32(mask_t mask) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(int(mask)), bit), bit);
}
IMBREX_INLINE __m256i lanes64(mask_t mask) {
  const __m256i bit = _mm256_setr_epi64x(1, 2, 4, 8);
  return _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(int(mask)), bit), bit);
}

#define IMBREX_PLAIN_IO(T, SUFFIX, LANES, CAST, POINTER)                                                               \
  template <> struct lanes_io<T, T> {                                                                                  \
    IMBREX_INLINE vec<T> load(const T *p) { return *(const typename vector_of<T, 32>::loose *)p; }                     \
    IMBREX_INLINE vec<T> load(const T *p, mask_t mask, vec<T> other) {                                                 \
      const __m256i on = LANES(mask);                                                                                  \
      vec<T> got = (vec<T>)_mm256_maskload_##SUFFIX((POINTER const *)p, on);                                           \
      return (vec<T>)_mm256_blendv_epi8((__m256i)other, (__m256i)got, on);                                             \
    }                                                                                                                  \
    IMBREX_INLINE void store(T *p, vec<T> v, mask_t mask) {                                                            \
      _mm256_maskstore_##SUFFIX((POINTER *)p, LANES(mask), (CAST)v);                                                   \
    }                                                                                                                  \
    IMBREX_INLINE void store(T *p, vec<T> v) { *(typename vector_of<T, 32>::loose *)p = v; }                           \
  };
IMBREX_PLAIN_IO(float, ps, lanes32, __m256, float)
IMBREX_PLAIN_IO(double, pd, lanes64, __m256d, double)
IMBREX_PLAIN_IO(int32_t, epi32, lanes32, __m256i, int)
#undef IMBREX_PLAIN_IO

template <> struct lanes_io<int32_t, int8_t> {
  IMBREX_INLINE vec<int32_t> load(const int8_t *p) {
    return (vec<int32_t>)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p));
  }
  IMBREX_INLINE vec<int32_t> load(const int8_t *p, mask_t mask, vec<int32_t> other) {
    if (mask == all_lanes<int32_t>) return load(p);
    for (int j = 0; j < width<int32_t>; ++j)
      if (mask >> j & 1) other[j] = p[j];
    return other;
  }
  IMBREX_INLINE void store(int8_t *p, vec<int32_t> v, mask_t mask) {
    for (int j = 0; j < width<int32_t>; ++j)
      if (mask >> j & 1) p[j] = int8_t(v[j]);
  }
  IMBREX_INLINE void store(int8_t *p, vec<int32_t> v) {
    *(vector_of<int8_t, 8>::loose *)p = __builtin_convertvector(v, vector_of<int8_t, 8>::type);
  }
};

// First lanes by halves: under a mask they take an AMD core 12 cycles.
template <class T> IMBREX_INLINE void store_halves(T *p, vec<T> all, mask_t mask) {
  if (mask == all_lanes<T>) return lanes_io<T, T>::store(p, all);
  const __m256i v = (__m256i)all;
  __m128i low = _mm256_castsi256_si128(v);
  constexpr int W = width<T>;
  if (mask >> (W / 2 - 1) & 1) {
    _mm_storeu_si128((__m128i *)p, low);
    low = _mm256_extracti128_si256(v, 1), p += W / 2, mask >>= W / 2;
  }
  if constexpr (W == 8)
    if (mask & 2) {
      _mm_storel_epi64((__m128i *)p, low);
      low = _mm_unpackhi_epi64(low, low), p += 2, mask >>= 2;
    }
  if (mask & 1) *p = ((typename vector_of<T, 16>::type)low)[0];
}
#endif
} // namespace imbrex
