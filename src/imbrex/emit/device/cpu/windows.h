// A depthwise convolution: for each row, column and lane of the sums
//   c[row][column][lane] = sum over y, x of filter[y][x][lane] * window[row * SH + y * DH][column * SW + x * DW][lane].
//
// Vectors run along lanes, channels that come last, or, of one lane, along columns.  The rows of the window that some
// rows of sums need stand in a ring, widened to the type of the sums, with zeros for what does not exist; along columns a
// stride's columns stand apart, those of one remainder together, so that what a tap multiplies are always neighbours:
//   along lanes     ring[row][column][lane]
//   along columns   ring[row][column % SW][column / SW]
// Either way a tap of a vector is one load at a distance that is known when this is compiled.
#pragma once
#include "extent.h"
#include "micro.h"
#include "store.h"

namespace imbrex {

// Elements at p + row * step[0] + column * step[1] + lane * step[2], of which [begin, end) of each axis exist.
template <class S> struct grid {
  S *p;
  int64_t step[3];
  int32_t begin[3], end[3];
  bool has(int axis, int i) const { return i >= begin[axis] && i < end[axis]; }
  S *at(int row, int column, int lane) const { return p + row * step[0] + column * step[1] + lane * step[2]; }
};

// An axis of windows: `out` of them, `stride` apart, with taps `dilation` apart.
template <int Out, int Taps, int Stride, int Dilation> struct slide {
  static constexpr int out = Out, taps = Taps, stride = Stride, dilation = Dilation;
  static constexpr int extent = (Out - 1) * Stride + (Taps - 1) * Dilation + 1;
};

// `count` bits from `first` on, of a vector of W lanes; either may lie outside.
template <int W> IMBREX_INLINE mask_t some_lanes(int first, int end) {
  return first_lanes(end < 0 ? 0 : end < W ? end : W) & ~first_lanes(first < 0 ? 0 : first < W ? first : W);
}

// Lanes [0, W) at p + lane * step; what `lanes` lacks is 0.
template <class T, class S> IMBREX_INLINE vec<T> load_apart(const S *p, int64_t step, mask_t lanes) {
  if (step == 1) return lanes == all_lanes<T> ? load<T>(p) : lanes ? load<T>(p, lanes) : vec<T>{};
  if (step == 2) {
    const mask_t both = spread(lanes);
    return even_lanes<T>(load<T>(p, both & all_lanes<T>), load<T>(p + width<T>, both >> width<T>));
  }
  vec<T> found{};
  for (; lanes; lanes &= lanes - 1) {
    const int j = __builtin_ctz(lanes);
    found[j] = widen(p[j * step]);
  }
  return found;
}

template <class T, class D> IMBREX_INLINE void store_apart(D *p, int64_t step, vec<T> x, mask_t lanes) {
  if (step == 1) return lanes == all_lanes<T> ? store<T>(p, x) : store<T>(p, x, lanes);
  for (; lanes; lanes &= lanes - 1) {
    const int j = __builtin_ctz(lanes);
    p[j * step] = narrow_to<D>::from(T(x[j]));
  }
}

template <class T, bool AlongLanes, int Lanes, class H, class X> struct windows {
  static_assert(AlongLanes || Lanes == 1, "of several lanes none would be a vector");
  static constexpr int W = width<T>, registers = vector_bytes == 32 ? 10 : 24;
  static constexpr int vectors = (Lanes + W - 1) / W, L = vectors * W;       // of lanes
  static constexpr int along = AlongLanes ? X::out : (X::out + W - 1) / W;   // vectors of a row of sums
  static constexpr int P = balanced(along, AlongLanes ? registers / 2 + 2 : 4);  // of these at a time
  static constexpr bool is_written_out = H::taps * X::taps <= 64;
  static constexpr int by_code = 640 / (P * H::taps * X::taps); // rows of which the code stays short
  static constexpr int most_rows = registers / P < by_code ? registers / P : by_code;
  static constexpr int R = AlongLanes || !is_written_out || most_rows < 2 ? 1 : balanced(H::out, most_rows);
  static constexpr bool is_shared_along = AlongLanes && is_written_out && P + X::taps < (vector_bytes == 32 ? 15 : 30);
  static constexpr int step = AlongLanes ? X::stride * L : W; // from a vector of sums to the next
  static constexpr int apart = round_up(along * W + (X::taps - 1) * X::dilation / X::stride, W); // of one remainder
  static constexpr int row_size = AlongLanes ? X::extent * L : X::stride * apart;
  static constexpr int ring_rows = (R - 1) * H::stride + (H::taps - 1) * H::dilation + 1;

  alignas(64) T ring[ring_rows * row_size];
  mask_t exist[AlongLanes ? vectors : row_size / W];
  alignas(64) T taps[H::taps * X::taps * L];

  template <class S, class F, class D, class Act>
  void run(const grid<F> &filter, const grid<S> &window, const grid<D> &c, const Act &act) {
    hold(filter);
    see(window);
    constexpr int panels = (H::out + R - 1) / R, tall = H::out - panels * (R - 1); // of R rows, the others have one less
    int next = 0;
    for (int i = 0, row = 0; i < panels && row < c.end[0]; ++i) {
      const int some = i < tall ? R : R - 1, low = row * H::stride;
      const int end = low + (some - 1) * H::stride + (H::taps - 1) * H::dilation + 1;
      for (next = next < low ? low : next; next < end; ++next) fetch(window, next);
      if (some == R)
        sum_rows<R>(row, c, act);
      else if constexpr (tall < panels)
        sum_rows<R - 1>(row, c, act);
      row += some;
    }
  }

private:
  T *ring_row(int row) { return ring + row % ring_rows * row_size; }
  static constexpr int tap(int x) {
    const int column = x * X::dilation;
    return AlongLanes ? column * L : column % X::stride * apart + column / X::stride;
  }

  template <class F> void hold(const grid<F> &filter) {
    T *to = taps;
    for (int y = 0; y < H::taps; ++y)
      for (int x = 0; x < X::taps; ++x)
        for (int v = 0; v < vectors; ++v, to += W) {
          F *p = filter.at(y, x, v * W);
          const mask_t lanes = some_lanes<W>(0, filter.end[2] - v * W);
          store<T>(to, AlongLanes ? load_apart<T>(p, filter.step[2], lanes) : splat(T(widen(*p))));
        }
  }

  // Which lanes of each vector of a row, or of each vector of lanes, exist: the same in all rows.
  template <class S> void see(const grid<S> &window) {
    if constexpr (AlongLanes) {
      for (int v = 0; v < vectors; ++v) exist[v] = some_lanes<W>(0, window.end[2] - v * W);
    } else {
      for (int rest = 0, v = 0; rest < X::stride; ++rest)
        for (int i = 0; i < apart; i += W, ++v) {
          const int column = i * X::stride + rest; // of lane 0, lane j is j * stride further
          const int first = window.begin[1] - column + X::stride - 1, end = window.end[1] - column + X::stride - 1;
          exist[v] = some_lanes<W>(first < 0 ? 0 : first / X::stride, end < 0 ? 0 : end / X::stride);
        }
    }
  }

  template <class S> void fetch(const grid<S> &window, int row) {
    T *to = ring_row(row);
    if (!window.has(0, row)) {
      for (int i = 0; i < row_size; i += W) store<T>(to + i, vec<T>{});
    } else if (window.step[AlongLanes ? 2 : 1] == 1) {
      fetch_by<AlongLanes ? 1 : X::stride>(window, row, to, AlongLanes ? 1 : X::stride);
    } else {
      fetch_by<0>(window, row, to, AlongLanes ? window.step[2] : X::stride * window.step[1]);
    }
  }

  // Step: of the elements of a vector, where that is known.
  template <int Step, class S>
  __attribute__((always_inline)) void fetch_by(const grid<S> &window, int row, T *to, int64_t step_) {
    const int64_t by = Step ? Step : step_;
    if constexpr (AlongLanes) {
      const int begin = window.begin[1] > 0 ? window.begin[1] : 0;
      const int end = window.end[1] < X::extent ? window.end[1] : X::extent;
      for (T *const first = to + int64_t(begin < end ? begin : X::extent) * L; to < first; to += W) store<T>(to, vec<T>{});
      for (int column = begin; column < end; ++column)
        for (int v = 0; v < vectors; ++v, to += W) store<T>(to, load_apart<T>(window.at(row, column, v * W), by, exist[v]));
      for (T *const last = ring_row(row) + row_size; to < last; to += W) store<T>(to, vec<T>{});
    } else {
      for (int rest = 0, v = 0; rest < X::stride; ++rest)
        for (int i = 0; i < apart; i += W, ++v, to += W)
          store<T>(to, load_apart<T>(window.at(row, i * X::stride + rest, 0), by, exist[v]));
    }
  }

  template <int Rows, class D, class Act> void sum_rows(int row, const grid<D> &c, const Act &act) {
    constexpr int whole = along / P * P, rest = along - whole;
    for (int v = 0; v < vectors; ++v) {
      for (int p = 0; p < whole; p += P) sum<Rows, P>(row, p, v, c, act);
      if constexpr (rest > 0) sum<Rows, rest>(row, whole, v, c, act);
    }
  }

  template <int Rows, int Count, class D, class Act>
  __attribute__((always_inline)) void sum(int row, int first, int v, const grid<D> &c, const Act &act) {
    vec<T> sums[Rows][Count] = {};
    const int low = row * H::stride, from = first * step + v * W;
    if constexpr (is_shared_along) {
#pragma GCC unroll 64
      for (int y = 0; y < H::taps; ++y) share(sums[0], ring_row(low + y * H::dilation) + from, v, y);
    } else if constexpr (is_written_out) {
#pragma GCC unroll 64
      for (int i = 0; i < (Rows - 1) * H::stride + (H::taps - 1) * H::dilation + 1; ++i)
        meet(sums, ring_row(low + i) + from, v, [&](int r) IMBREX_INLINED {
          const int above = i - r * H::stride;
          return above >= 0 && above % H::dilation == 0 && above / H::dilation < H::taps ? above / H::dilation : -1;
        });
    } else {
      static_assert(Rows == 1);
      for (int y = 0; y < H::taps; ++y)
        meet(sums, ring_row(low + y * H::dilation) + from, v, [&](int) IMBREX_INLINED { return y; });
    }
#pragma GCC unroll 32
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 32
      for (int p = 0; p < Count; ++p) put(row + r, first + p, v, sums[r][p], c, act);
  }

  // A row of the window, along lanes, against one row of sums: each element is loaded once, for all sums that it belongs
  // to, and the row's taps stay in registers.
  template <int Count> __attribute__((always_inline)) void share(vec<T> (&sums)[Count], const T *at, int v, int y) {
    vec<T> factor[X::taps];
#pragma GCC unroll 64
    for (int x = 0; x < X::taps; ++x) factor[x] = load<T>(taps + ((y * X::taps + x) * vectors + v) * W);
#pragma GCC unroll 128
    for (int i = 0; i < (Count - 1) * X::stride + (X::taps - 1) * X::dilation + 1; ++i) {
      const vec<T> element = load<T>(at + i * L);
#pragma GCC unroll 64
      for (int x = 0; x < X::taps; ++x) {
        const int from = i - x * X::dilation, p = from / X::stride;
        if (from >= 0 && from % X::stride == 0 && p < Count) {
          sums[p] = element * factor[x] + sums[p];
          IMBREX_PIN(sums[p]);
        }
      }
    }
  }

  // A row of the window against all rows of sums, r of which meets it at row of_row(r) of the taps, or not: -1.  Sums stay
  // in their registers: a compiler that is free to, sums one after another and spills what they share.
  template <int Rows, int Count, class Of>
  __attribute__((always_inline)) void meet(vec<T> (&sums)[Rows][Count], const T *at, int v, Of of_row) {
#pragma GCC unroll 64
    for (int x = 0; x < X::taps; ++x) {
      vec<T> factor[Rows];
#pragma GCC unroll 32
      for (int r = 0; r < Rows; ++r)
        if (of_row(r) >= 0) factor[r] = load<T>(taps + ((of_row(r) * X::taps + x) * vectors + v) * W);
#pragma GCC unroll 32
      for (int p = 0; p < Count; ++p) {
        const vec<T> element = load<T>(at + tap(x) + p * step);
#pragma GCC unroll 32
        for (int r = 0; r < Rows; ++r)
          if (of_row(r) >= 0) {
            sums[r][p] = element * factor[r] + sums[r][p];
            IMBREX_PIN(sums[r][p]);
          }
      }
    }
  }

  template <class D, class Act>
  IMBREX_INLINE void put(int row, int p, int v, vec<T> x, const grid<D> &c, const Act &act) {
    if constexpr (AlongLanes) {
      if (row >= c.end[0] || p >= c.end[1]) return;
      const mask_t lanes = some_lanes<W>(0, c.end[2] - v * W);
      stored(c.at(row, p, v * W), c.step[2], x, v, row * X::out + p, lanes, act);
    } else if (row < c.end[0]) {
      stored(c.at(row, p * W, 0), c.step[1], x, p, row, some_lanes<W>(0, c.end[1] - p * W), act);
    }
  }

  template <class D>
  IMBREX_INLINE void stored(D *p, int64_t step, vec<T> x, int, int, mask_t lanes, scaling<T> by) {
    store_apart<T>(p, step, times(by.alpha, x), lanes);
  }
  template <class D, class Finish>
  IMBREX_INLINE void stored(D *p, int64_t step, vec<T> x, int index, int row, mask_t lanes, const finishing<T, Finish> &by) {
    const auto made = by.finish(times(by.alpha, x), index, row, lanes);
    store_apart<lane_type<decltype(by.finish(x, 0, 0, 0))>>(p, step, made, lanes);
  }
};
} // namespace imbrex
