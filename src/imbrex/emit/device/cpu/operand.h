// The operands of product.h: where panels of A and B come from, and where C goes.
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

// ---- A -----------------------------------------------------------------------------------------------------

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
// (K / run + 1) * MR pointers; `zeros` are `run` elements that stand for what does not exist.  run is whole chunks.
template <class U, class View, int Chunk = words_of_vector<U>> struct a_runs_in_place {
  typedef element_of_unit<U> E;
  static constexpr int W = width<sum_of_unit<U>>;
  const E *src;
  const View &view;
  const E **table;
  const E *zeros;
  int run;
  template <int R, class Body> void visit(int row, const Body &body) {
    const E **to = table;
    for (int k = 0; k < view.lanes; k += run)
      for (int m = row; m < row + R; ++m) {
        const E *p = src + view.row_offset[m] + view.lane_offset[k];
        *to++ = view.mask_of(k / W, m) >> (Chunk % W ? k % W : 0) & 1 ? p : zeros;
      }
    body(a_runs<U, Chunk>{table, run});
  }
};

// Packed on a visit, from a view whose rows are m and whose lanes are k, into `buffer` of MR * K (rounded up) elements.
template <class U, class S, class View> struct a_packing {
  const S *src;
  const View &view;
  element_of_unit<U> *buffer;
  template <int R, class Body> void visit(int row, const Body &body) {
    if constexpr (has_words<U>)
      word_panels<U>::template blocked<R>(buffer, src, view, row);
    else
      pack_blocked<R>(buffer, src, view, row);
    body(a_k_blocked<U>{buffer, R * k_width<U>});
  }
};

// The same of so many rows that each is a page to look up, or of other elements than panels hold, `count` columns: packed a
// few panels at a time, since a row is met once for all of them, of narrow elements more: a row brings whole lines, and
// they are gone until the next panels come.  `buffer` has room for `elements`.
template <class U, class S, int K, int MR> struct a_columns {
  typedef sum_of_unit<U> T;
  typedef element_of_unit<U> E;
  static constexpr int ahead = 8, words = round_up(K, has_tiles<U> ? k_width<U> : unit<U>::together);
  static constexpr int least = 8, least_bytes = 192, enough = (least_bytes - 1) / (MR * int(sizeof(S))) + 1;
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
    for (int64_t k = 0; k < k_count; k += unit<U>::together) {
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
                to + j * unit<U>::together, [&](int t) { return load<uint32_t>(from + t * step + j, lanes); }, 0,
                int(k_count - k));
          else
            store<T>(to + j, load<T>(from + j, lanes));
        }
      }
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
              square[w] |= load<uint32_t>(from + (w * unit<U>::together + t) * step, lanes) << (8 * int(sizeof(E)) * t);
          transpose<uint32_t>(square);
          for (int m = 0; m < W && j + m < R; ++m)
            __builtin_memcpy(buffer + i * slot<R> + k * R + (j + m) * k_width<U>, &square[m], sizeof(square[m]));
        }
  }
};

// ---- B -----------------------------------------------------------------------------------------------------

