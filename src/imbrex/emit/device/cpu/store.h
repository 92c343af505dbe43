// Writes a row-major C tile of accumulators to memory: C = alpha * tile + beta * C, converted to the storage type.
//
// The view addresses C; with store_lanes its rows are the tile's rows and its lanes the tile's columns, with
// store_transposed its rows are the tile's columns and its lanes the tile's rows.  Elements that do not exist are
// neither read nor written; beta == 0 never reads C.
#pragma once
#include "pack.h"

namespace imbrex {

template <class T> struct scaling {
  T alpha, beta;
};

// One vector of results to the lanes of `spans` that `mask` admits.
template <class T, class S>
IMBREX_INLINE void store_spans(S *p, vec<T> x, const span *spans, int count, mask_t mask, scaling<T> by) {
  x = by.alpha * x;
  if (by.beta != 0) x += by.beta * load_spans<T, 0>(p, spans, count, mask);
  for (int s = 0; s < count; ++s) {
    mask_t lanes = mask & spans[s].mask;
    if (spans[s].stride == 1)
      store<T>(p + spans[s].base, x, lanes);
    else
      for (; lanes; lanes &= lanes - 1) {
        int j = __builtin_ctz(lanes);
        p[spans[s].base + int64_t(j) * spans[s].stride] = narrow_to<S>::from(T(x[j]));
      }
  }
}

template <class T, class S>
IMBREX_INLINE void scatter(S *p, vec<T> x, const int64_t *offset, mask_t mask, scaling<T> by) {
  for (; mask; mask &= mask - 1) {
    int j = __builtin_ctz(mask);
    S *at = p + offset[j];
    *at = narrow_to<S>::from(by.beta != 0 ? T(by.alpha * x[j] + by.beta * widen(*at)) : T(by.alpha * x[j]));
  }
}

template <class T, class S, class View>
IMBREX_INLINE void store_row(S *dst, vec<T> x, const View &view, int v, int row, scaling<T> by) {
  S *p = dst + view.row_offset[row];
  const mask_t mask = view.mask_of(v, row);
  if (view.span_count[v] > 0)
    store_spans<T>(p, x, view.spans[v], view.span_count[v], mask, by);
  else
    scatter<T>(p, x, view.lane_offset + v * View::W, mask, by);
}

template <class T, class S, int L, int G, int Rows, int Lanes>
static void store_lanes(S *dst, const T *tile, int64_t tile_step, const view<T, L, G, Rows, Lanes> &view,
                        scaling<T> by) {
  constexpr int W = width<T>;
  static_assert(L == W, "a panel of lanes is one vector");
  for (int r = 0; r < view.rows; ++r)
    for (int v = 0; v * W < view.lanes; ++v)
      if (view.is_full[v] && view.span_count[v] == 1 && view.spans[v][0].stride == 1 && by.beta == 0)
        store<T>(dst + view.row_offset[r] + view.spans[v][0].base, by.alpha * load<T>(tile + r * tile_step + v * W));
      else
        store_row<T>(dst, load<T>(tile + r * tile_step + v * W), view, v, r, by);
}

template <class T, class S, int L, int G, int Rows, int Lanes>
static void store_transposed(S *dst, const T *tile, int64_t tile_step, const view<T, L, G, Rows, Lanes> &view,
                             scaling<T> by) {
  constexpr int W = width<T>;
  static_assert(L == W, "a panel of lanes is one vector");
  for (int v = 0; v * W < view.lanes; ++v)
    for (int group = 0; group < view.rows; group += W) {
      const int rows = view.rows - group < W ? view.rows - group : W;
      const int lanes = view.lanes - v * W < W ? view.lanes - v * W : W;
      vec<T> square[W] = {};
      for (int i = 0; i < lanes; ++i) square[i] = load<T>(tile + (v * W + i) * tile_step + group);
      transpose<T>(square);
      for (int r = 0; r < rows; ++r) store_row<T>(dst, square[r], view, v, group + r, by);
    }
}
} // namespace imbrex
