// What multiplies: an instruction, what its operands are made of, and what it sums in.
//
// unit<U> of a plain type U is the multiply-add of that type.  Panels hold `element`s; `together` neighbours along k of
// one row or column make a word, as wide as a sum, which one lane multiplies in one instruction:
//   multiply_add(c, a, b)[n] == c[n] + sum over t < together of a[n][t] * b[n][t]
// Where is_shifted, words of A are read as unsigned numbers, 128 too large, and the sums begin at -128 times the sum of
// B's column (`b_started`): a product of an unsigned and a signed byte is all that the instruction has.
#pragma once
#include "vec.h"

namespace imbrex {

template <class A, class B> constexpr bool is_same = false;
template <class A> constexpr bool is_same<A, A> = true;

template <class U> struct unit {
  typedef U sum;
  typedef U element;
  typedef vec<U> words;
  static constexpr int together = 1, rows = 1;
  static constexpr bool is_shifted = false;
  IMBREX_INLINE words everywhere(const U *p) { return splat(*p); }
  IMBREX_INLINE words load(const U *p) { return imbrex::load<U>(p); }
  IMBREX_INLINE words load(const U *p, int64_t count) { return imbrex::load<U>(p, first_lanes(count)); }
  IMBREX_INLINE words row_of(words a) { return a; }
  IMBREX_INLINE vec<U> multiply_add(vec<U> c, words a, words b) { return a * b + c; }
};
template <class U> using sum_of_unit = typename unit<U>::sum;
template <class U> using element_of_unit = typename unit<U>::element;
template <class U> constexpr bool has_words = unit<U>::together > 1;
// Are its registers tiles?  The loop over these is in tile.h.
template <class U> constexpr bool has_tiles = false;
template <class U, int MR, int NV> struct tile_loop;
// Elements along k that fill a vector.
template <class U> constexpr int k_width = vector_bytes / int(sizeof(element_of_unit<U>));
template <class U> constexpr int words_of_vector = k_width<U> / unit<U>::together;

// The bits of an element, as the low ones of a word.
IMBREX_INLINE uint32_t bits_of(bf16 x) { return x.bits; }
IMBREX_INLINE uint32_t bits_of(int8_t x) { return uint8_t(x); }
IMBREX_INLINE uint32_t bits_of(int16_t x) { return uint16_t(x); }

template <int Bytes> struct same_size_bits {
  typedef uint16_t type;
};
template <> struct same_size_bits<1> {
  typedef uint8_t type;
};
template <class E> IMBREX_INLINE E from_bits(uint32_t bits) {
  return bit_cast<E>(typename same_size_bits<sizeof(E)>::type(bits));
}

// A vector of words, each the bits of one element.
template <class S> struct lanes_io<uint32_t, S> {
  typedef typename same_size_bits<sizeof(S)>::type bits;
  static constexpr int W = width<uint32_t>;
  typedef bits narrow __attribute__((vector_size(W * sizeof(bits)), aligned(1), may_alias));
  IMBREX_INLINE vec<uint32_t> load(const S *p) { return __builtin_convertvector(*(const narrow *)p, vec<uint32_t>); }
  IMBREX_INLINE vec<uint32_t> load(const S *p, mask_t mask, vec<uint32_t> other) {
#if defined(IMBREX_AVX512)
    const __mmask16 on = __mmask16(mask);
    const __m512i found = sizeof(S) == 2 ? _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_maskz_loadu_epi16(on, p))
                                         : _mm512_maskz_cvtepu8_epi32(0xffff, _mm_maskz_loadu_epi8(on, p));
    return (vec<uint32_t>)_mm512_mask_mov_epi32((__m512i)other, on, found);
#else
    if (mask == all_lanes<uint32_t>) return load(p);
    for (int j = 0; j < W; ++j)
      if (mask >> j & 1) other[j] = bits_of(p[j]);
    return other;
#endif
  }
  IMBREX_INLINE void store(S *p, vec<uint32_t> v) { *(narrow *)p = __builtin_convertvector(v, narrow); }
};

// A vector of narrow elements of which a mask says what is read, zeros elsewhere; loads_masked: by an instruction.
template <class V, class E> constexpr bool loads_masked = false;
#if defined(IMBREX_AVX512)
template <class E> constexpr bool loads_masked<vec<uint32_t>, E> = sizeof(E) <= 2;
#endif
template <class V, class E> IMBREX_INLINE V load_masked(const E *p, uint64_t mask) {
#if defined(IMBREX_AVX512)
  if constexpr (sizeof(E) == 1 && sizeof(V) == 32) return (V)_mm256_maskz_loadu_epi8(__mmask32(mask), p);
  if constexpr (sizeof(E) == 2) return (V)_mm512_maskz_loadu_epi16(__mmask32(mask), p);
  if constexpr (sizeof(E) == 1 && sizeof(V) == 64) return (V)_mm512_maskz_loadu_epi8(__mmask64(mask), p);
#endif
  constexpr int count = int(sizeof(V) / sizeof(E));
  alignas(64) E found[count] = {};
  for (int i = 0; i < count; ++i)
    if (mask >> i & 1) found[i] = p[i];
  V all;
  __builtin_memcpy(&all, found, sizeof(all));
  return all;
}

