// Sources of B that read a view where it lies: no panel is packed.
//
// The view's rows are k, its lanes n, and each vector is one span of stride 1 (`is_plain`).
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

// The same where some elements do not exist but lie in the array (`is_inside`): they are loaded and cleared by the bits
// of their row's class.  Masked loads would take issue slots from the multiply-adds, some 8 % of a 3x3 layer's time.
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

} // namespace imbrex
