// A convolution of groups of few channels, of a workgroup: rows of windows are fetched into a ring as sums need them, and
// tap by tap meet sums that stay in registers.  See window_sizes.h.  Channels that come last, one a group, are read where they
// lie instead, unless columns crowd into few sets of the nearest cache.
#pragma once
#include "micro.h"
#include "transpose.h"
#include "window_ring.h"

namespace imbrex {

template <class A> const A &value_of(); // in types only

template <class T, bool AlongLanes, int Lanes, class H, class X, int Depth = 1, int Shared = 1, bool Planes = false,
          bool InPlace = false>
struct windows : window_ring<window_sizes<T, AlongLanes, Lanes, H, X, Depth, Shared, Planes, InPlace>> {
  typedef window_sizes<T, AlongLanes, Lanes, H, X, Depth, Shared, Planes, InPlace> Sizes;
  using Sizes::W, Sizes::registers, Sizes::is_one_group, Sizes::is_turned, Sizes::vectors, Sizes::L, Sizes::along,
    Sizes::F, Sizes::blocks, Sizes::is_side_by_side, Sizes::side, Sizes::P, Sizes::is_written_out, Sizes::R,
    Sizes::is_shared_along, Sizes::apart, Sizes::fetched, Sizes::deep, Sizes::column_size, Sizes::step,
    Sizes::row_size, Sizes::ring_rows, Sizes::row_unit, Sizes::is_row_by_row, Sizes::place;

  alignas(64) T row_sums[Planes ? round_up(along, W) * W : 1]; // [column][lane]

  template <class S, class F, class D, class Act>
  void run(const grid<F> &filter, const grid<S> &window, const grid<D> &c, const Act &act) {
    if constexpr (is_side_by_side)
      this->hold_side_by_side(filter);
    else
      this->hold(filter);
    if constexpr (Sizes::has_no_ring) return sum_in_place(window, c, act);
    if constexpr (is_in_place<S>)
      if (window.step[2] == 1 && L <= window.end[2] && stays_near<T>(window.step[1], H::taps, X::extent, X::taps))
        return sum_in_place(window, c, act);
    this->see(window);
    if constexpr (!AlongLanes && fetched < apart) // which no sum that is kept meets
      for (int i = fetched; i < ring_rows * row_size; i += apart)
        for (int j = 0; j < apart - fetched; j += W) store<T>(this->ring + i + j, vec<T>{});
    // Panels of R rows, others have a unit less.
    constexpr int U = row_unit, units = (H::out + U - 1) / U, panels = (units + R / U - 1) / (R / U), tall = units - panels * (R / U - 1);
    int next = 0;
    for (int i = 0, row = 0; i < panels && row < c.end[0]; ++i) {
      const int some = i < tall ? R : R - U, low = H::first(row), end = H::end(row + some - 1);
      for (next = next < low ? low : next; next < end; ++next) this->fetch(window, next);
      if (some == R)
        sum_rows<R>(row, c, act);
      else if constexpr (tall < panels)
        sum_rows<R - U>(row, c, act);
      row += some;
    }
  }

private:
  // Neighbouring lanes of a type that is summed as it is may be read where they lie: no ring.
  template <class S> static constexpr bool is_in_place = is_shared_along && !Planes && Depth * Shared == 1 && is_same<S, const T>;

  template <class S, class D, class Act> void sum_in_place(const grid<S> &window, const grid<D> &c, const Act &act) {
    constexpr int whole = along / P * P, rest = along - whole;
    for (int row = 0; row < H::out && row < c.end[0]; ++row) {
      for (int p = 0; p < whole; p += P)
        for (int v = 0; v < vectors; ++v) sum_tile_in_place<P>(row, p, v, window, c, act);
      if constexpr (rest > 0)
        for (int v = 0; v < vectors; ++v) sum_tile_in_place<rest>(row, whole, v, window, c, act);
    }
  }
  template <int Count, class S, class D, class Act>
  void sum_tile_in_place(int row, int first, int v, const grid<S> &window, const grid<D> &c, const Act &act) {
    constexpr int extent = X::extent_of(Count);
    const int at = first * X::stride / X::up, low = window.begin[1] - at, high = window.end[1] - at;
    if (low <= 0 && extent <= high)
      sum_in_place<Count, false>(row, first, v, low, high, window, c, act);
    else
      sum_in_place<Count, true>(row, first, v, low, high, window, c, act);
  }
  // IsEdge: columns before `low` and from `high` on do not exist.
  template <int Count, bool IsEdge, class S, class D, class Act>
  __attribute__((noinline)) void sum_in_place(int row, int first, int v, int low, int high, const grid<S> &window, const grid<D> &c,
                                              const Act &act) {
    vec<T> sums[1][Count] = {};
    for (int y = 0; y < H::taps; ++y) {
      const int at = H::met(row, y);
      if (!H::meets(row, y) || !window.has(0, at)) continue;
      share_columns<IsEdge>(sums[0], window.at(at, first * X::stride / X::up, v * W), window.step[1], low, high, lane_bits{}, v, y);
    }
    put_all<1, Count>(row, first, v, [&](int, int p) IMBREX_INLINED { return sums[0][p]; }, c, act);
  }

