// What one work item does to memory, for kernels whose work items are a loop over lanes.
//
// A vector access of W elements must be aligned to W elements, as on the GPU: a misaligned one stops the program.
#pragma once
#include "../cpu/element.h"
#include "../common/scale.h"
#include "matrix.h"

namespace imbrex {

template <class D, class S> IMBREX_INLINE D converted(S x) {
  if constexpr (__is_same(D, S))
    return x;
  else if constexpr (__is_same(D, held<S>))
    return D{x};
  else if constexpr (__is_same(S, held<D>))
    return x.pack;
  else
    return narrow_to<D>::from(widen(x));
}

template <class T> IMBREX_INLINE void fill(T *p, int count, decltype(widen(T{})) value) {
  for (int i = 0; i < count; ++i) p[i] = narrow_to<T>::from(value);
}

// To all W elements, or to the 16 bytes of the widest access: more of them only leave registers, narrowed.  12 bytes
// are three words.
template <int W, class P> IMBREX_INLINE void expect_aligned(const P *p) {
  constexpr size_t bytes = W * sizeof(P), power = bytes & -bytes;
  if (reinterpret_cast<uintptr_t>(p) % (power < 16 ? power : 16) != 0) __builtin_trap();
}

// dst = src; zero where the source does not exist.
template <int W, class D, class S> IMBREX_INLINE void move(D *dst, const S *src, bool exists) {
  expect_aligned<W>(dst);
  if (exists) expect_aligned<W>(src);
  for (int i = 0; i < W; ++i) dst[i] = exists ? converted<D>(src[i]) : D{};
}

// dst += src, in registers.
template <int W, class T> IMBREX_INLINE void gain(T *dst, const T *src) {
  expect_aligned<W>(src);
  for (int i = 0; i < W; ++i) dst[i] += src[i];
}

// What a lane of a wave moves from global memory to LDS past its registers; zero where the source does not exist.
// The hardware takes the place of lane 0, `first`, and puts the others behind it in order: any other place stops the
// program.
template <int W, class D, class S>
IMBREX_INLINE void move_direct(D *dst, const S *src, bool exists, int lane, D *&first) {
  if (lane == 0) first = dst;
  if (dst != first + lane * W) __builtin_trap();
  move<W>(dst, src, exists);
}

// A lane's share where 16 of them transpose a matrix of W rows of 16: it reads W neighbours of one row, and column c is
// lane c's.  `dst` are its own registers; those of the next lane are `pitch` further.
template <int W, class T> IMBREX_INLINE void move_turned(T *dst, int pitch, const T *src, int lane) {
  expect_aligned<W>(src);
  constexpr int readers = 16 / W;
  const int own = lane % 16, row = own / readers, column = own % readers * W;
  for (int i = 0; i < W; ++i) dst[(column + i - own) * pitch + row] = src[i];
}

// The same of packs of fewer than 8 bits, of which each lane reads one, a row of 16.
template <int W, class Single, int Bits, int Count>
IMBREX_INLINE void
move_turned(packed<Single, Bits, Count> *dst, int pitch, const across<packed<Single, Bits, Count>> *src, int lane) {
  static_assert(W == 1 && Count == 16, "lanes transpose a pack each");
  const int own = lane % 16;
  for (int column = 0; column < 16; ++column)
    for (int b = 0; b < Bits; ++b) {
      const int from = column * Bits + b, to = own * Bits + b;
      uint8_t &byte = dst[(column - own) * pitch].bytes[to / 8];
      const int bit = src->pack.bytes[from / 8] >> from % 8 & 1;
      byte = uint8_t((byte & ~(1 << to % 8)) | bit << to % 8);
    }
}
template <int W, class P>
IMBREX_INLINE void move_turned(P *dst, int pitch, const held<across<P>> *src, int lane) {
  expect_aligned<W>(src);
  move_turned<W>(dst, pitch, &src->pack, lane);
}

// dst = alpha * src + beta * dst; beta == 0 does not read dst.
template <int W, class D, class S, class T> IMBREX_INLINE void scale(D *dst, const S *src, T alpha, T beta) {
  expect_aligned<W>(dst);
  for (int i = 0; i < W; ++i) {
    const T x = times(alpha, widen(src[i]));
    dst[i] = narrow_to<D>::from(beta == T(0) ? x : T(x + T(beta * widen(dst[i]))));
  }
}

template <int W, class D, class S> IMBREX_INLINE void store(D *dst, const S *src) {
  expect_aligned<W>(dst);
  for (int i = 0; i < W; ++i) dst[i] = converted<D>(src[i]);
}

// dst += src, whole even when other workgroups add to the same element.
template <int W, class D, class S> IMBREX_INLINE void add(D *dst, const S *src) {
  for (int i = 0; i < W; ++i) {
    D seen, want;
    __atomic_load(dst + i, &seen, __ATOMIC_RELAXED);
    do want = narrow_to<D>::from(widen(seen) + widen(src[i]));
    while (!__atomic_compare_exchange(dst + i, &seen, &want, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  }
}
} // namespace imbrex
