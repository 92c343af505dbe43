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
    S *to = at(m, v);
    if (alpha != 1) sum = times(alpha, sum);
    if (v + 1 < V)
      store<T>(to, beta != 0 ? vec<T>(sum + beta * load<T>(to)) : sum);
    else
      store<T>(to, beta != 0 ? vec<T>(sum + beta * load<T>(to, last)) : sum, last);
  }
  void put(int m, int c, T sum) const {
    S *to = p + row[m] + c;
    *to = narrow_to<S>::from(beta != 0 ? T(times(alpha, sum) + beta * widen(*to)) : times(alpha, sum));
  }
  void skip(int count) { p += count; }
};

// What a sink is given, and what was kept of it before, `step` apart.
template <class T, class Sink> struct c_added {
  Sink sink;
  const T *kept;
  int64_t step;
  auto at(int m, int v) const { return sink.at(m, v); }
  void operator()(int m, int v, vec<T> sum) const { sink(m, v, sum + load<T>(kept + m * step + v * width<T>)); }
  void put(int m, int c, T sum) const { sink.put(m, c, sum + kept[m * step + c]); }
  void skip(int count) { sink.skip(count), kept += count; }
};
template <class Sink> constexpr bool is_c_added = false;
template <class T, class Sink> constexpr bool is_c_added<c_added<T, Sink>> = true;
} // namespace imbrex
