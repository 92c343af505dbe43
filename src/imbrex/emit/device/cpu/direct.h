// A matrix read and a result written in place, through a view, by the micro kernel: no panel, no tile.
//
// B rows come from a view whose rows are k and whose lanes are n, whatever its guards, where each vector of the panel
// is one span of stride 1 (`is_direct`).  C goes to a view whose lanes n are neighbours in memory (`is_direct` too) and
// which has no guards.
#pragma once
#include "micro.h"
#include "view.h"

namespace imbrex {

// NV vectors from `vector` on, row by row from the view's first; every element exists.
template <class T, class S, int NV> struct b_view {
  const S *p[NV];
  const int64_t *offset;
  template <class View> b_view(const S *src, const View &view, int vector) : offset(view.row_offset) {
    for (int v = 0; v < NV; ++v) p[v] = src + view.spans[vector + v][0].base;
  }
  void next(vec<T> (&row)[NV]) {
    const int64_t at = *offset++;
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) row[v] = load<T>(p[v] + at);
  }
};

// The same where some elements do not exist but lie in the array: they are loaded and cleared, which takes no unit from
// the multiply-adds, as masks would.
template <class T, int NV> struct class_bits {
  vec<T> lanes[max_classes][NV];
};
template <class T, class S, int NV> struct b_cleared_view : b_view<T, S, NV> {
  const uint16_t *index;
  const class_bits<T, NV> &bits;
  template <class View>
  b_cleared_view(const S *src, const View &view, int vector, class_bits<T, NV> &bits)
      : b_view<T, S, NV>(src, view, vector), index(view.row_class), bits(bits) {
    for (int c = 0; c < view.classes; ++c)
      for (int v = 0; v < NV; ++v) bits.lanes[c][v] = lanes_of<T>(view.class_mask[vector + v][c]);
  }
  void next(vec<T> (&row)[NV]) {
    b_view<T, S, NV>::next(row);
    const vec<T> *lanes = bits.lanes[*index++];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) row[v] = (vec<T>)((lane_bits<T>)row[v] & (lane_bits<T>)lanes[v]);
  }
};

// The same with masked loads, for the panels at the ends of the array.
template <class T, class S, int NV> struct b_masked_view : b_view<T, S, NV> {
  const uint16_t *index, *mask;
  template <class View>
  b_masked_view(const S *src, const View &view, int vector)
      : b_view<T, S, NV>(src, view, vector), index(view.row_class), mask(view.class_mask[vector]) {}
  void next(vec<T> (&row)[NV]) {
    const int64_t at = *b_view<T, S, NV>::offset++;
    const int c = *index++;
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      const mask_t lanes = mask[v * max_classes + c];
      row[v] = load<T>(lanes ? b_view<T, S, NV>::p[v] + at : b_view<T, S, NV>::p[v], lanes);
    }
  }
};

// C = alpha * sum + beta * C at p + row[m] + lane; the last vector has only the lanes of `last`.
template <class T, class S, int NV> struct c_memory {
  S *p;
  const int64_t *row;
  mask_t last;
  T alpha, beta;
  void operator()(int m, int v, vec<T> sum) const {
    S *at = p + row[m] + v * width<T>;
    sum *= alpha;
    if (v + 1 < NV) {
      store<T>(at, beta != 0 ? sum + beta * load<T>(at) : sum);
    } else {
      store<T>(at, beta != 0 ? sum + beta * load<T>(at, last) : sum, last);
    }
  }
};
} // namespace imbrex
