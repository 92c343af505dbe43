// Operands of product.h whose rows come as whole tiles: those that tiles cannot load as they lie are copied first, once for
// all panels of B that pass.
#pragma once
#include "operand.h"
#include "tile.h"

namespace imbrex {

// Rows of K elements in whole tiles, MR of them a panel at most.
template <class U, int K> struct rows_of_tiles {
  typedef element_of_unit<U> E;
  static constexpr int step = round_up(K, k_width<U>) + k_width<U>; // no two rows of a tile in one set of a cache
  template <int MR> static constexpr int elements = round_up(MR, tile_rows) * step;
  static void put(E *to, typename unit<U>::words x) { __builtin_memcpy(to, &x, sizeof(x)); }
  // `count` neighbours; of the last vector, what is behind them is 0.
  static void copy(E *to, const E *from, int64_t count) {
    int64_t k = 0;
    for (; k + k_width<U> <= count; k += k_width<U>) put(to + k, unit<U>::load(from + k));
    if (k < count) put(to + k, load_first<U>(from + k, count - k));
  }
};

// A row-major matrix of what panels hold, rows of k, `step` elements apart: in place where no cache line cuts a row of a
// tile in two and all tiles are whole.  `buffer` has room for a panel's `elements`.
template <class U, int K> struct a_in_lines {
  typedef element_of_unit<U> E;
  typedef rows_of_tiles<U, K> rows;
  const E *p;
  int64_t step, k_count;
  E *buffer;
  template <int R, class Body> void visit(int row, const Body &body) {
    const E *from = p + row * step;
    if (R % tile_rows == 0 && k_count % k_width<U> == 0 && are_lines(from)) return body(a_whole_rows<U>{from, step});
    for (int m = 0; m < R; ++m) rows::copy(buffer + m * rows::step, from + m * step, k_count);
    body(a_whole_rows<U>{buffer, rows::step});
  }

private:
  bool are_lines(const E *from) const { return (int64_t(from) | step * int64_t(sizeof(E))) % line_bytes == 0; }
};

// A view whose rows are m and whose lanes are k, each Run of them neighbours in memory, whether they exist or not.  `buffer`
// has room for a panel's `elements` of K.
template <class U, class View, int Run, int K> struct a_copied_runs {
  typedef element_of_unit<U> E;
  typedef rows_of_tiles<U, K> rows;
  static constexpr int W = width<sum_of_unit<U>>;
  static_assert(View::W == W && View::V == 1, "lanes are k, one vector a panel");
  const E *src;
  const View &view;
  E *buffer;
  bool is_whole[max_classes]; // do all lanes of such rows exist?
  a_copied_runs(const E *src, const View &view, E *buffer) : src(src), view(view), buffer(buffer) {
    find_whole(view, is_whole);
  }

  template <int R, class Body> void visit(int row, const Body &body) {
    E *to = buffer;
    for (int m = row; m < row + R; ++m, to += rows::step) {
      const E *from = src + view.row_offset[m];
      rows::put(to + view.lanes / k_width<U> * k_width<U>, typename unit<U>::words{});
      if (!view.is_wild && is_whole[view.row_class[m]])
        for (int k = 0; k < view.lanes; k += Run) rows::copy(to + k, from + view.lane_offset[k], Run);
      else
        copy_what_exists(to, from, m);
    }
    body(a_whole_rows<U>{buffer, rows::step});
  }

private:
  __attribute__((noinline)) void copy_what_exists(E *to, const E *from, int m) {
    for (int first = 0; first < view.lanes; first += Run)
      for (int k = first; k < first + Run; k += k_width<U>) {
        const int count = first + Run - k < k_width<U> ? first + Run - k : k_width<U>;
        const uint64_t some = lanes_of_row(view, m, k, count);
        if (some == ~uint64_t(0) >> (64 - count)) {
          rows::copy(to + k, from + view.lane_offset[k], count);
        } else {
          rows::put(to + k, typename unit<U>::words{});
          for (uint64_t left = some; left; left &= left - 1) {
            const int i = __builtin_ctzll(left);
            to[k + i] = from[view.lane_offset[k] + i];
          }
        }
      }
  }
};

// A run of what does not exist.
template <int Bytes> alignas(64) inline constexpr uint8_t zero_bytes[Bytes] = {};

// A view whose rows are m and whose lanes are k, each Run of them, whole tiles' widths, neighbours in memory that exist
// together.  A tile of a run is read where it lies if its rows are evenly apart and all exist, else copied; `buffer` has
// room for a panel's `elements` of K.  Where runs are taps of windows, the panel after this one sees little that this one
// does not, rows of the last tap: these are fetched ahead, a few for each run.
template <class U, class View, int Run, int K> struct a_tiles_in_place {
  typedef element_of_unit<U> E;
  typedef rows_of_tiles<U, K> rows;
  static constexpr int W = width<sum_of_unit<U>>, most_runs = K / Run;
  static_assert(View::W == W && View::V == 1, "lanes are k, one vector a panel");
  static_assert(Run % k_width<U> == 0 && most_runs <= 64, "runs are whole tiles, and a bit says whether one exists");
  const E *src;
  const View &view;
  E *buffer;
  int64_t furthest = 0;        // where the last run lies
  uint64_t exist[max_classes]; // the runs that do, of each class of rows
  a_tiles_in_place(const E *src, const View &view, E *buffer) : src(src), view(view), buffer(buffer) {
    for (int k = 0; k < view.lanes; k += Run) furthest = view.lane_offset[k] > furthest ? view.lane_offset[k] : furthest;
    for (int c = 0; c < (view.is_wild ? 0 : view.classes); ++c) exist[c] = runs_of([&](int v) { return view.class_mask[v][c]; });
  }

  template <int R, class Body> void visit(int row, const Body &body) {
    constexpr int tall = tiles_tall<R>;
    place_of_tile<U> places[most_runs + 1][tall];
    for (int i = 0; i < tall; ++i) place<R>(row, i, places);
    constexpr int fetched = most_runs < 4 ? 0 : (R - 1) / most_runs + 1;
    const int64_t apart = R > 1 ? view.row_offset[row + R - 1] - view.row_offset[row + R - 2] : 0;
    body(a_tiles<U, tall, Run, fetched>{places, {src + view.row_offset[row] + R * apart + furthest, apart}});
  }

private:
  template <class Mask> uint64_t runs_of(Mask mask) const {
    uint64_t found = 0;
    for (int r = 0; r * Run < view.lanes; ++r) found |= uint64_t(mask(r * Run / W) >> (r * Run % W) & 1) << r;
    return found;
  }
  uint64_t exist_of(int m) const {
    return view.is_wild ? runs_of([&](int v) { return view.mask_of(v, m); }) : exist[view.row_class[m]];
  }

  // Where each run of tile i lies, of a panel of R rows from `row` on.
  template <int R> void place(int row, int i, place_of_tile<U> (*to)[tiles_tall<R>]) {
    const int first = i * tile_rows, count = R - first < tile_rows ? R - first : tile_rows;
    const int64_t *const offset = view.row_offset + row + first, step = count > 1 ? offset[1] - offset[0] : 0;
    uint64_t all = ~uint64_t(0), any = 0, each[tile_rows];
    int64_t strays = count < tile_rows;
    for (int m = 0; m < count; ++m) {
      each[m] = exist_of(row + first + m), all &= each[m], any |= each[m];
      strays |= offset[m] - offset[0] - m * step;
    }
    for (int r = 0; r * Run < view.lanes; ++r) {
      const E *const from = src + view.lane_offset[r * Run];
      if (!(any >> r & 1)) {
        to[r][i] = {(const E *)zero_bytes<Run * int(sizeof(E))>, 0};
      } else if (strays == 0 && (all >> r & 1)) {
        to[r][i] = {from + offset[0], step};
      } else {
        E *const copied = buffer + first * rows::step + r * Run;
        for (int m = 0; m < count; ++m) copy(copied + m * rows::step, from + offset[m], each[m] >> r & 1);
        to[r][i] = {copied, rows::step};
      }
    }
  }
  static void copy(E *to, const E *from, bool exists) {
    if (exists)
      rows::copy(to, from, Run);
    else
      for (int k = 0; k < Run; k += k_width<U>) rows::put(to + k, typename unit<U>::words{});
  }
};
} // namespace imbrex