// From a view whose rows are k and whose lanes are n, L of them a panel: in place where allowed and possible (vectors of
// one span of stride 1 that lie in the array), else packed on a visit into `buffer` of K * L elements.
// `column_buffer` holds the last columns, K rounded up apart.
template <class U, class S, class View> struct b_lanes {
  typedef element_of_unit<U> E;
  const S *src;
  const View &view;
  E *buffer, *column_buffer;
  bool in_place;

  template <int V, bool MetOnce = false, class Body> void visit(int panel, const Body &body) {
    if constexpr (is_same<U, S>) {
      const int v = panel * View::V;
      if (in_place && !view.is_wild && view.is_plain(v, V) && view.is_inside(v, V)) {
        const b_view<S, V, MetOnce> rows(src, view, v);
        if constexpr (!View::has_guards) return body(rows);
        const class_bits<S, V> bits(view, v);
        return body(b_cleared_view<S, V, MetOnce>{rows, view.row_class, bits});
      }
    }
    if constexpr (is_same<U, S> && MetOnce && !View::has_guards) {
      const int v = panel * View::V; // the last panel, whose last vector goes beyond the end of the array
      if (in_place && view.is_plain(v, V) && view.is_inside(v, V - 1))
        return body(b_cut_view<S, V>{{src, view, v}, view.used[v + V - 1]});
    }
    if constexpr (has_words<U>)
      word_panels<U>::lanes(buffer, src, view, panel);
    else
      pack_lanes(buffer, src, view, panel);
    body(b_panel<U, V>{buffer, View::panel_lanes});
  }
  // The first `count` panels, `step` apart.
  void pack_all(E *panels, int64_t step, int count) {
    if constexpr (has_words<U>)
      word_panels<U>::panels(panels, step, src, view, 0, count);
    else
      pack_panels(panels, step, src, view, 0, count);
  }
  // The first row where all rows of that many vectors are neighbours in memory, and may be read there.
  const S *rows_in_place(int vectors) const {
    return in_place && view.is_contiguous(0, vectors) ? src + view.spans[0][0].base : nullptr;
  }
  const E *columns(int first, int count) {
    const int64_t step = round_up(view.rows, k_width<U>);
    if constexpr (has_words<U>)
      word_panels<U>::columns(column_buffer, step, src, view, first, count);
    else
      pack_columns(column_buffer, step, src, view, first, count);
    return column_buffer;
  }
};

template <class U, class S, class View>
constexpr bool has_whole_rows<b_lanes<U, S, View>> = is_same<U, S> && !View::has_guards;

// From a view whose rows are n and whose lanes are k: packed on a visit, transposed.
template <class U, int L, class S, class View> struct b_rows {
  typedef element_of_unit<U> E;
  const S *src;
  const View &view;
  E *buffer, *column_buffer;
  template <int V, bool MetOnce = false, class Body> void visit(int panel, const Body &body) {
    constexpr int lanes = V * width<sum_of_unit<U>>;
    if constexpr (has_words<U>)
      word_panels<U>::template transposed<lanes>(buffer, src, view, panel * L);
    else
      pack_transposed<lanes>(buffer, src, view, panel * L);
    body(b_panel<U, V>{buffer, lanes});
  }
  // The first `count` panels, `step` apart.
  void pack_all(E *panels, int64_t step, int count) {
    for (int j = 0; j < count; ++j)
      if constexpr (has_words<U>)
        word_panels<U>::template transposed<L>(panels + j * step, src, view, j * L);
      else
        pack_transposed<L>(panels + j * step, src, view, j * L);
  }
  const E *columns(int first, int count) {
    for (int c = 0; c < count; ++c) {
      E *column = column_buffer + c * round_up(view.lanes, k_width<U>);
      if constexpr (has_words<U>)
        word_panels<U>::template blocked<1>(column, src, view, first + c);
      else
        pack_blocked<1>(column, src, view, first + c);
    }
    return column_buffer;
  }
};

// Packed beforehand by another operand's packing, to pass an A that stays: panels `panel_step` apart, all of them L lanes wide.
template <class U, int L, class Packing> struct b_packed {
  typedef element_of_unit<U> E;
  Packing &from;
  E *buffer;
  int64_t panel_step;
  template <int V, bool MetOnce = false, class Body> void visit(int panel, const Body &body) {
    const b_panel<U, V> rows{buffer + panel * panel_step, L};
    if constexpr (has_tiles<U>)
      body(b_passing<U, V>{rows});
    else // which loads it as it does any panel, so that a kernel with others, too, has one loop over both
      body(rows);
  }
  const E *columns(int first, int count) { return from.columns(first, count); }
};

// What the columns of B tell of an A whose elements are 128 too large; see unit.h.  `start` has room for panels of L.
template <class U, int L, class B> struct b_shifted {
  B &b;
  int64_t k_count;
  int32_t *start;
  int known = 0; // panels whose sums are known: they are met in order
  template <int V, bool MetOnce = false, class Body> void visit(int panel, const Body &body) {
    b.template visit<V, MetOnce>(panel, [&](auto rows) {
      if (panel >= known) {
        start_sums<U, V>(k_count, rows, start + panel * L);
        known = panel + 1;
      }
      body(b_started<decltype(rows)>{rows, start + panel * L});
    });
  }
  const element_of_unit<U> *columns(int first, int count) { return b.columns(first, count); }
};