  static vec<T> element(const T *at, lane_bits lanes) {
    if constexpr (is_one_group) return splat(*at);
    if constexpr (is_turned) return turned(load<T>(at), lanes);
    return load<T>(at);
  }
  // The lanes that channel d of each group lies in, of those that a vector's groups have.
  static lane_bits lanes_of_channel(int d) {
    lane_bits at{};
    if constexpr (is_turned)
#pragma GCC unroll 64
      for (int j = 0; j < W; ++j) at[j] = j / Shared * Depth;
    return at + d;
  }

  template <int Rows, class D, class Act> void sum_rows(int row, const grid<D> &c, const Act &act) {
    constexpr int whole = along / P * P, rest = along - whole;
    if constexpr (is_side_by_side) {
      for (int block = 0; block < blocks; ++block) {
        for (int p = 0; p < whole; p += P) sum_side_by_side<Rows, P>(row, p, block, c, act);
        if constexpr (rest > 0) sum_side_by_side<Rows, rest>(row, whole, block, c, act);
      }
    } else {
      for (int v = 0; v < vectors; ++v) {
        for (int p = 0; p < whole; p += P) sum<Rows, P>(row, p, v, c, act);
        if constexpr (rest > 0) sum<Rows, rest>(row, whole, v, c, act);
        if constexpr (Planes) put_row<made_of<Act>>(row, v, c);
      }
    }
  }

  // What a row of sums of W lanes became: W columns are turned at a time.
  template <class M, class D> void put_row(int row, int v, const grid<D> &c) {
    if (row >= c.end[0]) return;
    const M *const from = (const M *)row_sums;
    for (int first = 0; first < along; first += W) {
      const mask_t columns = some_lanes<W>(0, c.end[1] - first);
      vec<M> rows[W];
#pragma GCC unroll 16
      for (int j = 0; j < W; ++j) rows[j] = load<M>(from + (first + j) * W);
      transpose<M>(rows);
#pragma GCC unroll 16
      for (int j = 0; j < W; ++j)
        if (v * W + j < c.end[2]) store<M>(c.at(row, first, v * W + j), rows[j], columns);
    }
  }

  // F lanes of some rows and vectors of columns: a vector of the window is loaded once for all lanes, a tap once for all
  // vectors.
  template <int Rows, int Count, class D, class Act>
  __attribute__((always_inline)) void sum_side_by_side(int row, int first, int block, const grid<D> &c, const Act &act) {
    vec<T> sums[Rows][Count][F] = {};
    const int low = H::first(row);
    constexpr int window_rows = H::up == 1 ? H::extent_of(Rows) : ring_rows;
    const T *at[window_rows];
    for (int i = 0; i < window_rows; ++i) at[i] = this->ring_row(low + i) + first / X::up * step;
    const T *factor = this->taps + block * F / side * side * (Depth * H::taps * X::taps) + block * F % side;
    for (int d = 0; d < Depth; ++d)
      for (int y = 0; y < H::taps; ++y, factor += X::taps * side) {
        if (!H::meets(row, y)) continue; // of one row, where there are phases
        const int above = H::up == 1 ? y * H::dilation : H::met(row, y) - low;
#pragma GCC unroll 64
        for (int x = 0; x < X::taps; ++x) {
          vec<T> met[Rows][Count];
#pragma GCC unroll 32
          for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 32
            for (int p = 0; p < Count; ++p)
              if (place(p, x) >= 0) met[r][p] = load<T>(at[r * H::stride + above] + d * deep + place(p, x));
#pragma GCC unroll 8
          for (int f = 0; f < F; ++f) {
            const vec<T> factor_f = splat(factor[x * side + f]);
#pragma GCC unroll 32
            for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 32
              for (int p = 0; p < Count; ++p)
                if (place(p, x) >= 0) {
                  sums[r][p][f] = met[r][p] * factor_f + sums[r][p][f];
                  IMBREX_PIN(sums[r][p][f]);
                }
          }
        }
      }
#pragma GCC unroll 8
    for (int f = 0; f < F; ++f)
      if (block * F + f < Lanes)
        put_phases<Rows, Count>(row, first, block * F + f, [&](int r, int p) IMBREX_INLINED { return sums[r][p][f]; }, c, act);
  }

