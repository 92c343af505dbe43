// Lanes moved between registers: every other lane of two, and the W x W transpose of W of them, after which rows[i][j]
// is what rows[j][i] was.
#pragma once
#include "vec.h"

namespace imbrex {

// Lanes 0, 2, 4 ... of the 2W lanes a, b.
template <class T> IMBREX_INLINE vec<T> even_lanes(vec<T> a, vec<T> b) {
  if constexpr (width<T> == 16)
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  else if constexpr (width<T> == 8)
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
  else if constexpr (width<T> == 4)
    return __builtin_shufflevector(a, b, 0, 2, 4, 6);
  else
    return __builtin_shufflevector(a, b, 0, 2);
}

// Lanes 1, 3, 5 ... of the 2W lanes a, b.
template <class T> IMBREX_INLINE vec<T> odd_lanes(vec<T> a, vec<T> b) {
  if constexpr (width<T> == 16)
    return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  else if constexpr (width<T> == 8)
    return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
  else if constexpr (width<T> == 4)
    return __builtin_shufflevector(a, b, 1, 3, 5, 7);
  else
    return __builtin_shufflevector(a, b, 1, 3);
}

// Lane 0 of a, of b, lane 1 of a, of b, ...: the first W of these, or, Upper, the others.
template <class T, bool Upper> IMBREX_INLINE vec<T> interleaved(vec<T> a, vec<T> b) {
  constexpr int W = width<T>, h = Upper ? W / 2 : 0;
  if constexpr (W == 16)
    return __builtin_shufflevector(a, b, h, h + 16, h + 1, h + 17, h + 2, h + 18, h + 3, h + 19, h + 4, h + 20, h + 5,
                                   h + 21, h + 6, h + 22, h + 7, h + 23);
  else if constexpr (W == 8)
    return __builtin_shufflevector(a, b, h, h + 8, h + 1, h + 9, h + 2, h + 10, h + 3, h + 11);
  else if constexpr (W == 4)
    return __builtin_shufflevector(a, b, h, h + 4, h + 1, h + 5);
  else
    return __builtin_shufflevector(a, b, h, h + 2);
}

// Lane 0 of each of some vectors, lane 1 of each, ...: as many vectors.
template <class T, int Count> IMBREX_INLINE void interleave(vec<T> (&rows)[Count]) {
  constexpr int W = width<T>;
  vec<T> found[Count];
  if constexpr (Count == 2) {
    found[0] = interleaved<T, false>(rows[0], rows[1]), found[1] = interleaved<T, true>(rows[0], rows[1]);
  } else {
#pragma GCC unroll 64
    for (int i = 0; i < Count * W; ++i) found[i / W][i % W] = rows[i % Count][i / Count];
  }
#pragma GCC unroll 16
  for (int i = 0; i < Count; ++i) rows[i] = found[i];
}

// Of a 2S x 2S block's rows i and i + S: swaps the off-diagonal S x S blocks.  log2(W) rounds of it transpose.
template <class T, int S> IMBREX_INLINE void swap_blocks(vec<T> &a, vec<T> &b) {
  constexpr int W = width<T>;
  vec<T> low, high;
  if constexpr (W == 16 && S == 8) {
    low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    high = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  } else if constexpr (W == 16 && S == 4) {
    low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
    high = __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
  } else if constexpr (W == 16 && S == 2) {
    low = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
    high = __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
  } else if constexpr (W == 16) {
    low = __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
    high = __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
  } else if constexpr (W == 8 && S == 4) {
    low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
    high = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  } else if constexpr (W == 8 && S == 2) {
    low = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    high = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  } else if constexpr (W == 8) {
    low = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
    high = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  } else if constexpr (W == 4 && S == 2) {
    low = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    high = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  } else if constexpr (W == 4) {
    low = __builtin_shufflevector(a, b, 0, 4, 2, 6);
    high = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  } else {
    static_assert(W == 2, "a vector has 2, 4, 8 or 16 lanes");
    low = __builtin_shufflevector(a, b, 0, 2);
    high = __builtin_shufflevector(a, b, 1, 3);
  }
  a = low, b = high;
}

template <class T, int S> IMBREX_INLINE void swap_rounds(vec<T> (&rows)[width<T>]) {
#pragma GCC unroll 8
  for (int block = 0; block < width<T>; block += 2 * S)
#pragma GCC unroll 8
    for (int i = block; i < block + S; ++i) swap_blocks<T, S>(rows[i], rows[i + S]);
  if constexpr (S > 1) swap_rounds<T, S / 2>(rows);
}

// The last two rounds of eight lanes, of four rows: pairs are interleaved first, by instructions that there are, where
// every other lane of two rows would take two.
template <class T> IMBREX_INLINE void turn_fours(vec<T> &a, vec<T> &b, vec<T> &c, vec<T> &d) {
  const vec<T> ab = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
  const vec<T> cd = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13);
  const vec<T> next_ab = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  const vec<T> next_cd = __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
  a = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13);
  b = __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
  c = __builtin_shufflevector(next_ab, next_cd, 0, 1, 8, 9, 4, 5, 12, 13);
  d = __builtin_shufflevector(next_ab, next_cd, 2, 3, 10, 11, 6, 7, 14, 15);
}