// ---- C -----------------------------------------------------------------------------------------------------

// To a view whose rows are m and whose lanes are n: in place where its lanes are neighbours in memory, else through a
// tile of MR x L.
template <class T, class S, int MR, int L, class View, class By = scaling<T>> struct c_lanes {
  static_assert(!View::has_guards, "what does not exist is not in the view");
  S *dst;
  const View &view;
  T *tile;
  By by;
  int64_t row[MR];
  int met = -1;         // the panel that was visited last, by its first vector
  bool is_near = false; // are its lanes neighbours, which go there as they are?
  c_lanes(S *dst, const View &view, T *tile, By by) : dst(dst), view(view), tile(tile), by(by) {
    for (int m = 0; m < MR; ++m) row[m] = m * L;
  }
  template <int R, int V, class Body> void visit(int first, int column, mask_t lanes, const Body &body) {
    const int v = column / width<T>;
    if constexpr (is_same<T, S> || sizeof(T) == 2 * sizeof(S)) { // what a vector is narrowed to by an instruction or few
      if (v != met) met = v, is_near = by.is_plain() && view.is_contiguous(v, V);
      if (is_near)
        return body(c_sink<T, S, V>{dst + view.spans[v][0].base, view.row_offset + first, lanes, by.alpha, by.beta});
    }
    body(c_sink<T, T, V>{tile, row, all_lanes<T>, 1, 0});
    put_lanes<storing>(dst, tile, L, view, by, part{first, R, v, V});
  }
  template <int V> void end_column(int) {}
};

// To a view whose rows are n and whose lanes are m, through a tile of M (rounded up to W) x L; B must stay.
template <class T, class S, int M, int L, class View, class By = scaling<T>> struct c_rows {
  S *dst;
  const View &view;
  T *tile;
  By by;
  int64_t row[M];
  c_rows(S *dst, const View &view, T *tile, By by) : dst(dst), view(view), tile(tile), by(by) {
    for (int m = 0; m < M; ++m) row[m] = m * L;
  }
  template <int R, int V, class Body> void visit(int first, int, mask_t, const Body &body) {
    body(c_sink<T, T, V>{tile, row + first, all_lanes<T>, 1, 0});
  }
  template <int V> void end_column(int column) {
    const int columns = view.rows - column < V * width<T> ? view.rows - column : V * width<T>;
    put_transposed<storing>(dst, tile, L, view, by, part{column, columns, 0, (view.lanes + width<T> - 1) / width<T>});
  }
};

// Sums between the steps of K, where C cannot hold them: register tiles, one after another, L wide, of M rows a panel.  In
// the last step they go to `last`, with what was kept; there is one step, which keeps nothing, only where it MayBeAlone.
// `kept` has room for M x N in whole panels of L columns.
template <class T, int M, int MR, int L, class C, bool MayBeAlone = false> struct c_kept {
  C &last;
  T *kept;
  bool is_first, is_last;
  int64_t row[MR];
  c_kept(C &last, T *kept, bool is_first, bool is_last) : last(last), kept(kept), is_first(is_first), is_last(is_last) {
    for (int m = 0; m < MR; ++m) row[m] = m * L;
  }
  template <int R, int V, class Body> void visit(int first, int column, mask_t lanes, const Body &body) {
    if constexpr (MayBeAlone)
      if (is_first && is_last) return last.template visit<R, V>(first, column, lanes, body);
    T *const tile = kept + int64_t(column) / L * (int64_t(M) * L) + column % L + first * L;
    if (!is_last) return body(c_sink<T, T, V>{tile, row, all_lanes<T>, 1, T(is_first ? 0 : 1)});
    last.template visit<R, V>(first, column, lanes, [&](auto sink) { body(c_added<T, decltype(sink)>{sink, tile, L}); });
  }
  template <int V> void end_column(int column) {
    if (is_last) last.template end_column<V>(column);
  }
};
} // namespace imbrex
