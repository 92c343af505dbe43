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

// What does not exist, of a tile or more.
template <int Bytes> alignas(64) inline constexpr uint8_t zero_bytes[Bytes] = {};

// A view whose rows are m and whose lanes are k, each Run of them neighbours in memory that exist together.  A stretch of
// whole tiles' widths of them is read where it lies, for each tile of rows that are evenly apart, if all of it exists and
// is neighbours, else copied; `buffer` has room for a panel's `elements` of K.  Where runs are taps of windows, the panel
// after this one sees little that this one does not, rows of the last tap: these are fetched ahead, a few for each stretch.
template <class U, class View, int Run, int K> struct a_tiles_in_place {
  typedef element_of_unit<U> E;
  typedef rows_of_tiles<U, K> rows;
  static constexpr int W = width<sum_of_unit<U>>, tile_k = k_width<U>;
  static constexpr bool has_whole_runs = Run % tile_k == 0; // which are the stretches
  static constexpr int most = has_whole_runs ? K / Run : (K - 1) / tile_k + 1;
  static_assert(View::W == W && View::V == 1 && K <= 64 * Run, "lanes are k, and a bit says whether a run exists");
  // Lanes [k, k + length), of the runs whose bits are set; are they neighbours?
  struct stretch {
    int k, length;
    bool is_whole;
    uint64_t runs;
  };
  const E *src;
  const View &view;
  E *buffer;
  int count = 0;
  stretch stretches[has_whole_runs ? 1 : most];
  int64_t furthest = 0;        // where the last run lies
  uint64_t exist[max_classes]; // the runs that do, of each class of rows
  a_tiles_in_place(const E *src, const View &view, E *buffer) : src(src), view(view), buffer(buffer) {
    for (int k = 0; k < view.lanes; k += Run) furthest = view.lane_offset[k] > furthest ? view.lane_offset[k] : furthest;
    for (int c = 0; c < (view.is_wild ? 0 : view.classes); ++c) exist[c] = runs_of([&](int v) { return view.class_mask[v][c]; });
    if constexpr (has_whole_runs)
      count = view.lanes / Run;
    else
      for (int k = 0; k < view.lanes; k += tile_k) add(k, k + tile_k < view.lanes ? k + tile_k : view.lanes);
  }

  template <int R, class Body> void visit(int row, const Body &body) {
    constexpr int tall = tiles_tall<R>, fetched = most < 4 ? 0 : (R - 1) / most + 1;
    stretch_of_tiles<U, tall> placed[most + 1];
    for (int i = 0; i < tall; ++i) place<R>(row, i, placed);
    const int64_t apart = R > 1 ? view.row_offset[row + R - 1] - view.row_offset[row + R - 2] : 0;
    body(a_tiles<U, tall, has_whole_runs ? Run : 0, fetched>{placed, {src + view.row_offset[row] + R * apart + furthest, apart}});
  }

private:
  stretch nth(int s) const {
    if constexpr (has_whole_runs)
      return {s * Run, Run, true, uint64_t(1) << s};
    else
      return stretches[s];
  }

  // A tile's width of k, or less at the end, which goes on with the last stretch if that is of the same run.
  void add(int begin, int end) {
    uint64_t runs = 0;
    for (int r = begin / Run; r * Run < end; ++r) runs |= uint64_t(1) << r;
    const bool is_whole = end - begin == tile_k && view.lane_offset[end - 1] - view.lane_offset[begin] == tile_k - 1;
    if (count > 0 && is_whole && stretches[count - 1].is_whole && stretches[count - 1].runs == runs)
      stretches[count - 1].length += tile_k;
    else
      stretches[count++] = {begin, tile_k, is_whole, runs};
  }

  template <class Mask> uint64_t runs_of(Mask mask) const {
    uint64_t found = 0;
    for (int r = 0; r * Run < view.lanes; ++r) found |= uint64_t(mask(r * Run / W) >> (r * Run % W) & 1) << r;
    return found;
  }
  uint64_t exist_of(int m) const {
    return view.is_wild ? runs_of([&](int v) { return view.mask_of(v, m); }) : exist[view.row_class[m]];
  }

  // Where each stretch of tile i lies, of a panel of R rows from `row` on.
  template <int R> void place(int row, int i, stretch_of_tiles<U, tiles_tall<R>> *to) {
    const int first = i * tile_rows, some = R - first < tile_rows ? R - first : tile_rows;
    const int64_t *const offset = view.row_offset + row + first, step = some > 1 ? offset[1] - offset[0] : 0;
    uint64_t all = ~uint64_t(0), any = 0, each[tile_rows];
    int64_t strays = some < tile_rows;
    for (int m = 0; m < some; ++m) {
      each[m] = exist_of(row + first + m), all &= each[m], any |= each[m];
      strays |= offset[m] - offset[0] - m * step;
    }
    for (int s = 0; s < count; ++s, ++to) {
      const stretch of = nth(s);
      if constexpr (!has_whole_runs) to->length = of.length;
      const E *const from = src + view.lane_offset[of.k];
      if (!(any & of.runs)) {
        to->tile[i] = {(const E *)zero_bytes<round_up(Run, tile_k) * int(sizeof(E))>, 0};
      } else if (strays == 0 && of.is_whole && !(~all & of.runs)) {
        to->tile[i] = {from + offset[0], step};
      } else {
        E *const copied = buffer + first * rows::step + of.k;
        for (int m = 0; m < some; ++m) copy(copied + m * rows::step, from + offset[m], each[m], of);
        to->tile[i] = {copied, rows::step};
      }
    }
  }
  // A row of a stretch, which begins at `from`.  Of a number that is known, what is moved is a few vectors.
  void copy(E *to, const E *from, uint64_t exists, const stretch &of) const {
    if constexpr (has_whole_runs) return move(to, from, Run, exists & of.runs);
    if (of.is_whole && !(~exists & of.runs)) {
      for (int k = 0; k < of.length; k += tile_k) move(to + k, from + k, tile_k, true);
      return;
    }
    const int end = of.k + of.length < view.lanes ? of.k + of.length : view.lanes;
    for (int k = of.k, next; k < end; k = next) {
      next = k / Run * Run + Run < end ? k / Run * Run + Run : end;
      move(to + k - of.k, from + view.lane_offset[k] - view.lane_offset[of.k], next - k, exists >> (k / Run) & 1);
    }
  }
  static IMBREX_INLINED void move(E *to, const E *from, int count, bool is_there) {
    if (is_there)
      rows::copy(to, from, count);
    else
      for (int k = 0; k < count; k += tile_k) rows::put(to + k, typename unit<U>::words{});
  }
};
} // namespace imbrex
