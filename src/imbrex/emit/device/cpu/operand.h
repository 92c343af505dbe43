// The operands B and C of product.h: where panels of B come from, and where C goes.  A's are in operand_a.h.
#pragma once
#include "operand_a.h"

namespace imbrex {

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

  template <int V, int Met = 0, class Body> void visit(int panel, const Body &body) {
    if constexpr (is_same<U, S>) {
      const int v = panel * View::V;
      constexpr bool is_copied = is_copied_as_met<S, View, Met>;
      if ((in_place || (is_copied && !View::has_guards)) && !view.is_wild && view.is_plain(v, V) && view.is_inside(v, V)) {
        const b_view<S, V, visits_of(Met)> rows(src, view, v);
        if constexpr (View::has_guards) {
          const class_bits<S, V> bits(view, v);
          if constexpr (is_copied)
            return body(b_copied_windows<S, V>{{{rows}, view.row_class, bits}, buffer});
          else
            return body(b_cleared_view<S, V, visits_of(Met)>{rows, view.row_class, bits});
        } else if constexpr (is_copied) {
          return body(b_view_to_copy<S, V>{rows, buffer});
        } else {
          return body(rows);
        }
      }
    }
    if constexpr (is_same<U, S> && Met == 1 && !View::has_guards) {
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

// The same of windows much of which is padding: rows that exist in no lane of a panel are left out, and those that are
// kept are packed and listed.  `kept` has room for K rows of each panel that is in a buffer at a time, `counts` for as many
// panels.
template <class U, class S, class View> struct b_some_lanes : b_lanes<U, S, View> {
  static_assert(View::has_guards && !has_words<U> && unit<U>::rows == 1, "rows are k, and some do not exist");
  typedef b_lanes<U, S, View> all;
  typedef element_of_unit<U> E;
  int32_t *kept, *counts;
  b_some_lanes(const all &from, int32_t *kept, int32_t *counts) : all(from), kept(kept), counts(counts) {}

  template <int V, int Met = 0, class Body> void visit(int panel, const Body &body) {
    const int count = pack(this->buffer, panel, kept);
    if (count == this->view.rows) return all::template visit<V, Met>(panel, body);
    body(b_some_rows<b_panel<U, V>>{{this->buffer, View::panel_lanes}, kept, count});
  }
  void pack_all(E *panels, int64_t step, int count) {
    for (int j = 0; j < count; ++j) {
      counts[j] = pack(panels + j * step, j, kept + int64_t(j) * this->view.rows);
      if (counts[j] == this->view.rows) pack_panels(panels + j * step, step, this->src, this->view, j, 1);
    }
  }

private:
  // Lists the rows of a panel that are kept, and packs them if some are not.
  int pack(E *to, int panel, int32_t *kept) const {
    const auto &view = this->view;
    bool exists[max_classes], is_whole = true;
    for (int c = 0; c < (view.is_wild ? 0 : view.classes); ++c) {
      mask_t lanes = 0;
      for (int v = 0; v < View::V; ++v) lanes |= view.class_mask[panel * View::V + v][c];
      exists[c] = lanes != 0, is_whole &= lanes != 0;
    }
    if (is_whole) return view.rows;
    int count = 0;
    for (int r = 0; r < view.rows; ++r) kept[count] = r, count += exists[view.row_class[r]];
    pack_lanes(to, this->src, view, panel, exists);
    return count;
  }
};

// From a view whose rows are n and whose lanes are k: packed on a visit, transposed.
template <class U, int L, class S, class View> struct b_rows {
  typedef element_of_unit<U> E;
  const S *src;
  const View &view;
  E *buffer, *column_buffer;
  template <int V, int Met = 0, class Body> void visit(int panel, const Body &body) {
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
  template <int V, int Met = 0, class Body> void visit(int panel, const Body &body) {
    const b_panel<U, V> rows{buffer + panel * panel_step, L};
    if constexpr (has_tiles<U>)
      body(b_passing<U, V>{rows});
    else // which loads it as it does any panel, so that a kernel with others, too, has one loop over both
      body(rows);
  }
  const E *columns(int first, int count) { return from.columns(first, count); }
};

// The same where rows of some panels were left out, which their packing lists.
template <class U, int L, class Packing> struct b_some_packed : b_packed<U, L, Packing> {
  template <int V, int Met = 0, class Body> void visit(int panel, const Body &body) {
    const auto &from = this->from;
    const b_panel<U, V> rows{this->buffer + panel * this->panel_step, L};
    if (from.counts[panel] == from.view.rows) return body(rows);
    body(b_some_rows<b_panel<U, V>>{rows, from.kept + int64_t(panel) * from.view.rows, from.counts[panel]});
  }
};

// What the columns of B tell of an A whose elements are 128 too large; see unit.h.  `start` has room for panels of L.
template <class U, int L, class B> struct b_shifted {
  B &b;
  int64_t k_count;
  int32_t *start;
  int known = 0; // panels whose sums are known: they are met in order
  template <int V, int Met = 0, class Body> void visit(int panel, const Body &body) {
    b.template visit<V, Met>(panel, [&](auto rows) {
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
  template <int R, class Body> void visit_columns(int first, int column, int count, const Body &body) {
    visit<R, 1>(first, column, first_lanes(count), body);
  }
  void end_columns(int, int) {}
};

// To a view whose rows are n and whose lanes are m, through a tile of M (rounded up to W) x L; B must stay.
template <class T, class S, int M, int L, class View, class By = scaling<T>> struct c_rows {
  S *dst;
  const View &view;
  static constexpr int64_t column_step = round_up(M, width<T>);
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
  // Single columns lie in the tile as they do in C: to turn them would take squares of which they fill a row or few.
  template <int R, class Body> void visit_columns(int first, int, int, const Body &body) {
    body(c_column_sink<T>{tile + first, column_step});
  }
  void end_columns(int column, int count) {
    put_lanes<storing>(dst, tile, column_step, view, by, part{column, count, 0, (view.lanes + width<T> - 1) / width<T>});
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
    T *const tile = place(column) + first * L;
    if (!is_last) return body(c_sink<T, T, V>{tile, row, all_lanes<T>, 1, T(is_first ? 0 : 1)});
    last.template visit<R, V>(first, column, lanes, [&](auto sink) { body(c_added<T, decltype(sink)>{sink, tile, L}); });
  }
  template <int V> void end_column(int column) {
    if (is_last) last.template end_column<V>(column);
  }
  template <int R, class Body> void visit_columns(int first, int column, int count, const Body &body) {
    if (!is_last) return visit<R, 1>(first, column, first_lanes(count), body);
    if constexpr (MayBeAlone)
      if (is_first) return last.template visit_columns<R>(first, column, count, body);
    const T *const tile = place(column) + first * L;
    last.template visit_columns<R>(first, column, count, [&](auto sink) { body(c_added<T, decltype(sink)>{sink, tile, L}); });
  }
  void end_columns(int column, int count) {
    if (is_last) last.end_columns(column, count);
  }

private:
  T *place(int column) const { return kept + int64_t(column) / L * (int64_t(M) * L) + column % L; }
};
} // namespace imbrex