// How elements of S in memory come to words of U's elements: as they are, or widened.
template <class U, class S, bool IsWidened = !is_same<element_of_unit<U>, S>> struct words_from {
  typedef uint32_t lane; // what an element is while it is loaded by itself
  typedef typename unit<U>::words words;
  typedef words narrow; // a vector's elements, as memory has them
  IMBREX_INLINE S element(S x) { return x; }
  IMBREX_INLINE words bits(words x) { return x; }
  IMBREX_INLINE words widened(narrow x) { return x; }
  IMBREX_INLINE words load(const S *p) { return unit<U>::load(p); }
  IMBREX_INLINE words load(const S *p, uint64_t mask) { return load_masked<words>(p, mask); }
};
template <class U, class S> struct words_from<U, S, true> {
  typedef sum_of_unit<U> lane;
  typedef typename unit<U>::words words;
  typedef element_of_unit<U> E;
  static constexpr int count = k_width<U>;
  typedef typename vector_of<S, count * int(sizeof(S))>::type narrow;
  typedef typename vector_of<S, count * int(sizeof(S))>::loose narrow_in_memory;
  IMBREX_INLINE E element(S x) { return E(widen(x)); }
  IMBREX_INLINE words bits(vec<lane> x) { return (words)x & uint32_t((uint64_t(1) << 8 * sizeof(E)) - 1); }
  IMBREX_INLINE words widened(narrow x) { return (words)__builtin_convertvector(x, vec<E>); }
  IMBREX_INLINE words load(const S *p) { return widened(*(const narrow_in_memory *)p); }
  IMBREX_INLINE words load(const S *p, uint64_t mask) { return widened(load_masked<narrow>(p, mask)); }
};

template <int Count> struct first_of_word {};

// Words of narrow elements.
template <class Sum, class Element> struct narrow_unit {
  typedef Sum sum;
  typedef Element element;
  typedef vec<uint32_t> words;
  static constexpr int together = int(sizeof(Sum) / sizeof(Element)), rows = 1;
  static constexpr bool is_shifted = false;
  // Words along a row of A, as multiply_add takes them.
  IMBREX_INLINE words row_of(words a) { return a; }
  IMBREX_INLINE words everywhere(const Element *p) {
    uint32_t word;
    __builtin_memcpy(&word, p, sizeof(word));
    return splat(word);
  }
  // Of a word whose bytes can all be read, the first Count elements, zeros after them.
  template <int Count> IMBREX_INLINE words everywhere(const Element *p, first_of_word<Count>) {
    return everywhere(p) & uint32_t((uint64_t(1) << (8 * sizeof(Element) * Count)) - 1);
  }
  // Of a word that only its first elements exist, zeros after them.
  IMBREX_INLINE words everywhere(const Element *p, int64_t count) {
    uint32_t word = 0;
    for (int t = 0; t < count; ++t) word |= bits_of(p[t]) << (8 * sizeof(Element) * t);
    return splat(word);
  }
  IMBREX_INLINE words load(const Element *p) { return *(const vector_of<uint32_t, vector_bytes>::loose *)p; }
  IMBREX_INLINE words load(const Element *p, int64_t count) {
    alignas(64) Element found[vector_bytes / sizeof(Element)] = {};
    for (int64_t i = 0; i < count && i < int64_t(vector_bytes / sizeof(Element)); ++i) found[i] = p[i];
    return load(found);
  }
};

