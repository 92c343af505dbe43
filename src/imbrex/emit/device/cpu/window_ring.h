// The ring of a workgroup's windows: their rows on the way from memory, as window_sizes.h says that they lie.
#pragma once
#include "store.h"
#include "window_taps.h"

namespace imbrex {

template <class Sizes> struct window_ring : window_taps<Sizes> {
  typedef typename Sizes::T T;
  typedef typename Sizes::H H;
  typedef typename Sizes::X X;
  using Sizes::AlongLanes, Sizes::Planes, Sizes::Depth, Sizes::Shared, Sizes::W, Sizes::is_one_group,
    Sizes::is_several, Sizes::read_lanes, Sizes::is_whole, Sizes::is_turned, Sizes::vectors, Sizes::L,
    Sizes::along, Sizes::apart, Sizes::fetched, Sizes::deep, Sizes::column_size, Sizes::step, Sizes::row_size,
    Sizes::ring_rows;

  alignas(64) T ring[Sizes::has_no_ring ? W : ring_rows * row_size];
  mask_t exist[AlongLanes ? vectors : deep / W];
  mask_t exist_both[AlongLanes ? 1 : fetched / W]; // of two remainders, as they lie

  T *ring_row(int row) { return ring + row % ring_rows * row_size; }

  // Which lanes of each vector of a row, or of each vector of lanes, exist: the same in all rows.
  template <class S> void see(const grid<S> &window) {
    if constexpr (AlongLanes) {
      // Of several in a group, as many as neighbouring groups have channels that are read.
      for (int v = 0; v < vectors; ++v) {
        const int lanes = window.end[2] - v * W;
        exist[v] = some_lanes<W>(0, is_several ? (lanes < W ? lanes : W) / Shared * Depth : lanes);
      }
    } else {
      for (int rest = 0; rest < X::stride; ++rest)
        for (int i = 0; i < fetched; i += W) {
          const int column = i * X::stride + rest; // of lane 0, lane j is j * stride further
          const int first = window.begin[1] - column + X::stride - 1, end = window.end[1] - column + X::stride - 1;
          exist[(rest * apart + i) / W] = some_lanes<W>(first < 0 ? 0 : first / X::stride, end < 0 ? 0 : end / X::stride);
        }
      if constexpr (X::stride == 2)
        for (int v = 0; v < fetched / W; ++v) exist_both[v] = spread(exist[v]) | spread(exist[apart / W + v]) << 1;
    }
  }

  template <class S> void fetch(const grid<S> &window, int row) {
    T *to = ring_row(row);
    if (!window.has(0, row)) {
      for (int i = 0; i < row_size; i += W) store<T>(to + i, vec<T>{});
    } else if constexpr (is_one_group || is_several) {
      fetch_groups(window, row, to);
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
      if constexpr (Planes) {
        for (int v = 0; v < vectors; ++v)
          turn_columns(window.at(row, 0, v * W), window.step[2], W, window.end[2] - v * W, begin, end, ring_row(row) + v * W);
        to += begin < end ? int64_t(end - begin) * L : 0;
      } else if (Step == 1 && L <= window.end[2]) {
        const S *p = window.at(row, begin, 0);
        for (int column = begin; column < end; ++column, p += window.step[1])
#pragma GCC unroll 4
          for (int v = 0; v < vectors; ++v, to += W) store<T>(to, load<T>(p + v * W));
      } else {
        for (int column = begin; column < end; ++column)
          for (int v = 0; v < vectors; ++v, to += W) store<T>(to, load_apart<T>(window.at(row, column, v * W), by, exist[v]));
      }
      for (T *const last = ring_row(row) + row_size; to < last; to += W) store<T>(to, vec<T>{});
    } else if constexpr (Step == 2) {
      for (int d = 0; d < Depth; ++d, to += deep)
        for (int i = 0; i < fetched; i += W) {
          const S *const p = window.at(row, 2 * i, 0) + d * window.step[3];
          const mask_t both = exist_both[i / W];
          const vec<T> low = load<T>(p, both & all_lanes<T>), high = load<T>(p + W, both >> W);
          store<T>(to + i, even_lanes<T>(low, high));
          store<T>(to + apart + i, odd_lanes<T>(low, high));
        }
    } else {
      for (int d = 0; d < Depth; ++d)
        for (int rest = 0; rest < X::stride; ++rest, to += apart)
          for (int i = 0; i < fetched; i += W)
            store<T>(to + i, load_apart<T>(window.at(row, i * X::stride + rest, 0) + d * window.step[3], by, exist[(rest * apart + i) / W]));
    }
  }

  // A row along lanes, of groups of several channels, or of lanes that all read the same ones.
  template <class S> void fetch_groups(const grid<S> &window, int row, T *to) {
    const int begin = window.begin[1] > 0 ? window.begin[1] : 0;
    const int end = window.end[1] < X::extent ? window.end[1] : X::extent;
    for (int i = 0; i < (begin < end ? begin : X::extent) * column_size; ++i) to[i] = T(0);
    if constexpr (Planes && is_turned)
      if (window.step[2] == Depth * window.step[3]) {
        for (int v = 0; v < vectors; ++v) {
          const int some = (window.end[2] - v * W) / Shared * Depth;
          turn_columns(window.at(row, 0, 0) + v * read_lanes * window.step[3], window.step[3], read_lanes, some, begin, end, to + v * W);
        }
        for (int i = (begin < end ? end : X::extent) * column_size; i < row_size; ++i) to[i] = T(0);
        return;
      }
    if constexpr (Planes && is_one_group) {
      for (int d = 0; d < Depth; d += W)
        turn_columns(window.at(row, 0, 0) + d * window.step[3], window.step[3], W, Depth - d, begin, end, to + d);
      for (int i = (begin < end ? end : X::extent) * column_size; i < row_size; ++i) to[i] = T(0);
      return;
    }
    for (int column = begin; column < end; ++column) {
      if constexpr (is_one_group)
        fetch_channels(window.at(row, column, 0), window.step[3], to + column * column_size);
      else
        fetch_several(window.at(row, column, 0), window.step, window.end[2], to + column * column_size);
    }
    for (int i = (begin < end ? end : X::extent) * column_size; i < row_size; ++i) to[i] = T(0);
  }

  // to[column * column_size + j] = p[j * apart + column], j of `count` channels, of which `some` exist, W columns at a time.
  template <class S>
  static void turn_columns(const S *p, int64_t apart_, int count, int some, int begin, int end, T *to) {
    if (some > count) some = count;
    for (int first = begin; first < end; first += W) {
      const mask_t columns = some_lanes<W>(0, end - first);
      vec<T> rows[W];
#pragma GCC unroll 16
      for (int j = 0; j < W; ++j) rows[j] = load<T>(p + (j < some ? j : 0) * apart_ + first, j < some ? columns : mask_t(0));
      transpose<T>(rows);
#pragma GCC unroll 16
      for (int j = 0; j < W; ++j)
        if (first + j < end) {
          if (!is_one_group || some >= W)
            store<T>(to + (first + j) * column_size, rows[j]);
          else
            store<T>(to + (first + j) * column_size, rows[j], first_lanes(some)); // the next column follows
        }
    }
  }

  template <class S> static void fetch_channels(const S *p, int64_t apart_, T *to) {
    for (int d = 0; d < Depth; d += W)
      if (const mask_t some = some_lanes<W>(0, Depth - d); some == all_lanes<T>)
        store<T>(to + d, load_apart<T>(p + d * apart_, apart_, some));
      else
        store<T>(to + d, load_apart<T>(p + d * apart_, apart_, some), some);
  }

  // to[lane / Shared * Depth + d], or to[d][lane] = p[lane / Shared][d]: neighbours are turned in a register.
  template <class S> void fetch_several(const S *p, const int64_t (&apart_)[5], int count, T *to) const {
    if (is_whole && apart_[3] == 1 && apart_[2] == Depth) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        const vec<T> x = load_apart<T>(p + v * read_lanes, 1, exist[v]);
        if constexpr (is_turned) {
          store<T>(to + v * W, x);
          continue;
        }
#pragma GCC unroll 64
        for (int d = 0; d < Depth; ++d) {
          vec<T> turned{};
#pragma GCC unroll 64
          for (int j = 0; j < W; ++j) turned[j] = x[j / Shared * Depth + d];
          store<T>(to + d * L + v * W, turned);
        }
      }
      return;
    }
    for (int d = 0; d < Depth; ++d)
      for (int j = 0; j < L; ++j) {
        T *const at = to + (is_turned ? j / W * W + j % W / Shared * Depth + d : d * L + j);
        *at = j < count ? T(widen(p[j / Shared * apart_[2] + d * apart_[3]])) : T(0);
      }
  }
};
} // namespace imbrex
