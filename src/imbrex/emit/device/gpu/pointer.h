// Global arrays by 64-bit pointers: the first of W neighbours, and whether they exist.
//
// A language's pointer.h comes first: `sum_into`, `peek` and `exchanged`, which are whole to all workgroups.
#pragma once
#include "register.h"

namespace imbrex {

// dst = W neighbours; zeros where they do not exist.
template <int W, class T> IMBREX_INLINE void load(T *dst, const T *src, bool exists) {
  word<W * sizeof(T)> x = {};
  if (exists) x = *reinterpret_cast<const word_in_memory<W * sizeof(T)> *>(src);
  copy_bytes<sizeof(x)>(dst, &x);
}

// dst += W neighbours, in registers.
template <int W, class T> IMBREX_INLINE void gain(T *dst, const T *src, bool exists) {
  T x[W];
  load<W>(x, src, exists);
#pragma unroll
  for (int i = 0; i < W; ++i) dst[i] += x[i];
}

template <int W, class T> IMBREX_INLINE void store_as_is(T *dst, bool exists, const T *src) {
  word<W * sizeof(T)> x;
  copy_bytes<sizeof(x)>(&x, src);
  if (exists) *reinterpret_cast<word_in_memory<W * sizeof(T)> *>(dst) = x;
}

// W neighbours = src, converted.
template <int W, class D, class S> IMBREX_INLINE void store(D *dst, bool exists, const S *src) {
  D out[W];
  copy<W>(out, src);
  store_as_is<W>(dst, exists, out);
}

// W neighbours = alpha * src + beta * themselves; beta == 0 does not read them.
template <int W, class D, class S, class T>
IMBREX_INLINE void scale(D *dst, bool exists, const S *src, T alpha, T beta) {
  D out[W] = {};
  if (beta != T(0)) load<W>(out, dst, exists);
#pragma unroll
  for (int i = 0; i < W; ++i) {
    const T x = times(alpha, widen(src[i]));
    out[i] = converted<D>(beta == T(0) ? x : T(x + beta * widen(out[i])));
  }
  store_as_is<W>(dst, exists, out);
}

// *dst += x, whole even when other workgroups add to the same element.
template <class D, class S> IMBREX_INLINE void add_one(D *dst, S x) {
  if constexpr (sizeof(D) >= 4) {
    sum_into(dst, D(x));
  } else {
    // Part of a word: exchange the whole word until nobody else has changed it.
    const uint64_t address = reinterpret_cast<uint64_t>(dst);
    uint32_t *word = reinterpret_cast<uint32_t *>(address & ~uint64_t(3));
    const uint32_t shift = uint32_t(address & 3) * 8, part = (sizeof(D) == 1 ? 0xffu : 0xffffu) << shift;
    uint32_t seen = peek(word), want;
    do {
      const uint32_t old = (seen & part) >> shift;
      D value;
      copy_bytes<sizeof(D)>(&value, &old);
      value = converted<D>(S(widen(value) + x));
      uint32_t bits = 0;
      copy_bytes<sizeof(D)>(&bits, &value);
      want = (seen & ~part) | (bits << shift);
    } while (!exchanged(word, seen, want));
  }
}

template <int W, class D, class S> IMBREX_INLINE void add(D *dst, bool exists, const S *src) {
  if (!exists) return;
#pragma unroll
  for (int i = 0; i < W; ++i) add_one(dst + i, src[i]);
}
} // namespace imbrex