// Is a multiply-add of half a vector an instruction of its own?  Where registers are wider than what multiplies them, it takes
// some eighths of the time, since rows are broadcast and B is loaded all the same.  half_unit<U>::multiply_add(c, a, b): the
// lower lanes of unit<U>::multiply_add, whose sums stay half a vector while they are summed, as a compiler moves whole ones
// from register to register.
template <class U> constexpr bool has_halves = false;
#if defined(IMBREX_RUNS_HALVES)
constexpr bool runs_halves = true; // what is compiled for runs an operation as two of half the width
#else
constexpr bool runs_halves = false;
#endif
template <class U> constexpr int half_takes = unit<U>::together > 1 ? 6 : 5;
template <class U> struct half_unit;
#if defined(IMBREX_AVX512)
// By a mask of all, as in `widened`: GCC's casts take what a mask leaves out from a register that nobody has written.
template <class V> IMBREX_INLINE __m256i lower_half(V v) {
  return _mm512_maskz_extracti64x4_epi64((__mmask8)-1, (__m512i)v, 0);
}
template <class T> struct half_sums {
  typedef typename vector_of<T, vector_bytes / 2>::type sums;
  IMBREX_INLINE sums lower(vec<T> v) { return (sums)lower_half(v); }
  IMBREX_INLINE vec<T> widened(sums v) {
    return (vec<T>)_mm512_maskz_inserti64x4((__mmask8)-1, _mm512_setzero_si512(), (__m256i)v, 0);
  }
  // The words are in one register, for both: a compiler would load half of them a second time.
  template <class V> IMBREX_INLINE void hold(V &words) { asm("" : "+v"(words)); }
};
template <class T> struct half_fma : half_sums<T> {
  typedef typename half_sums<T>::sums sums;
  IMBREX_INLINE sums multiply_add(sums c, vec<T> a, vec<T> b) { return (sums)lower_half(a) * (sums)lower_half(b) + c; }
};
template <> inline constexpr bool has_halves<float> = true;
template <> inline constexpr bool has_halves<double> = true;
template <> struct half_unit<float> : half_fma<float> {};
template <> struct half_unit<double> : half_fma<double> {};
#endif

// Pairs of bf16 to f32.
struct vdpbf16ps;
#if defined(IMBREX_AVX512) && defined(__AVX512BF16__)
template <> struct unit<vdpbf16ps> : narrow_unit<float, bf16> {
  IMBREX_INLINE vec<float> multiply_add(vec<float> c, words a, words b) {
    return (vec<float>)_mm512_dpbf16_ps((__m512)c, (__m512bh)a, (__m512bh)b);
  }
};
template <> inline constexpr bool has_halves<vdpbf16ps> = true;
template <> struct half_unit<vdpbf16ps> : half_sums<float> {
  IMBREX_INLINE sums multiply_add(sums c, vec<uint32_t> a, vec<uint32_t> b) {
    return (sums)_mm256_dpbf16_ps((__m256)c, (__m256bh)lower_half(a), (__m256bh)lower_half(b));
  }
};
#endif

// Pairs of bytes to i32, as numbers of 16 bits: a sum of two products of bytes is 2 * 2^14 at most.
struct vpmaddwd;
#if defined(IMBREX_AVX512) || defined(IMBREX_AVX2)
template <> struct unit<vpmaddwd> : narrow_unit<int32_t, int16_t> {
  // Both instructions at once: a compiler that is free to add to another register moves sums about, and keeps some in memory.
  IMBREX_INLINE vec<int32_t> multiply_add(vec<int32_t> c, words a, words b) {
    vec<int32_t> product;
    asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+v"(c), "=&v"(product) : "v"(a), "v"(b));
    return c;
  }
};
#endif

// Fours of bytes to i32, those of A unsigned, those of B signed.  A's sign bits are flipped on the way to a register,
// beside the multiply-adds: B's columns are summed once for all rows.
struct vpdpbusd;
struct shifted_unit : narrow_unit<int32_t, int8_t> {
  typedef narrow_unit<int32_t, int8_t> plain;
  static constexpr bool is_shifted = true;
  IMBREX_INLINE words row_of(words a) { return a ^ 0x80808080u; }
  template <class... Count> IMBREX_INLINE words everywhere(const int8_t *p, Count... count) {
    return row_of(plain::everywhere(p, count...));
  }
};
#if defined(IMBREX_AVX512) && defined(__AVX512VNNI__)
template <> struct unit<vpdpbusd> : shifted_unit {
  IMBREX_INLINE vec<int32_t> multiply_add(vec<int32_t> c, words a, words b) {
    return (vec<int32_t>)_mm512_dpbusd_epi32((__m512i)c, (__m512i)a, (__m512i)b);
  }
};
template <> inline constexpr bool has_halves<vpdpbusd> = true;
template <> struct half_unit<vpdpbusd> : half_sums<int32_t> {
  IMBREX_INLINE sums multiply_add(sums c, vec<uint32_t> a, vec<uint32_t> b) {
    return (sums)_mm256_dpbusd_epi32((__m256i)c, lower_half(a), lower_half(b));
  }
};
#elif defined(IMBREX_AVX2) && defined(__AVXVNNI__)
template <> struct unit<vpdpbusd> : shifted_unit {
  IMBREX_INLINE vec<int32_t> multiply_add(vec<int32_t> c, words a, words b) {
    return (vec<int32_t>)_mm256_dpbusd_avx_epi32((__m256i)c, (__m256i)a, (__m256i)b);
  }
};
#endif

