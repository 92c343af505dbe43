// Private arrays: what a work item holds in its registers.
//
// A language's element.h comes first: elements and their conversions, `copy_bytes`, `bytes_of`.
#pragma once
#include "../common/scale.h"

namespace imbrex {

template <class A, class B> constexpr bool are_same = false;
template <class A> constexpr bool are_same<A, A> = true;

template <class D, class S> IMBREX_INLINE D converted(S x) {
  if constexpr (are_same<D, S>)
    return x;
  else
    return narrow_to<D>::from(widen(x));
}

// The registers at p of a private array, as the vector that an instruction takes.  Private arrays are plain: where all
// their indices are constants, the compiler splits them into the vectors that they are used as.
template <class V, int N, class T> IMBREX_INLINE V get(const T *p) {
  static_assert(sizeof(V) == N * sizeof(T), "an operand is whole");
  V v;
  copy_bytes<sizeof(V)>(&v, p);
  return v;
}
template <class V, class T> IMBREX_INLINE void put(T *p, V v) { copy_bytes<sizeof(V)>(p, &v); }

template <int N, class T> IMBREX_INLINE void fill(T *p, decltype(widen(T{})) value) {
#pragma unroll
  for (int i = 0; i < N; ++i) p[i] = narrow_to<T>::from(value);
}

// dst = src, from register to register.
template <int W, class D, class S> IMBREX_INLINE void copy(D *dst, const S *src) {
#pragma unroll
  for (int i = 0; i < W; ++i) dst[i] = converted<D>(src[i]);
}

// The same, added to what is there.
template <int W, class T> IMBREX_INLINE void gain(T *dst, const T *src) {
#pragma unroll
  for (int i = 0; i < W; ++i) dst[i] += src[i];
}

// dst, Rows x Columns, = src, Columns x Rows, transposed.  Elements that share registers go in squares of one register
// each way: 4 x 4 bytes, whose pairs of rows are laced first and then joined, or 2 x 2 halves.
template <int Rows, int Columns, class T> IMBREX_INLINE void turn(T *dst, const T *src) {
  constexpr int side = sizeof(T) < 4 ? 4 / int(sizeof(T)) : 1;
  if constexpr (side == 1 || Rows % side || Columns % side) {
#pragma unroll
    for (int i = 0; i < Rows * Columns; ++i) dst[i] = src[i % Columns * Rows + i / Columns];
  } else {
#pragma unroll
    for (int i = 0; i < Rows; i += side) {
#pragma unroll
      for (int j = 0; j < Columns; j += side) {
        uint32_t x[side], y[side];
#pragma unroll
        for (int s = 0; s < side; ++s) x[s] = get<uint32_t, side>(src + (j + s) * Rows + i);
        if constexpr (side == 4) {
#pragma unroll
          for (int s = 0; s < 4; s += 2) {
            y[s] = bytes_of(x[s + 1], x[s], 0x05010400);
            y[s + 1] = bytes_of(x[s + 1], x[s], 0x07030602);
          }
#pragma unroll
          for (int s = 0; s < 2; ++s) {
            x[2 * s] = bytes_of(y[2 + s], y[s], 0x05040100);
            x[2 * s + 1] = bytes_of(y[2 + s], y[s], 0x07060302);
          }
        } else {
          y[0] = x[0], y[1] = x[1];
          x[0] = bytes_of(y[1], y[0], 0x05040100);
          x[1] = bytes_of(y[1], y[0], 0x07060302);
        }
#pragma unroll
        for (int s = 0; s < side; ++s) put(dst + (i + s) * Columns + j, x[s]);
      }
    }
  }
}
} // namespace imbrex