// What is left where the first round is done, which swaps halves of rows.
template <class T> IMBREX_INLINE void transpose_halves(vec<T> (&rows)[width<T>]) {
  if constexpr (width<T> == 8) {
    turn_fours<T>(rows[0], rows[1], rows[2], rows[3]);
    turn_fours<T>(rows[4], rows[5], rows[6], rows[7]);
  } else if constexpr (width<T> > 2) {
    swap_rounds<T, width<T> / 4>(rows);
  }
}

template <class T> IMBREX_INLINE void transpose(vec<T> (&rows)[width<T>]) {
#pragma GCC unroll 8
  for (int i = 0; i < width<T> / 2; ++i) swap_blocks<T, width<T> / 2>(rows[i], rows[i + width<T> / 2]);
  transpose_halves<T>(rows);
}

// Is a register loaded by halves, which come from two places?  To swap them later takes an AMD core 8 instructions inside.
#if defined(IMBREX_AVX2)
constexpr bool loads_halves = true;
#else
constexpr bool loads_halves = false;
#endif

// Are few rows, and rows that are cut, loaded side by side?  Elsewhere nobody has timed it, and it is more code.
#if defined(IMBREX_AVX512)
constexpr bool turns_cut_rows = true;
#else
constexpr bool turns_cut_rows = false;
#endif

template <class T, class P> constexpr bool is_pointer_to = false;
template <class T> constexpr bool is_pointer_to<T, const T *> = true;

// Both halves of a vector from two places, each zeros where it does not exist.
template <class T> IMBREX_INLINE vec<T> both_halves(const T *low, const T *high, bool has_low, bool has_high) {
  typedef vector_of<T, vector_bytes / 2> half;
  union {
    typename half::type halves[2];
    vec<T> all;
  } found;
  found.halves[0] = has_low ? *(const typename half::loose *)low : typename half::type{};
  found.halves[1] = has_high ? *(const typename half::loose *)high : typename half::type{};
  return found.all;
}

// rows[i][j] is lane i of row j, which begins at at(j), of the first `count` rows, and zero of others.
template <class T, class At> IMBREX_INLINE void load_transposed(vec<T> (&rows)[width<T>], int count, const At &at) {
  constexpr int W = width<T>, H = W / 2;
  if constexpr (loads_halves && is_pointer_to<T, decltype(at(0))>) {
#pragma GCC unroll 8
    for (int i = 0; i < H; ++i) {
      const T *low = i < count ? at(i) : nullptr, *high = i + H < count ? at(i + H) : nullptr;
      rows[i] = both_halves<T>(low, high, low, high);
      rows[i + H] = both_halves<T>(low + H, high + H, low, high);
    }
    transpose_halves<T>(rows);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) rows[i] = i < count ? load<T>(at(i)) : vec<T>{};
    transpose<T>(rows);
  }
}

// The same of the lanes of `mask`, in each row.
template <class T, class At>
IMBREX_INLINE void load_transposed(vec<T> (&rows)[width<T>], int count, const At &at, mask_t mask) {
#pragma GCC unroll 16
  for (int i = 0; i < width<T>; ++i) rows[i] = i < count ? load<T>(at(i), mask) : vec<T>{};
  transpose<T>(rows);
}

// W x W turned elements to dst[lane][Panel], of a panel the lanes from `group` on.
template <int Panel, class T> IMBREX_INLINE void put_square(T *dst, int group, const vec<T> (&square)[width<T>]) {
  constexpr int W = width<T>;
  const mask_t stored = first_lanes(Panel - group) & all_lanes<T>;
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i)
    if (Panel % W == 0)
      store<T>(dst + i * Panel + group, square[i]);
    else
      store<T>(dst + i * Panel + group, square[i], stored);
}
} // namespace imbrex