// Fours of signed bytes to i32, and pairs of bf16 to f32, of AArch64.
struct sdot;
struct bfdot;
#if defined(IMBREX_SVE)
template <> struct unit<sdot> : narrow_unit<int32_t, int8_t> {
  IMBREX_INLINE vec<int32_t> multiply_add(vec<int32_t> c, words a, words b) {
    return of_sve<int32_t>(svdot(to_sve<int32_t>(c), svreinterpret_s8(to_sve<uint32_t>(a)),
                                 svreinterpret_s8(to_sve<uint32_t>(b))));
  }
};
#elif defined(__ARM_FEATURE_DOTPROD)
template <> struct unit<sdot> : narrow_unit<int32_t, int8_t> {
  IMBREX_INLINE vec<int32_t> multiply_add(vec<int32_t> c, words a, words b) {
    return (vec<int32_t>)vdotq_s32((int32x4_t)c, (int8x16_t)a, (int8x16_t)b);
  }
};
#endif
#if defined(IMBREX_SVE) && defined(__ARM_FEATURE_SVE_BF16)
template <> struct unit<bfdot> : narrow_unit<float, bf16> {
  IMBREX_INLINE vec<float> multiply_add(vec<float> c, words a, words b) {
    return of_sve<float>(svbfdot(svreinterpret_f32(to_sve<float>(c)), svreinterpret_bf16(to_sve<uint32_t>(a)),
                                 svreinterpret_bf16(to_sve<uint32_t>(b))));
  }
};
#elif !defined(IMBREX_SVE) && defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
template <> struct unit<bfdot> : narrow_unit<float, bf16> {
  IMBREX_INLINE vec<float> multiply_add(vec<float> c, words a, words b) {
    return (vec<float>)vbfdotq_f32((float32x4_t)c, (bfloat16x8_t)a, (bfloat16x8_t)b);
  }
};
#endif

// Words of eight bytes: each 128 bits of a vector are two rows of A, or two columns of B, and of a sum 2 x 2.  B's row of
// V vectors of sums is 2 V vectors of words; single columns are products of vectors, by Dot.
template <class Dot> struct pair_unit : unit<Dot> {
  typedef typename unit<Dot>::element E;
  typedef typename unit<Dot>::words words;
  static constexpr int together = 8 / int(sizeof(E)), rows = 2;
  IMBREX_INLINE uint64_t word(const E *p, int64_t count = together) {
    uint64_t found = 0;
    if (count == together)
      __builtin_memcpy(&found, p, sizeof(found));
    else
      for (int t = 0; t < count; ++t) found |= uint64_t(bits_of(p[t])) << (8 * sizeof(E) * t);
    return found;
  }
  // Two rows' words, in each 128 bits.
  template <class... Count> IMBREX_INLINE words both(const E *upper, const E *lower, Count... count) {
#if defined(IMBREX_SVE)
    return of_sve<uint32_t>(svdupq_u64(word(upper, count...), word(lower, count...)));
#else
    return (words)vec<uint64_t>{word(upper, count...), word(lower, count...)};
#endif
  }
};
struct smmla;
struct bfmmla;
#if defined(IMBREX_SVE) && defined(__ARM_FEATURE_SVE_MATMUL_INT8)
template <> struct unit<smmla> : pair_unit<sdot> {
  IMBREX_INLINE vec<int32_t> multiply(vec<int32_t> c, words a, words b) {
    return of_sve<int32_t>(svmmla(to_sve<int32_t>(c), svreinterpret_s8(to_sve<uint32_t>(a)),
                                  svreinterpret_s8(to_sve<uint32_t>(b))));
  }
};
#elif !defined(IMBREX_SVE) && defined(__ARM_FEATURE_MATMUL_INT8)
template <> struct unit<smmla> : pair_unit<sdot> {
  IMBREX_INLINE vec<int32_t> multiply(vec<int32_t> c, words a, words b) {
    return (vec<int32_t>)vmmlaq_s32((int32x4_t)c, (int8x16_t)a, (int8x16_t)b);
  }
};
#endif
#if defined(IMBREX_SVE) && defined(__ARM_FEATURE_SVE_BF16)
template <> struct unit<bfmmla> : pair_unit<bfdot> {
  IMBREX_INLINE vec<float> multiply(vec<float> c, words a, words b) {
    return of_sve<float>(svbfmmla(svreinterpret_f32(to_sve<float>(c)), svreinterpret_bf16(to_sve<uint32_t>(a)),
                                  svreinterpret_bf16(to_sve<uint32_t>(b))));
  }
};
#elif !defined(IMBREX_SVE) && defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
template <> struct unit<bfmmla> : pair_unit<bfdot> {
  IMBREX_INLINE vec<float> multiply(vec<float> c, words a, words b) {
    return (vec<float>)vbfmmlaq_f32((float32x4_t)c, (bfloat16x8_t)a, (bfloat16x8_t)b);
  }
};
#endif
} // namespace imbrex
