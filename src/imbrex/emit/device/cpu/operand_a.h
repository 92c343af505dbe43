// The operands A of product.h: where its panels come from.
#pragma once
#include "pack_words.h"
#include "open_product.h"

namespace imbrex {

// Which of the lanes [first, first + count) of a row exist; count is 64 at most.
template <class View> static uint64_t lanes_of_row(const View &view, int row, int first, int count) {
  uint64_t found = 0;
  for (int v = first / View::W; v * View::W < first + count && v < View::vectors; ++v) {
    const uint64_t mask = view.mask_of(v, row);
    const int at = v * View::W - first;
    found |= at < 0 ? mask >> -at : mask << at;
  }
  return found & (~uint64_t(0) >> (64 - count));
}

// Of each class of rows, do all lanes exist?
template <class View> static void find_whole(const View &view, bool *is_whole) {
  for (int c = 0; c < (view.is_wild ? 0 : view.classes); ++c) {
    is_whole[c] = true;
    for (int v = 0; v * View::W < view.lanes; ++v) is_whole[c] &= view.class_mask[v][c] == view.used[v];
  }
}

// A row-major matrix of what panels hold, in place: rows of k, `step` elements apart.  Good unless the rows of a panel
// crowd into few sets of the first cache: MR * gcd(4 KiB, step in bytes) <= 9 * 4 KiB.
template <class U> struct a_in_place {
  const element_of_unit<U> *p;
  int64_t step;
  template <int R, class Body> void visit(int row, const Body &body) { body(a_rows<U>{p + row * step, step}); }
};

// A row-major matrix whose rows are k, in place: `step` elements apart, a piece of each for a panel.
template <class U> struct a_columns_in_place {
  const element_of_unit<U> *p;
  int64_t step;
  template <int R, class Body> void visit(int row, const Body &body) { body(a_k_major<U>{p + row, step}); }
};

// Runs of `run` neighbouring k in place, wherever each run of each row lies: a view whose rows are m and whose lanes are
// k, all lanes of a run neighbours in memory that exist together, as channels are that come last.  `table` has room for
// (K / run + 1) * MR pointers, `passed` for K / run + 1; `zeros` are `run` elements that stand for what does not exist.
// run is whole chunks.  A run that exists in no row of a panel is left out, unless sums begin at what all of B makes of them.
template <class U, class View, int Chunk = words_of_vector<U>> struct a_runs_in_place {
  typedef element_of_unit<U> E;
  static constexpr int W = width<sum_of_unit<U>>;
  static constexpr bool leaves_out = View::has_guards && !unit<U>::is_shifted;
  const E *src;
  const View &view;
  const E **table;
  const E *zeros;
  int run;
  int32_t *passed;
  template <int R, class Body> void visit(int row, const Body &body) {
    const E **to = table;
    int32_t *at = passed, left_out = 0, count = 0;
    for (int k = 0; k < view.lanes; k += run) {
      bool exists = false;
      for (int m = 0; m < R; ++m) {
        const E *p = src + view.row_offset[row + m] + view.lane_offset[k];
        const bool is_there = view.mask_of(k / W, row + m) >> (Chunk % W ? k % W : 0) & 1;
        to[m] = is_there ? p : zeros, exists |= is_there;
      }
      if (leaves_out && !exists)
        left_out += run / unit<U>::together;
      else
        to += R, count += run, *at++ = left_out, left_out = 0;
    }
    if constexpr (leaves_out) {
      *at = 0;
      body(a_some_runs<U, Chunk>{{table, run}, passed, count});
    } else {
      body(a_runs<U, Chunk>{table, run});
    }
  }
};

template <class U, class View, int Chunk>
constexpr bool leaves_out<a_runs_in_place<U, View, Chunk>> = a_runs_in_place<U, View, Chunk>::leaves_out;

// Packed on a visit, from a view whose rows are m and whose lanes are k, into `buffer` of MR * K (rounded up) elements.
template <class U, class S, class View> struct a_packing {
  const S *src;
  const View &view;
  element_of_unit<U> *buffer;
  template <int R, class Body> void visit(int row, const Body &body) { body(pack<R>(buffer, row)); }

protected:
  template <int R> a_k_blocked<U> pack(element_of_unit<U> *to, int row) const {
    if constexpr (has_words<U>)
      word_panels<U>::template blocked<R>(to, src, view, row);
    else
      pack_blocked<R>(to, src, view, row);
    return {to, R * k_width<U>};
  }
};

// The same where B stays, and `buffer` keeps all panels, each packed when the first panel of B meets it: rows are `step`
// elements, and are visited from the first on.
template <class U, class S, class View> struct a_packed_once : a_packing<U, S, View> {
  int64_t step;
  int known = 0; // rows that are packed
  a_packed_once(const S *src, const View &view, element_of_unit<U> *buffer, int64_t step)
      : a_packing<U, S, View>{src, view, buffer}, step(step) {}
  template <int R, class Body> void visit(int row, const Body &body) {
    element_of_unit<U> *const panel = this->buffer + row * step;
    if (row < known) return body(a_k_blocked<U>{panel, R * k_width<U>});
    known = row + R;
    body(this->template pack<R>(panel, row));
  }
};

// The same of so many rows that each is a page to look up, or of other elements than panels hold, `count` columns: packed a
// few panels at a time, since a row is met once for all of them, of narrow elements more: a row brings whole lines, and
// they are gone until the next panels come, and the more panels, the fewer times a page is looked up, of which a core of few
// registers feels more.  `buffer` has room for `elements`.
template <class U, class S, int K, int MR> struct a_columns {
  typedef sum_of_unit<U> T;
  typedef element_of_unit<U> E;
  typedef words_from<U, S> in;
  static constexpr int ahead = 8, words = round_up(K, has_tiles<U> ? k_width<U> : unit<U>::together);
  static constexpr int least = 8, least_bytes = vector_bytes > 32 ? 192 : 384, enough = (least_bytes - 1) / (MR * int(sizeof(S))) + 1;
  static constexpr int together = enough < least ? least : enough, line = 64 / int(sizeof(S));
  static constexpr int elements = together * (MR * words + width<T> * unit<U>::together);
  const S *p;
  int64_t step, k_count;
  int count;
  E *buffer;
  int first = 0, end = 0, height = 0; // columns in the buffer, and how many of them a panel has
  a_columns(const S *p, int64_t step, int64_t k_count, int count, E *buffer)
      : p(p), step(step), k_count(k_count), count(count), buffer(buffer) {}

  template <int R, class Body> void visit(int row, const Body &body) {
    if (row < first || row >= end || height != R) pack<R>(row);
    const E *panel = buffer + (row - first) / R * slot<R>;
    if constexpr (has_tiles<U>)
      body(a_k_blocked<U>{panel, R * k_width<U>});
    else
      body(a_k_major<U>{panel, R});
  }

private:
  // A panel, and what the last store writes past it.
  template <int R> static constexpr int slot = R * words + width<T> * unit<U>::together;

  template <int R> void pack(int row) {
    const int panels = (count - row) / R < together ? (count - row) / R : together;
    first = row, end = row + panels * R, height = R;
    if constexpr (has_tiles<U>) return turn<R>(row, panels);
    int64_t k = 0;
    if constexpr (is_half<R>)
      for (; k + 2 <= k_count; k += 2) pack_two<R>(k, row, panels);
    for (; k < k_count; k += unit<U>::together) {
      const S *from = p + k * step + row;
      for (int t = 0; t < unit<U>::together; ++t)
        for (int i = 0; i < panels * R; i += line) __builtin_prefetch(from + (ahead * unit<U>::together + t) * step + i);
      for (int i = 0; i < panels; ++i, from += R) {
        E *to = buffer + i * slot<R> + k * R;
#pragma GCC unroll 8
        for (int j = 0; j < R; j += width<T>) {
          const mask_t lanes = first_lanes(R - j) & all_lanes<T>;
          if constexpr (has_words<U>)
            word_panels<U>::put(
                to + j * unit<U>::together,
                [&](int t) { return in::bits(load<typename in::lane>(from + t * step + j, lanes)); }, 0,
                int(k_count - k));
          else
            store<T>(to + j, load<T>(from + j, lanes));
        }
      }
    }
  }

  // Do a panel's elements of two k fill a vector, to be stored as one?
  template <int R>
  static constexpr bool is_half = !has_masks && is_same<S, E> && is_same<S, T> && unit<U>::together == 1 && 2 * R == width<T>;

  template <int R> void pack_two(int64_t k, int row, int panels) {
    typedef typename vector_of<T, R * int(sizeof(T))>::loose half;
    const S *from = p + k * step + row;
    for (int t = 0; t < 2; ++t)
      for (int i = 0; i < panels * R; i += line) __builtin_prefetch(from + (ahead + t) * step + i);
    for (int i = 0; i < panels; ++i, from += R) {
      const half two[2] = {*(const half *)from, *(const half *)(from + step)};
      vec<T> both;
      __builtin_memcpy(&both, two, sizeof(both));
      store<T>(buffer + i * slot<R> + k * R, both);
    }
  }

  // Panels as tiles read them, k_blocked: words of a vector of rows, turned.
  template <int R> void turn(int row, int panels) {
    constexpr int W = width<T>;
    for (int64_t k = 0; k < k_count; k += k_width<U>)
      for (int i = 0; i < panels; ++i)
        for (int j = 0; j < R; j += W) {
          const mask_t lanes = first_lanes(R - j) & all_lanes<T>;
          const S *from = p + k * step + row + i * R + j;
          typename unit<U>::words square[W] = {};
          for (int w = 0; w < W; ++w)
            for (int t = 0; t < unit<U>::together && k + w * unit<U>::together + t < k_count; ++t)
              square[w] |= in::bits(load<typename in::lane>(from + (w * unit<U>::together + t) * step, lanes))
                           << (8 * int(sizeof(E)) * t);
          transpose<uint32_t>(square);
          for (int m = 0; m < W && j + m < R; ++m)
            __builtin_memcpy(buffer + i * slot<R> + k * R + (j + m) * k_width<U>, &square[m], sizeof(square[m]));
        }
  }
};
} // namespace imbrex
