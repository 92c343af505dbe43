// A view whose lanes are neighbours in memory, without guards: what `view` looks up of a vector is computed here, so that
// columns, however many, need no tables, which would be written in every call.
//
// It has the members of `view` that are read, under the same names: what is an array there is a small struct here that
// answers to [].
#pragma once
#include "view.h"

namespace imbrex {

// Lanes [0, count) at base + lane, in vectors of W that begin anew with each panel of L.
template <int W, int L> struct neighbour_lanes {
  static constexpr int V = (L + W - 1) / W;
  int64_t base;
  int32_t count;
  static int begin(int v) { return v / V * L + v % V * W; }
  int64_t first(int v) const { return base + begin(v); }
  mask_t lanes(int v) const {
    const int of_panel = L - v % V * W, there = count - begin(v), left = there < of_panel ? there : of_panel;
    return first_lanes(left < 0 ? 0 : left < W ? left : W);
  }
};

// What a vector has one of, where `view` has up to max_spans or max_classes.
struct only_span {
  span of;
  span operator[](int) const { return of; }
  operator const span *() const { return &of; }
};
struct only_mask {
  uint16_t of;
  uint16_t operator[](int) const { return of; }
};
struct only_class {
  uint16_t operator[](int) const { return 0; }
};

template <int W, int L> struct even_used : neighbour_lanes<W, L> {
  mask_t operator[](int v) const { return this->lanes(v); }
};
template <int W, int L> struct even_span_count : neighbour_lanes<W, L> {
  int operator[](int v) const { return this->lanes(v) != 0; }
};
template <int W, int L> struct even_spans : neighbour_lanes<W, L> {
  only_span operator[](int v) const { return {{this->first(v), this->lanes(v), 1}}; }
};
template <int W, int L> struct even_masks : neighbour_lanes<W, L> {
  only_mask operator[](int v) const { return {uint16_t(this->lanes(v))}; }
};
template <int W, int L> struct even_full : neighbour_lanes<W, L> {
  bool operator[](int v) const { return this->lanes(v) == first_lanes(W); }
};
template <int W, int L> struct even_empty : neighbour_lanes<W, L> {
  bool operator[](int v) const { return this->lanes(v) == 0; }
};
// Where lane j lies, and lanes from a vector's first on.
struct run_of_lanes {
  int64_t base;
  int64_t operator[](int j) const { return base + j; }
};
template <int W, int L> struct even_offset : neighbour_lanes<W, L> {
  int64_t operator[](int j) const { return this->first(j / W) + j % W; }
  run_of_lanes operator+(int j) const { return {this->first(j / W)}; }
};

template <class T, int L, int Rows, int Lanes> struct even_view {
  static constexpr int W = width<T>, panel_lanes = L, most_rows = Rows, most_lanes = Lanes, V = (L + W - 1) / W;
  static constexpr int panels = (Lanes + L - 1) / L, vectors = panels * V;
  static constexpr bool has_guards = false, is_wild = false;
  static constexpr int classes = 1;

  int64_t extent;
  int32_t rows, lanes;
  int64_t row_low, row_high;
  even_used<W, L> used;
  even_span_count<W, L> span_count;
  even_spans<W, L> spans;
  even_masks<W, L> class_mask;
  even_full<W, L> is_full;
  even_empty<W, L> has_empty;
  even_offset<W, L> lane_offset;
  only_class row_class;
  int64_t row_offset[Rows];

  void set_lanes_evenly(int64_t base, int64_t, int count) {
    const neighbour_lanes<W, L> all = {base, count};
    lanes = count;
    used = {all}, span_count = {all}, spans = {all}, class_mask = {all}, is_full = {all}, has_empty = {all}, lane_offset = {all};
  }

  template <class Row> void set_rows(Row row, int64_t first, int count) {
    rows = count;
    row_low = INT64_MAX, row_high = INT64_MIN;
    for (int i = 0; i < count; ++i) {
      const int64_t at = row_offset[i] = row(first + i).offset;
      row_low = at < row_low ? at : row_low;
      row_high = at > row_high ? at : row_high;
    }
  }

  void set_rows_evenly(int64_t base, int64_t step, int count) {
    rows = count;
    const int64_t last = base + (count - 1) * step;
    row_low = base < last ? base : last, row_high = base < last ? last : base;
    for (int i = 0; i < count; ++i) row_offset[i] = base + i * step;
  }

  void meet(int64_t elements = 0) { extent = elements; }

  mask_t mask_of(int v, int) const { return used[v]; }

  bool is_plain(int v, int count, int stride = 1) const { return stride == 1 && used[v + count - 1] != 0; }

  bool is_contiguous(int v, int count) const { return is_plain(v, count) && (v % V + count <= V || L % W == 0); }

  bool is_inside(int v, int count) const {
    if (count < 1) return true;
    return spans[v][0].base + row_low >= 0 && spans[v + count - 1][0].base + row_high + W <= extent;
  }

  bool has_spans_inside(int v) const { return used[v] != 0 && is_inside(v, 1); }

  bool has_lanes_inside(int v) const {
    const int some = __builtin_popcount(used[v]);
    return some > 0 && spans[v][0].base + row_low >= 0 && spans[v][0].base + row_high + some <= extent;
  }
};
} // namespace imbrex
