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
} // namespace imbrex
