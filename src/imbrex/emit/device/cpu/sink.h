// Where the sums of a register tile go: called as sink(m, v, sum); sink.at(m, v) is where that is, fetched ahead.
#pragma once
#include "unit.h"
#include "../common/scale.h"

namespace imbrex {

// Puts the sums in a row-major tile, or adds them to it.
template <class T> struct c_tile {
  T *p;
  int64_t step;
  bool accumulate;
  T *at(int m, int v) const { return p + m * step + v * width<T>; }
  void operator()(int m, int v, vec<T> sum) const {
    store<T>(at(m, v), accumulate ? vec<T>(sum + load<T>(at(m, v))) : sum);
  }
};

// C = alpha * sum + beta * C at p + row[m] + lane; the last vector has only the lanes of `last`.
template <class T, class S, int V> struct c_sink {
  S *p;
  const int64_t *row;
  mask_t last;
  T alpha, beta;
  S *at(int m, int v) const { return p + row[m] + v * width<T>; }
  // Are sums stored as they are, or added to what is there?
  bool is_set() const { return alpha == 1 && beta == 0; }
  bool is_added() const { return alpha == 1 && beta == 1; }
  // Elements from one of `count` rows to the next, where they are evenly apart and all lanes are stored; else 0.
  int64_t apart(int count) const {
    const int64_t step = count > 1 ? row[1] - row[0] : V * width<T>;
    bool is_even = last == all_lanes<T>;
    for (int m = 2; m < count; ++m) is_even &= row[m] - row[m - 1] == step;
    return is_even ? step : 0;
  }
  void operator()(int m, int v, vec<T> sum) const {
    if (v + 1 < V) return put_whole(m, v, sum);
    S *to = at(m, v);
    if (alpha != 1) sum = times(alpha, sum);
    store_first<T>(to, beta != 0 ? vec<T>(sum + beta * load<T>(to, last)) : sum, last);
  }
  bool is_whole() const { return last == all_lanes<T>; }
  void put_whole(int m, int v, vec<T> sum) const {
    S *to = at(m, v);
    if (alpha != 1) sum = times(alpha, sum);
    store<T>(to, beta != 0 ? vec<T>(sum + beta * load<T>(to)) : sum);
  }
  void put(int m, int c, T sum) const {
    S *to = p + row[m] + c;
    *to = narrow_to<S>::from(beta != 0 ? T(times(alpha, sum) + beta * widen(*to)) : times(alpha, sum));
  }
};

// Sums of single columns, `step` apart, whose rows are neighbours.
template <class T> struct c_column_sink {
  T *p;
  int64_t step;
  void put(int m, int c, T sum) const { p[c * step + m] = sum; }
};

// What a sink is given, and what was kept of it before, `step` apart.
template <class T, class Sink> struct c_added {
  Sink sink;
  const T *kept;
  int64_t step;
  auto at(int m, int v) const { return sink.at(m, v); }
  void operator()(int m, int v, vec<T> sum) const { sink(m, v, sum + load<T>(kept + m * step + v * width<T>)); }
  bool is_whole() const { return sink.is_whole(); }
  void put_whole(int m, int v, vec<T> sum) const { sink.put_whole(m, v, sum + load<T>(kept + m * step + v * width<T>)); }
  void put(int m, int c, T sum) const { sink.put(m, c, sum + kept[m * step + c]); }
};
template <class Sink> constexpr bool is_c_added = false;
template <class T, class Sink> constexpr bool is_c_added<c_added<T, Sink>> = true;

// A sink in registers of one's own.  What its words were written by, one by one, is read so, too: as vectors, it would wait
// until all stores before them are done, those of the tile before included.
template <class Sink> IMBREX_INLINE Sink held(const Sink &sink) { return sink; }
template <class T, class S, int V> IMBREX_INLINE c_sink<T, S, V> held(const c_sink<T, S, V> &sink) {
  if constexpr (has_masks) return sink; // which has been timed so, and would spill more
  S *p = sink.p;
  const int64_t *row = sink.row;
  mask_t last = sink.last;
  auto alpha = bit_cast<typename same_size_int<sizeof(T)>::type>(sink.alpha), beta = bit_cast<decltype(alpha)>(sink.beta);
  asm("" : "+r"(p), "+r"(row), "+r"(last));
  asm("" : "+r"(alpha), "+r"(beta));
  return {p, row, last, bit_cast<T>(alpha), bit_cast<T>(beta)};
}

// Does a sink ask of the last vector of each row which lanes exist, at a price?
template <class Sink> constexpr bool asks_for_lanes = false;
template <class T, class S, int V> constexpr bool asks_for_lanes<c_sink<T, S, V>> = !has_masks;
template <class T, class Sink> constexpr bool asks_for_lanes<c_added<T, Sink>> = asks_for_lanes<Sink>;

// All sums of a register tile; where all lanes exist, none is stored under a mask, which takes an AMD core 12 cycles.
template <class T, int MR, int NV, class Sink>
IMBREX_INLINE void put_tile(const Sink &sink, const vec<T> (&sums)[MR][NV]) {
  if constexpr (asks_for_lanes<Sink>)
    if (sink.is_whole()) {
#pragma GCC unroll 32
      for (int m = 0; m < MR; ++m)
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v) sink.put_whole(m, v, sums[m][v]);
      return;
    }
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) sink(m, v, sums[m][v]);
}
} // namespace imbrex
