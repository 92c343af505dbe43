// Global arrays by 64-bit pointers: those of which the lanes of one wave need parts 2 GiB apart, and atomic sums.
#pragma once
#include "element.h"

namespace imbrex {

// dst = W neighbours; zeros where they do not exist.
template <int W, class T> IMBREX_INLINE void load(T *dst, const T *src, bool exists) {
  word<W * sizeof(T)> x = {};
  if (exists) x = *reinterpret_cast<const word_in_memory<W * sizeof(T)> *>(src);
  __builtin_memcpy(dst, &x, sizeof(x));
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
  __builtin_memcpy(&x, src, sizeof(x));
  if (exists) *reinterpret_cast<word_in_memory<W * sizeof(T)> *>(dst) = x;
}

// W neighbours = src, converted.
template <int W, class D, class S> IMBREX_INLINE void store(D *dst, bool exists, const S *src) {
  D out[W];
  copy<W>(out, src);
  store_as_is<W>(dst, exists, out);
}

// W neighbours = alpha * src + beta * themselves; beta == 0 does not read them.
template <int W, class D, class S> IMBREX_INLINE void scale(D *dst, bool exists, const S *src, S alpha, S beta) {
  D out[W] = {};
  if (beta != S(0)) load<W>(out, dst, exists);
#pragma unroll
  for (int i = 0; i < W; ++i) {
    const S x = alpha * src[i];
    out[i] = converted<D>(beta == S(0) ? x : S(x + beta * widen(out[i])));
  }
  store_as_is<W>(dst, exists, out);
}

constexpr int agent = 4; // the memory scope of one GPU, as __hip_atomic_* counts them

// *dst += x, whole even when other workgroups add to the same element.  The sums lie in memory of this GPU, so that
// the instruction for it may be used where the chip has one.
template <class D, class S> IMBREX_INLINE void add_one(D *dst, S x) {
  if constexpr (sizeof(D) >= 4) {
#if __has_cpp_attribute(clang::atomic)
    [[clang::atomic(no_remote_memory, no_fine_grained_memory, ignore_denormal_mode)]] {
      __hip_atomic_fetch_add(dst, D(x), __ATOMIC_RELAXED, agent);
    }
#else
    __hip_atomic_fetch_add(dst, D(x), __ATOMIC_RELAXED, agent);
#endif
  } else {
    // Part of a word: exchange the whole word until nobody else has changed it.
    const uint64_t address = reinterpret_cast<uint64_t>(dst);
    uint32_t *word = reinterpret_cast<uint32_t *>(address & ~uint64_t(3));
    const uint32_t shift = uint32_t(address & 3) * 8, part = (sizeof(D) == 1 ? 0xffu : 0xffffu) << shift;
    uint32_t seen = __hip_atomic_load(word, __ATOMIC_RELAXED, agent), want;
    do {
      const uint32_t old = (seen & part) >> shift;
      D value;
      __builtin_memcpy(&value, &old, sizeof(D));
      value = converted<D>(S(widen(value) + x));
      uint32_t bits = 0;
      __builtin_memcpy(&bits, &value, sizeof(D));
      want = (seen & ~part) | (bits << shift);
    } while (!__hip_atomic_compare_exchange_strong(word, &seen, want, __ATOMIC_RELAXED, __ATOMIC_RELAXED, agent));
  }
}

template <int W, class D, class S> IMBREX_INLINE void add(D *dst, bool exists, const S *src) {
  if (!exists) return;
#pragma unroll
  for (int i = 0; i < W; ++i) add_one(dst + i, src[i]);
}
} // namespace imbrex