  template <int Rows, int Count, class D, class Act>
  __attribute__((always_inline)) void sum(int row, int first, int v, const grid<D> &c, const Act &act) {
    vec<T> sums[Rows][Count] = {};
    const int low = H::first(row);
    for (int d = 0; d < Depth; ++d) {
      const int from = first / X::up * step + (is_one_group ? 0 : v * W) + (is_turned ? 0 : d * deep), tap = d * vectors + v;
      const lane_bits lanes = lanes_of_channel(d);
      if constexpr (is_shared_along) {
#pragma GCC unroll 64
        for (int y = 0; y < H::taps; ++y)
          if (H::meets(row, y)) share(sums[0], this->ring_row(H::met(row, y)) + from, lanes, tap, y);
      } else if constexpr (is_written_out && !(is_row_by_row && H::up > 1)) {
#pragma GCC unroll 64
        for (int i = 0; i < H::extent_of(Rows); ++i)
          meet(sums, this->ring_row(low + i) + from, lanes, tap, [&](int r) IMBREX_INLINED { return H::tap(r, i); });
      } else {
        static_assert(Rows == 1);
        for (int y = 0; y < H::taps; ++y)
          if (H::meets(row, y)) meet(sums, this->ring_row(H::met(row, y)) + from, lanes, tap, [&](int) IMBREX_INLINED { return y; });
      }
    }
    put_phases<Rows, Count>(row, first, v, [&](int r, int p) IMBREX_INLINED { return sums[r][p]; }, c, act);
  }

  // The same as put_all, of vectors of columns each of which has one phase: these take turns.
  template <int Rows, int Count, class Sum, class D, class Act>
  __attribute__((always_inline)) void put_phases(int row, int first, int v, const Sum &sum, const grid<D> &c, const Act &act) {
    if constexpr (AlongLanes || X::up == 1) {
      put_all<Rows, Count>(row, first, v, sum, c, act);
    } else {
      vec<T> turns[Rows][Count / X::up][X::up];
#pragma GCC unroll 32
      for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 32
        for (int i = 0; i < Count / X::up; ++i) {
#pragma GCC unroll 16
          for (int phase = 0; phase < X::up; ++phase) turns[r][i][phase] = sum(r, i * X::up + phase);
          interleave<T>(turns[r][i]);
        }
      put_all<Rows, Count>(row, first, v, [&](int r, int p) IMBREX_INLINED { return turns[r][p / X::up][p % X::up]; }, c, act);
    }
  }

  // sum(r, p) of some rows and columns of vector v of lanes, or vectors of columns of lane v.  Where all but the last vector
  // of columns exist, and are neighbours, nothing is asked of each.
  template <int Rows, int Count, class Sum, class D, class Act>
  __attribute__((always_inline)) void put_all(int row, int first, int v, const Sum &sum, const grid<D> &c, const Act &act) {
    constexpr int whole = AlongLanes ? Count : Count - 1;
    const int left = AlongLanes ? c.end[2] - v * W : c.end[1] - (first + whole) * W;
    const mask_t last = some_lanes<W>(0, left);
    if constexpr (Planes) {
#pragma GCC unroll 32
      for (int i = 0; i < Count; ++i)
        if (row < c.end[0] && first + i < c.end[1])
          store<made_of<Act>>((made_of<Act> *)row_sums + (first + i) * W, made(sum(0, i), v, row * X::out + first + i, last, act));
    } else if (row + Rows <= c.end[0] && c.step[AlongLanes ? 2 : 1] == 1 &&
               (AlongLanes ? first + Count <= c.end[1] && left >= W : left >= 0)) {
      const int lane = AlongLanes ? v * W : is_side_by_side ? v : 0, column = AlongLanes ? first : first * W;
      const int64_t step = AlongLanes ? c.step[1] : W;
#pragma GCC unroll 32
      for (int r = 0; r < Rows; ++r) {
        D *p = c.at(row + r, column, lane);
#pragma GCC unroll 32
        for (int i = 0; i < Count; ++i, p += step)
          if (const int at = AlongLanes ? (row + r) * X::out + first + i : lane * H::out + row + r; i < whole)
            store<made_of<Act>>(p, made(sum(r, i), AlongLanes ? v : first + i, at, all_lanes<T>, act));
          else
            store<made_of<Act>>(p, made(sum(r, i), first + i, at, last, act), last);
      }
    } else {
      alignas(64) T held[Rows * Count * W];
#pragma GCC unroll 32
      for (int i = 0; i < Rows * Count; ++i) store<T>(held + i * W, sum(i / Count, i % Count));
      put_some<Rows, Count>(row, first, v, held, c, act);
    }
  }
  template <int Rows, int Count, class D, class Act>
  __attribute__((noinline)) void put_some(int row, int first, int v, const T *sums, const grid<D> &c, const Act &act) {
    for (int i = 0; i < Rows * Count; ++i) put(row + i / Count, first + i % Count, v, load<T>(sums + i * W), c, act);
  }

