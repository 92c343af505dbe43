// The product of few rows of A with a B that each of them meets once: rows of B pass whole, a few at a time, as memory
// gives them soonest, and add to sums that the first cache keeps.  Elements are summed in the order of register tiles.
#pragma once
#include "micro.h"

namespace imbrex {

// Has B a function `rows_in_place(vectors)`: its first row, or null where rows do not lie in one piece?
template <class B> constexpr bool has_whole_rows = false;

// Bytes of sums: half of the least first cache.
constexpr int summed_bytes = 16384;
// More rows of A are multiplied sooner by register tiles.
constexpr int most_whole_rows = 2;
// Less of B stays in the second cache from call to call.
constexpr int64_t least_passed_bytes = 1 << 18;

template <class T, int M> struct whole_rows {
  static constexpr int W = width<T>, columns = summed_bytes / int(sizeof(T)) / M;

  // sums[m][n] = sum over k < k_count of A(m, k) * p[offset[k] + n] for `vectors` vectors of n, the last of them cut by
  // `last`; rows of sums are `columns` apart.
  template <class A>
  static __attribute__((noinline)) void sum(int64_t k_count, A source, const T *p, const int64_t *offset, int vectors,
                                            mask_t last, T *sums) {
    auto a = cursor<M>(source);
    constexpr int chunk = decltype(a)::chunk, some = chunk < 8 / M ? chunk : 8 / M;
    for (int m = 0; m < M; ++m)
      for (int v = 0; v < vectors; ++v) store<T>(sums + m * columns + v * W, vec<T>{});
    int64_t k = k_count;
    for (; k >= chunk; k -= chunk, a.advance(chunk))
      for (int u = 0; u < chunk; u += some, offset += some) add<some>(a, u, p, offset, vectors, last, sums);
    for (int u = 0; u < k; ++u, ++offset) add<1>(a, u, p, offset, vectors, last, sums);
  }

private:
  template <int Count, class A>
  IMBREX_INLINE void add(const A &a, int u, const T *p, const int64_t *offset, int vectors, mask_t last, T *sums) {
    vec<T> scale[M][Count];
    const T *row[Count];
#pragma GCC unroll 8
    for (int i = 0; i < Count; ++i) {
      row[i] = p + offset[i];
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m) scale[m][i] = splat(*a.at(m, u + i));
    }
    const auto one = [&](int v, auto load_row) IMBREX_INLINED {
      vec<T> acc[M];
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m) acc[m] = load<T>(sums + m * columns + v * W);
#pragma GCC unroll 8
      for (int i = 0; i < Count; ++i) {
        const vec<T> x = load_row(row[i] + v * W);
#pragma GCC unroll 4
        for (int m = 0; m < M; ++m) acc[m] = unit<T>::multiply_add(acc[m], scale[m][i], x);
      }
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m) store<T>(sums + m * columns + v * W, acc[m]);
    };
    for (int v = 0; v + 1 < vectors; ++v) one(v, [](const T *at) IMBREX_INLINED { return load<T>(at); });
    one(vectors - 1, [&](const T *at) IMBREX_INLINED { return load<T>(at, last); });
  }
};
} // namespace imbrex
