// Writes a row-major tile of accumulators to memory: C = alpha * tile + beta * C, converted to the storage type.
//
// The view addresses C; with store_lanes its rows are the tile's rows and its lanes the tile's columns, with
// store_transposed its rows are the tile's columns and its lanes the tile's rows.  The tile stands for the part of the
// view that begins at (row, vector).  Elements that do not exist are neither read nor written; beta == 0 never reads C.
#pragma once
#include "pack.h"
#include "../common/scale.h"

namespace imbrex {

template <class T> struct scaling {
  T alpha, beta;
  static constexpr bool is_plain() { return true; }
};

// Where a tile lies in its view, and how much of it there is: whole vectors of lanes.
struct part {
  int row, rows, vector, vectors;
};

// One vector of results to the lanes of `spans` that `mask` admits.
template <class T, class S>
IMBREX_INLINE void store_spans(S *p, vec<T> x, const span *spans, int count, mask_t mask, scaling<T> by) {
  x = times(by.alpha, x);
  if (by.beta != 0) x += by.beta * load_spans<T>(p, spans, count, mask);
  for (int s = 0; s < count; ++s) {
    mask_t lanes = mask & spans[s].mask;
    if (!lanes) continue;
    if (spans[s].stride == 1)
      store<T>(p + spans[s].base, x, lanes);
    else
      for (; lanes; lanes &= lanes - 1) {
        const int j = __builtin_ctz(lanes);
        p[spans[s].base + int64_t(j) * spans[s].stride] = narrow_to<S>::from(T(x[j]));
      }
  }
}

template <class T, class S, class Offsets>
IMBREX_INLINE void scatter(S *p, vec<T> x, Offsets offset, mask_t mask, scaling<T> by) {
  for (; mask; mask &= mask - 1) {
    const int j = __builtin_ctz(mask);
    S *at = p + offset[j];
    *at = narrow_to<S>::from(by.beta != 0 ? T(times(by.alpha, x[j]) + by.beta * widen(*at)) : times(by.alpha, x[j]));
  }
}

// One vector of an array whose elements lie as those of the view do: the lanes that row has.
template <class T, class S, class View> IMBREX_INLINE vec<T> load_row(const S *src, const View &view, int v, int row) {
  const S *p = src + view.row_offset[row];
  if (view.is_full[v] && view.is_plain(v, 1)) return load<T>(p + view.spans[v][0].base);
  if (view.span_count[v] > 0) return load_spans<T>(p, view.spans[v], view.span_count[v], view.mask_of(v, row));
  return gather<T>(p, view.lane_offset + v * View::W, view.mask_of(v, row));
}

// Neighbours, of which the lanes of `mask` exist.
template <class T, class S> IMBREX_INLINE vec<T> load_some(const S *p, mask_t mask) {
  return mask == all_lanes<T> ? load<T>(p) : load<T>(p, mask);
}

template <class T, class S> IMBREX_INLINE void store_some(S *p, vec<T> x, mask_t mask) {
  return mask == all_lanes<T> ? store<T>(p, x) : store<T>(p, x, mask);
}

// Lane j of `mask` to place(first + j).
template <class T, class S, class Place>
IMBREX_INLINE void store_each(S *p, int32_t first, mask_t mask, vec<T> x, Place place) {
  for (; mask; mask &= mask - 1) {
    const int j = __builtin_ctz(mask);
    p[place(first + j)] = narrow_to<S>::from(T(x[j]));
  }
}

// element(first + j) in lane j of `mask`.
template <class T, class Element> IMBREX_INLINE vec<T> of_each(int32_t first, mask_t mask, Element element) {
  vec<T> found{};
  for (; mask; mask &= mask - 1) {
    const int j = __builtin_ctz(mask);
    found[j] = element(first + j);
  }
  return found;
}

template <class Vector> struct lane_of_vector;
template <> struct lane_of_vector<vec<float>> {
  typedef float type;
};
template <> struct lane_of_vector<vec<double>> {
  typedef double type;
};
template <> struct lane_of_vector<vec<int32_t>> {
  typedef int32_t type;
};
template <class Vector> using lane_type = typename lane_of_vector<Vector>::type;

// A vector as the array that it would be in memory.
template <class T> struct alignas(vector_bytes) elements {
  T at[width<T>];
};

// f of every lane.  The loop over arrays becomes vectors again; unrolled first, as so short a one would be, it does not.
template <class R, class F, class... T> IMBREX_INLINE vec<R> each_element(F f, const elements<T> &...x) {
  elements<R> made;
#pragma GCC unroll 1
  for (int j = 0; j < width<R>; ++j) made.at[j] = f(x.at[j]...);
  return bit_cast<vec<R>>(made);
}
template <class R, class F, class... V> IMBREX_INLINE vec<R> each_lane(F f, V... v) {
  return each_element<R>(f, bit_cast<elements<lane_type<V>>>(v)...);
}

template <class T, class S, class View>
IMBREX_INLINE void store_row(S *dst, vec<T> x, const View &view, int v, int row, scaling<T> by) {
  S *p = dst + view.row_offset[row];
  if (view.span_count[v] > 0)
    store_spans<T>(p, x, view.spans[v], view.span_count[v], view.mask_of(v, row), by);
  else
    scatter<T>(p, x, view.lane_offset + v * View::W, view.mask_of(v, row), by);
}

// *p += x, whoever else adds to it at the same time.
template <class T> IMBREX_INLINE void atomic_add(T *p, T x) {
  typename same_size_int<sizeof(T)>::type *bits = (decltype(bits))p;
  auto old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(bits, &old, bit_cast<decltype(old)>(T(bit_cast<T>(old) + x)), true,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

template <class T, class View>
IMBREX_INLINE void add_row(T *dst, vec<T> x, const View &view, int v, int row, scaling<T> by) {
  T *p = dst + view.row_offset[row];
  for (mask_t lanes = view.mask_of(v, row); lanes; lanes &= lanes - 1) {
    const int j = __builtin_ctz(lanes);
    atomic_add(p + view.lane_offset[v * View::W + j], times(by.alpha, x[j]));
  }
}

// The same as scaling, then through an epilogue: finish(vector, v, r, lanes) says what is stored instead of vector v of
// row r.  InSteps: in the last step only, before which C holds the sums.
template <class T, class Finish, bool InSteps = false> struct finishing : scaling<T> {
  Finish finish;
  bool is_last = true;
  bool is_plain() const { return InSteps && !is_last; }
};

// What becomes of one vector of the tile.
struct storing {
  template <class T, class S, class View>
  static void row(S *dst, vec<T> x, const View &view, int v, int r, scaling<T> by) {
    if (view.is_full[v] && view.span_count[v] == 1 && view.spans[v][0].stride == 1 && by.beta == 0)
      store<T>(dst + view.row_offset[r] + view.spans[v][0].base, times(by.alpha, x));
    else
      store_row<T>(dst, x, view, v, r, by);
  }
  template <class T, class S, class View, class Finish, bool InSteps>
  static void row(S *dst, vec<T> x, const View &view, int v, int r, const finishing<T, Finish, InSteps> &by) {
    if (by.is_plain()) return row<T>(dst, x, view, v, r, scaling<T>{by.alpha, by.beta});
    x = times(by.alpha, x);
    if (by.beta != 0) x += by.beta * load_row<T>(dst, view, v, r);
    const auto made = by.finish(x, v, r, view.mask_of(v, r));
    typedef lane_type<decltype(by.finish(x, v, r, 0))> lane;
    row<lane>(dst, made, view, v, r, scaling<lane>{1, 0});
  }
};
struct adding {
  template <class T, class S, class View>
  static void row(S *dst, vec<T> x, const View &view, int v, int r, scaling<T> by) {
    add_row<T>(dst, x, view, v, r, by);
  }
};

// Rows of the tile are rows of the view.
template <class Act, class T, class S, class View>
static void put_lanes(S *dst, const T *tile, int64_t tile_step, const View &view, scaling<T> by, part at) {
  for (int r = 0; r < at.rows; ++r)
    for (int v = 0; v < at.vectors; ++v)
      Act::template row<T>(dst, load<T>(tile + r * tile_step + v * width<T>), view, at.vector + v, at.row + r, by);
}

// The same through an epilogue: a vector of all rows at a time, so that what they share is looked at once.
template <class Act, class T, class S, class View, class Finish, bool InSteps>
static void put_lanes(S *dst, const T *tile, int64_t tile_step, const View &view, const finishing<T, Finish, InSteps> &by,
                      part at) {
  for (int v = at.vector; v < at.vector + at.vectors; ++v, tile += width<T>) {
    if (by.is_plain() || !view.is_full[v] || !view.is_plain(v, 1)) {
      for (int r = 0; r < at.rows; ++r) Act::template row<T>(dst, load<T>(tile + r * tile_step), view, v, at.row + r, by);
      continue;
    }
    for (int r = 0; r < at.rows; ++r) {
      S *const to = dst + view.spans[v][0].base + view.row_offset[at.row + r];
      vec<T> x = times(by.alpha, load<T>(tile + r * tile_step));
      if (by.beta != 0) x += by.beta * load<T>(to);
      store<lane_type<decltype(by.finish(x, v, r, 0))>>(to, by.finish(x, v, at.row + r, all_lanes<T>));
    }
  }
}

// A whole square of the tile, W x W, whose rows are lanes of vector v: in registers all the way, and where vectors lie plainly
// with no question each.
template <class Act, class T, class S, class View, class By>
IMBREX_INLINE void put_square(S *dst, const T *tile, int64_t tile_step, const View &view, By by, int v, int row) {
  constexpr int W = width<T>;
  vec<T> square[W];
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) square[i] = load<T>(tile + i * tile_step);
  transpose<T>(square);
  if constexpr (is_same<Act, storing> && is_same<By, scaling<T>>)
    if (view.is_full[v] && view.is_plain(v, 1) && by.beta == 0) {
#pragma GCC unroll 16
      for (int i = 0; i < W; ++i) square[i] = times(by.alpha, square[i]);
      S *const to = dst + view.spans[v][0].base;
#pragma GCC unroll 16
      for (int r = 0; r < W; ++r) store<T>(to + view.row_offset[row + r], square[r]);
      return;
    }
  for (int r = 0; r < W; ++r) Act::template row<T>(dst, square[r], view, v, row + r, by);
}

// Rows of the tile are lanes of the view; the tile holds whole vectors both ways.
template <class Act, class T, class S, class View, class By>
static void put_transposed(S *dst, const T *tile, int64_t tile_step, const View &view, By by, part at) {
  constexpr int W = width<T>;
  for (int v = 0; v < at.vectors; ++v)
    for (int group = 0; group < at.rows; group += W) {
      const int lanes = view.lanes - (at.vector + v) * W, some = lanes < W ? lanes : W;
      const int rows = at.rows - group < W ? at.rows - group : W;
      const T *from = tile + v * W * tile_step + group;
      if (some == W && rows == W) {
        put_square<Act>(dst, from, tile_step, view, by, at.vector + v, at.row + group);
        continue;
      }
      vec<T> square[W] = {};
      for (int i = 0; i < some; ++i) square[i] = load<T>(from + i * tile_step);
      transpose<T>(square);
      for (int r = 0; r < rows; ++r)
        Act::template row<T>(dst, square[r], view, at.vector + v, at.row + group + r, by);
    }
}

template <class View> IMBREX_INLINE part whole(const View &view) {
  static_assert(View::V == 1 && View::panels == View::vectors, "a panel of lanes is one vector");
  return {0, view.rows, 0, (view.lanes + View::W - 1) / View::W};
}

template <class T, class S, class View, class By>
IMBREX_INLINE void store_lanes(S *dst, const T *tile, int64_t tile_step, const View &view, By by) {
  put_lanes<storing>(dst, tile, tile_step, view, by, whole(view));
}
template <class T, class S, class View, class By>
IMBREX_INLINE void store_transposed(S *dst, const T *tile, int64_t tile_step, const View &view, By by) {
  put_transposed<storing>(dst, tile, tile_step, view, by, whole(view));
}
template <class T, class View>
IMBREX_INLINE void add_lanes(T *dst, const T *tile, int64_t tile_step, const View &view, scaling<T> by) {
  put_lanes<adding>(dst, tile, tile_step, view, by, whole(view));
}
template <class T, class View>
IMBREX_INLINE void add_transposed(T *dst, const T *tile, int64_t tile_step, const View &view, scaling<T> by) {
  put_transposed<adding>(dst, tile, tile_step, view, by, whole(view));
}
} // namespace imbrex