  // A row of the window, along lanes, against one row of sums: each element is loaded once, for all sums that it belongs
  // to, and the row's taps stay in registers.
  template <int Count> __attribute__((always_inline)) void share(vec<T> (&sums)[Count], const T *at, lane_bits lanes, int v, int y) {
    share_columns<false>(sums, at, column_size, 0, 0, lanes, v, y);
  }
  template <bool IsEdge, int Count>
  __attribute__((always_inline)) void share_columns(vec<T> (&sums)[Count], const T *at, int64_t column_step, int low, int high,
                                                    lane_bits lanes, int v, int y) {
    vec<T> factor[X::taps];
#pragma GCC unroll 64
    for (int x = 0; x < X::taps; ++x) factor[x] = load<T>(this->taps + ((y * X::taps + x) * Depth * vectors + v) * W);
#pragma GCC unroll 128
    for (int i = 0; i < X::extent_of(Count); ++i) {
      if (IsEdge && (i < low || i >= high)) continue;
      const vec<T> x_i = element(at + i * column_step, lanes);
#pragma GCC unroll 64
      for (int x = 0; x < X::taps; ++x) {
        const int from = i * X::up - x * X::dilation - X::shift, p = from / X::stride;
        if (from >= 0 && from % X::stride == 0 && p < Count) {
          sums[p] = x_i * factor[x] + sums[p];
          IMBREX_PIN(sums[p]);
        }
      }
    }
  }

  // A row of the window against all rows of sums, r of which meets it at row of_row(r) of the taps, or not: -1.  Sums stay
  // in their registers: a compiler that is free to, sums one after another and spills what they share.
  template <int Rows, int Count, class Of>
  __attribute__((always_inline)) void meet(vec<T> (&sums)[Rows][Count], const T *at, lane_bits lanes, int v, Of of_row) {
#pragma GCC unroll 64
    for (int x = 0; x < X::taps; ++x) {
      vec<T> factor[Rows];
#pragma GCC unroll 32
      for (int r = 0; r < Rows; ++r)
        if (of_row(r) >= 0) factor[r] = load<T>(this->taps + ((of_row(r) * X::taps + x) * Depth * vectors + v) * W);
#pragma GCC unroll 32
      for (int p = 0; p < Count; ++p) {
        if (place(p, x) < 0) continue;
        const vec<T> x_p = element(at + place(p, x), lanes);
#pragma GCC unroll 32
        for (int r = 0; r < Rows; ++r)
          if (of_row(r) >= 0) {
            sums[r][p] = x_p * factor[r] + sums[r][p];
            IMBREX_PIN(sums[r][p]);
          }
      }
    }
  }

  template <class D, class Act>
  __attribute__((always_inline)) void put(int row, int p, int v, vec<T> x, const grid<D> &c, const Act &act) {
    if constexpr (AlongLanes) {
      if (row >= c.end[0] || p >= c.end[1]) return;
      stored(c.at(row, p, v * W), c.step[2], x, v, row * X::out + p, some_lanes<W>(0, c.end[2] - v * W), act);
    } else if (row < c.end[0]) {
      const int lane = is_side_by_side ? v : 0;
      stored(c.at(row, p * W, lane), c.step[1], x, p, lane * H::out + row, some_lanes<W>(0, c.end[1] - p * W), act);
    }
  }

  // Sums of windows have no factor.
  IMBREX_INLINE vec<T> made(vec<T> x, int, int, mask_t, const scaling<T> &) { return x; }
  template <class Finish> IMBREX_INLINE auto made(vec<T> x, int index, int row, mask_t lanes, const finishing<T, Finish> &by) {
    return by.finish(x, index, row, lanes);
  }
  // The lanes of what becomes of sums.
  template <class Act> using made_of = lane_type<decltype(made(vec<T>{}, 0, 0, 0, value_of<Act>()))>;

  template <class D, class Act>
  IMBREX_INLINE void stored(D *p, int64_t step, vec<T> x, int index, int row, mask_t lanes, const Act &act) {
    store_apart<made_of<Act>>(p, step, made(x, index, row, lanes, act), lanes);
  }
};
} // namespace imbrex
