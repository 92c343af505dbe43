// A convolution of groups of few channels: for each row, column and lane of the sums
//   c[row][column][lane] = sum over y, x and d of
//                          filter[y][x][d][lane] * window[row * SH + y * DH][column * SW + x * DW][d][lane / Shared].
// A lane is a channel that is written, d counts the channels of its group that are read, and `Shared` neighbouring lanes
// are of one group.  Depthwise, both are 1.
//
// Vectors run along lanes, channels that come last, or along columns, of one lane or of several that read the same: then
// F of them are summed side by side, by what is loaded once for all.  The rows of the window that some rows of sums need
// stand in a ring, widened to the type of the sums, with zeros for what does not exist; along columns a stride's columns
// stand apart, those of one remainder together, so that what a tap multiplies are always neighbours:
//   along lanes                  ring[row][column][lane], of groups of several channels turned for each d when it is read
//   or, where nothing turns it   ring[row][column][d][lane], a channel once for each lane that reads it
//   where all are of one group   ring[row][column][d]
//   along columns                ring[row][d][column % SW][column / SW]
// Either way a tap of a vector is one load at a distance that is known when this is compiled.
#pragma once
#include "extent.h"
#include "grid.h"
#include "micro.h"
#include "store.h"
#include "transpose.h"

namespace imbrex {

// An axis of windows: `out` of them, `stride` apart, with taps `dilation` apart.
template <int Out, int Taps, int Stride, int Dilation> struct slide {
  static constexpr int out = Out, taps = Taps, stride = Stride, dilation = Dilation;
  static constexpr int extent = (Out - 1) * Stride + (Taps - 1) * Dilation + 1;
};

template <class T, bool AlongLanes, int Lanes, class H, class X, int Depth = 1, int Shared = 1> struct windows {
  static_assert(AlongLanes || Shared == Lanes, "lanes of several groups read different columns");
  static_assert(Shared == Lanes || Lanes % Shared == 0, "a group would be cut");
  static constexpr int W = width<T>, registers = vector_bytes == 32 ? 10 : 24;
  static constexpr bool is_one_group = AlongLanes && Shared == Lanes;
  static constexpr bool is_several = AlongLanes && !is_one_group && Depth * Shared > 1; // groups in a vector
  static constexpr int read_lanes = W / Shared * Depth;                                 // of one vector
  static constexpr bool is_whole = W % Shared == 0 && read_lanes <= W;                  // all out of one
  static constexpr bool is_turned = is_several && is_whole && turns_lanes<T>, is_spread = is_several && !is_turned;
  static constexpr int vectors = (Lanes + W - 1) / W, L = vectors * W;       // of lanes
  static constexpr int along = AlongLanes ? X::out : (X::out + W - 1) / W;   // vectors of a row of sums
  static constexpr int F = AlongLanes ? 1 : balanced(Lanes, vector_bytes == 32 ? 4 : 8); // lanes that columns meet at a time
  static constexpr int blocks = (Lanes + F - 1) / F; // of F lanes
  static constexpr bool is_side_by_side = !AlongLanes && Lanes > 1;
  static constexpr int side = is_side_by_side ? F * at_most(W > F ? W / F : 1, blocks) : L; // lanes whose taps lie together
  static constexpr int P = balanced(along, AlongLanes ? registers / 2 + 2 : at_most(registers / F, 4)); // of these at a time
  static constexpr bool is_written_out = H::taps * X::taps <= 64;
  static constexpr int by_code = 640 / (P * H::taps * X::taps); // rows of which the code stays short
  static constexpr int most_rows = registers / P < by_code ? registers / P : by_code;
  static constexpr int rows_at_once = is_side_by_side ? registers / (P * F) : AlongLanes || !is_written_out ? 1 : most_rows;
  static constexpr int R = rows_at_once < 2 ? 1 : balanced(H::out, rows_at_once);
  static constexpr bool is_shared_along = AlongLanes && is_written_out && P + X::taps < (vector_bytes == 32 ? 15 : 30);
  static constexpr int apart = round_up(along * W + (X::taps - 1) * X::dilation / X::stride, W); // of one remainder
  static constexpr int fetched = round_up((X::extent + X::stride - 1) / X::stride, W); // of these, that some sum meets
  static constexpr int deep = is_one_group ? 1 : AlongLanes ? L : X::stride * apart;             // from d to the next
  static constexpr int column_size = is_turned ? L : Depth * deep;                               // along lanes
  static constexpr int step = AlongLanes ? X::stride * column_size : W; // from a vector of sums to the next
  static constexpr int row_size = round_up(AlongLanes ? X::extent * column_size : Depth * deep, W);
  static constexpr int ring_rows = (R - 1) * H::stride + (H::taps - 1) * H::dilation + 1;

  alignas(64) T ring[ring_rows * row_size];
  mask_t exist[AlongLanes ? vectors : deep / W];
  mask_t exist_both[AlongLanes ? 1 : fetched / W]; // of two remainders, as they lie
  // [y][x][d][lane], or, side by side, [lane / side][d][y][x][lane % side]
  alignas(64) T taps[H::taps * X::taps * Depth * round_up(is_side_by_side ? blocks * F : L, side)];

  template <class S, class F, class D, class Act>
  void run(const grid<F> &filter, const grid<S> &window, const grid<D> &c, const Act &act) {
    if constexpr (is_side_by_side)
      hold_side_by_side(filter);
    else
      hold(filter);
    see(window);
    if constexpr (!AlongLanes && fetched < apart) // which no sum that is kept meets
      for (int i = fetched; i < ring_rows * row_size; i += apart)
        for (int j = 0; j < apart - fetched; j += W) store<T>(ring + i + j, vec<T>{});
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
    return AlongLanes ? column * column_size : column % X::stride * apart + column / X::stride;
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

  template <class F> void hold(const grid<F> &filter) {
    T *to = taps;
    constexpr int all = H::taps * X::taps * Depth;
    if constexpr (AlongLanes && Depth > 1 && all >= W) {
      if (filter.step[3] == 1 && filter.step[4] == 0 && filter.step[1] == Depth && filter.step[0] == X::taps * Depth) return hold_lanes(filter);
    }
    for (int y = 0; y < H::taps; ++y)
      for (int x = 0; x < X::taps; ++x)
        for (int i = 0; i < Depth * vectors; ++i, to += W) {
          const int v = Depth == 1 ? i : i % vectors;
          F *p = filter.at(y, x, v * W);
          if constexpr (Depth > 1) p += i / vectors * filter.step[3];
          const mask_t lanes = some_lanes<W>(0, filter.end[2] - v * W);
          if constexpr (Shared > 1)
            if (filter.step[4]) {
              for (int j = 0; j < W; ++j)
                to[j] = lanes >> j & 1 ? T(widen(p[j * filter.step[2] + (v * W + j) / Shared * filter.step[4]])) : T(0);
              continue;
            }
          store<T>(to, AlongLanes ? load_apart<T>(p, filter.step[2], lanes) : splat(T(widen(*p))));
        }
  }

  template <class G> void hold_side_by_side(const grid<G> &filter) {
    if (filter.step[1] == 1 && filter.step[0] == X::taps && filter.step[3] == H::taps * X::taps) return hold_lanes(filter);
    T *to = taps;
    for (int first = 0; first < Lanes; first += side)
      for (int d = 0; d < Depth; ++d)
        for (int y = 0; y < H::taps; ++y)
          for (int x = 0; x < X::taps; ++x, to += side) {
            const G *const p = filter.at(y, x, first) + d * filter.step[3];
            for (int j = 0; j < side; ++j) to[j] = first + j < Lanes ? T(widen(p[j * filter.step[2]])) : T(0);
          }
  }

  // All taps of a lane are neighbours, in the order in which they are held: W of them are turned at a time.
  template <class G> void hold_lanes(const grid<G> &filter) {
    constexpr int all = H::taps * X::taps * Depth;
    for (int first = 0; first < Lanes; first += side)
      for (int more = 0; more < side; more += W)
        for (int i = 0; i < all; i += W) {
          vec<T> rows[W];
#pragma GCC unroll 16
          for (int j = 0; j < W; ++j) {
            const int lane = first + more + j;
            rows[j] = load<T>(filter.at(0, 0, lane) + i, lane < filter.end[2] ? some_lanes<W>(0, all - i) : mask_t(0));
          }
          transpose<T>(rows);
          T *const to = taps + first * all + more;
#pragma GCC unroll 16
          for (int j = 0; j < W; ++j)
            if (i + j < all) {
              if (side - more >= W)
                store<T>(to + (i + j) * side, rows[j]);
              else
                store<T>(to + (i + j) * side, rows[j], first_lanes(side - more));
            }
        }
  }

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
      for (int column = begin; column < end; ++column)
        for (int v = 0; v < vectors; ++v, to += W) store<T>(to, load_apart<T>(window.at(row, column, v * W), by, exist[v]));
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
    for (int column = begin; column < end; ++column) {
      if constexpr (is_one_group)
        fetch_channels(window.at(row, column, 0), window.step[3], to + column * column_size);
      else
        fetch_several(window.at(row, column, 0), window.step, window.end[2], to + column * column_size);
    }
    for (int i = (begin < end ? end : X::extent) * column_size; i < row_size; ++i) to[i] = T(0);
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
      }
    }
  }

  // F lanes of some rows and vectors of columns: a vector of the window is loaded once for all lanes, a tap once for all
  // vectors.
  template <int Rows, int Count, class D, class Act>
  __attribute__((always_inline)) void sum_side_by_side(int row, int first, int block, const grid<D> &c, const Act &act) {
    vec<T> sums[Rows][Count][F] = {};
    const T *at[(Rows - 1) * H::stride + (H::taps - 1) * H::dilation + 1];
    for (int i = 0; i < int(sizeof(at) / sizeof(*at)); ++i) at[i] = ring_row(row * H::stride + i) + first * step;
    const T *factor = taps + block * F / side * side * (Depth * H::taps * X::taps) + block * F % side;
    for (int d = 0; d < Depth; ++d)
      for (int y = 0; y < H::taps; ++y, factor += X::taps * side)
#pragma GCC unroll 64
        for (int x = 0; x < X::taps; ++x) {
          vec<T> met[Rows][Count];
#pragma GCC unroll 32
          for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 32
            for (int p = 0; p < Count; ++p) met[r][p] = load<T>(at[r * H::stride + y * H::dilation] + d * deep + tap(x) + p * step);
#pragma GCC unroll 8
          for (int f = 0; f < F; ++f) {
            const vec<T> factor_f = splat(factor[x * side + f]);
#pragma GCC unroll 32
            for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 32
              for (int p = 0; p < Count; ++p) {
                sums[r][p][f] = met[r][p] * factor_f + sums[r][p][f];
                IMBREX_PIN(sums[r][p][f]);
              }
          }
        }
#pragma GCC unroll 32
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 32
      for (int p = 0; p < Count; ++p)
#pragma GCC unroll 8
        for (int f = 0; f < F; ++f)
          if (block * F + f < Lanes) put(row + r, first + p, block * F + f, sums[r][p][f], c, act);
  }

  template <int Rows, int Count, class D, class Act>
  __attribute__((always_inline)) void sum(int row, int first, int v, const grid<D> &c, const Act &act) {
    vec<T> sums[Rows][Count] = {};
    const int low = row * H::stride;
    for (int d = 0; d < Depth; ++d) {
      const int from = first * step + (is_one_group ? 0 : v * W) + (is_turned ? 0 : d * deep), tap = d * vectors + v;
      const lane_bits lanes = lanes_of_channel(d);
      if constexpr (is_shared_along) {
#pragma GCC unroll 64
        for (int y = 0; y < H::taps; ++y) share(sums[0], ring_row(low + y * H::dilation) + from, lanes, tap, y);
      } else if constexpr (is_written_out) {
#pragma GCC unroll 64
        for (int i = 0; i < (Rows - 1) * H::stride + (H::taps - 1) * H::dilation + 1; ++i)
          meet(sums, ring_row(low + i) + from, lanes, tap, [&](int r) IMBREX_INLINED {
            const int above = i - r * H::stride;
            return above >= 0 && above % H::dilation == 0 && above / H::dilation < H::taps ? above / H::dilation : -1;
          });
      } else {
        static_assert(Rows == 1);
        for (int y = 0; y < H::taps; ++y)
          meet(sums, ring_row(low + y * H::dilation) + from, lanes, tap, [&](int) IMBREX_INLINED { return y; });
      }
    }
#pragma GCC unroll 32
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 32
      for (int p = 0; p < Count; ++p) put(row + r, first + p, v, sums[r][p], c, act);
  }

  // A row of the window, along lanes, against one row of sums: each element is loaded once, for all sums that it belongs
  // to, and the row's taps stay in registers.
  template <int Count> __attribute__((always_inline)) void share(vec<T> (&sums)[Count], const T *at, lane_bits lanes, int v, int y) {
    vec<T> factor[X::taps];
#pragma GCC unroll 64
    for (int x = 0; x < X::taps; ++x) factor[x] = load<T>(taps + ((y * X::taps + x) * Depth * vectors + v) * W);
#pragma GCC unroll 128
    for (int i = 0; i < (Count - 1) * X::stride + (X::taps - 1) * X::dilation + 1; ++i) {
      const vec<T> x_i = element(at + i * column_size, lanes);
#pragma GCC unroll 64
      for (int x = 0; x < X::taps; ++x) {
        const int from = i - x * X::dilation, p = from / X::stride;
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
        if (of_row(r) >= 0) factor[r] = load<T>(taps + ((of_row(r) * X::taps + x) * Depth * vectors + v) * W);
#pragma GCC unroll 32
      for (int p = 0; p < Count; ++p) {
        const vec<T> x_p = element(at + tap(x) + p * step, lanes);
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
  IMBREX_INLINE void put(int row, int p, int v, vec<T> x, const grid<D> &c, const Act &act) {
    if constexpr (AlongLanes) {
      if (row >= c.end[0] || p >= c.end[1]) return;
      const mask_t lanes = some_lanes<W>(0, c.end[2] - v * W);
      stored(c.at(row, p, v * W), c.step[2], x, v, row * X::out + p, lanes, act);
    } else if (row < c.end[0]) {
      const int lane = is_side_by_side ? v : 0;
      stored(c.at(row, p * W, lane), c.step[1], x, p, lane * H::out + row, some_lanes<W>(0, c.end[1] - p * W), act);
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
