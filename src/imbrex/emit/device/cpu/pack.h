// Copies a panel of a view into a dense buffer, converting the storage type S to the compute type T.
//
//   pack_lanes       dst[row][L]              lanes contiguous in memory, panel of L lanes         (k_major A; B)
//   pack_blocked     dst[lane / W][MR][W]     lanes (k) contiguous in memory, panel of MR rows     (k_blocked A)
//   pack_transposed  dst[lane][L]             lanes (k) contiguous in memory, panel of L rows      (k_major A; B)
// What does not exist is 0 in the panel.  A panel's last vector may be partial; pack_blocked and pack_transposed
// write whole vectors of k, so their buffers hold k rounded up to W.
#pragma once
#include "transpose.h"
#include "unit.h"
#include "even_view.h"

namespace imbrex {

// Bit j to bit 2j.
IMBREX_INLINE mask_t spread(mask_t mask) {
  mask = (mask | mask << 8) & 0x00ff00ff;
  mask = (mask | mask << 4) & 0x0f0f0f0f;
  mask = (mask | mask << 2) & 0x33333333;
  return (mask | mask << 1) & 0x55555555;
}

// An element as a lane of T: its value, or the bits of a narrow one as a word.
template <class T, class S> IMBREX_INLINE T lane_of(S x) {
  if constexpr (is_same<T, uint32_t>)
    return bits_of(x);
  else
    return widen(x);
}

// Lanes `mask` of one vector from addresses p + offset[lane].
template <class T, class S, class Offsets> IMBREX_INLINE vec<T> gather(const S *p, Offsets offset, mask_t mask) {
  vec<T> v{};
  for (; mask; mask &= mask - 1) {
    int j = __builtin_ctz(mask);
    v[j] = lane_of<T>(p[offset[j]]);
  }
  return v;
}

// The lanes of `spans[0 .. count)` that `mask` admits.
template <class T, class S> IMBREX_INLINE vec<T> load_spans(const S *p, const span *spans, int count, mask_t mask) {
  vec<T> v{};
  for (int s = 0; s < count; ++s) {
    const mask_t lanes = mask & spans[s].mask;
    if (spans[s].stride == 1) {
      v = load<T>(p + spans[s].base, lanes, v);
    } else {
      constexpr int W = width<T>;
      const mask_t both = spread(lanes);
      vec<T> low = load<T>(p + spans[s].base, both & all_lanes<T>);
      vec<T> high = load<T>(p + spans[s].base + W, both >> W);
      v = (vec<T>)((lane_bits)v | (lane_bits)even_lanes<T>(low, high));
    }
  }
  return v;
}

template <class T, class S, class View> IMBREX_INLINE vec<T> load_any(const S *p, const View &view, int v, mask_t mask) {
  if (view.span_count[v] > 0) return load_spans<T>(p, view.spans[v], view.span_count[v], mask);
  return gather<T>(p, view.lane_offset + v * View::W, mask);
}

// How many elements further along a row is fetched while it is packed: the next vectors, or panels, of a view that rows
// cross in steps too long for the hardware's prefetcher.
constexpr int ahead = 64;
constexpr int vectors_ahead = 12; // the same of vectors of several runs, each of which may be a page of its own

// Calls body(row, vector) for rows [first, end) of vector v, whose spans, up to Count, all have that stride.  The masks
// of every second element are made anew only where a row has other lanes than the one before: making one takes longer than a
// load.
template <class T, int Count, int Stride, class S, class View, class Body>
IMBREX_INLINE void each_row_of_spans(const S *src, const View &view, int v, int first, int end, Body body) {
  constexpr int W = width<T>;
  span spans[Count] = {};
  for (int s = 0; s < view.span_count[v]; ++s) spans[s] = view.spans[v][s];
  mask_t known = view.class_mask[v][0], both[Count];
  for (int s = 0; s < Count; ++s) both[s] = spread(known & spans[s].mask);
  for (int r = first; r < end; ++r) {
    const mask_t lanes = view.class_mask[v][view.row_class[r]];
    const S *p = src + view.row_offset[r];
    vec<T> low{}, high{};
    if (Stride == 2 && lanes != known) {
      known = lanes;
      for (int s = 0; s < Count; ++s) both[s] = spread(known & spans[s].mask);
    }
#pragma GCC unroll 4
    for (int s = 0; s < Count; ++s)
      if constexpr (Stride == 1) {
        low = load<T>(p + spans[s].base, lanes & spans[s].mask, low);
      } else {
        low = load<T>(p + spans[s].base, both[s] & all_lanes<T>, low);
        high = load<T>(p + spans[s].base + W, both[s] >> W, high);
      }
    if constexpr (Stride == 1)
      body(r, low);
    else
      body(r, even_lanes<T>(low, high));
  }
}

// The same where all that the spans' loads cover lies in the array, whether it exists or not: none has a mask, and what is
// not of the row's lanes is cleared.
template <class T, int Count, int Stride, class S, class View, class Body>
IMBREX_INLINE void each_row_inside(const S *src, const View &view, int v, int first, int end, Body body) {
  constexpr int W = width<T>;
  const S *p[Count];
  lane_bits kept[Count];
  mask_t known = view.class_mask[v][0];
  const auto keep = [&] {
    for (int s = 0; s < Count; ++s) kept[s] = (lane_bits)lanes_of<T>(known & view.spans[v][s].mask);
  };
  for (int s = 0; s < Count; ++s) p[s] = src + view.spans[v][s].base;
  keep();
  for (int r = first; r < end; ++r) {
    if (const mask_t lanes = view.class_mask[v][view.row_class[r]]; lanes != known) known = lanes, keep();
    const int64_t at = view.row_offset[r];
    lane_bits found{};
#pragma GCC unroll 2
    for (int s = 0; s < Count; ++s)
      if constexpr (Stride == 1)
        found |= (lane_bits)load<T>(p[s] + at) & kept[s];
      else
        found |= (lane_bits)even_lanes<T>(load<T>(p[s] + at), load<T>(p[s] + at + W)) & kept[s];
    body(r, (vec<T>)found);
  }
}

// The same of a vector of many spans, element by element.
template <class T, class S, class View, class Body>
IMBREX_INLINE void each_row_of_elements(const S *src, const View &view, int v, int first, int end, Body body) {
  constexpr int W = width<T>;
  const auto offset = view.lane_offset + v * W;
  const S *p[W];
  for (int j = 0; j < W; ++j) p[j] = src + offset[view.used[v] >> j & 1 ? j : __builtin_ctz(view.used[v])];
  mask_t known = view.class_mask[v][0];
  lane_bits kept = (lane_bits)lanes_of<T>(known);
  for (int r = first; r < end; ++r) {
    if (const mask_t lanes = view.class_mask[v][view.row_class[r]]; lanes != known)
      known = lanes, kept = (lane_bits)lanes_of<T>(known);
    const int64_t at = view.row_offset[r];
    vec<T> found{};
#pragma GCC unroll 16
    for (int j = 0; j < W; ++j) found[j] = lane_of<T>(p[j][at]);
    body(r, (vec<T>)((lane_bits)found & kept));
  }
}

// The stride of all spans of vector v, or 0.
template <class View> static int stride_of(const View &view, int v) {
  for (int s = 1; s < view.span_count[v]; ++s)
    if (view.spans[v][s].stride != view.spans[v][0].stride) return 0;
  return view.span_count[v] > 0 ? view.spans[v][0].stride : 0;
}

// The same in whichever of these two ways is open; false where none is.
template <class T, class S, class View, class Body>
IMBREX_INLINE bool each_row_unmasked(const S *src, const View &view, int v, int first, int end, Body body) {
  const int n = view.span_count[v], stride = stride_of(view, v);
  const bool has_few = n > 0 && stride > 0 && n * stride <= 2;
  if (has_few && view.has_spans_inside(v)) {
    if (n == 2)
      each_row_inside<T, 2, 1>(src, view, v, first, end, body);
    else if (stride == 1)
      each_row_inside<T, 1, 1>(src, view, v, first, end, body);
    else
      each_row_inside<T, 1, 2>(src, view, v, first, end, body);
    return true;
  }
  if (n * stride == 1 || !view.has_lanes_inside(v)) return false;
  each_row_of_elements<T>(src, view, v, first, end, body);
  return true;
}

// Calls body(row, vector) for rows [first, first + count) of vector v, the kind of load decided outside of the loop.
// A masked load without lanes is slow where its address has no page, so it gets another address.
template <class T, class S, class View, class Body>
IMBREX_INLINE void each_row(const S *src, const View &view, int v, int first, int count, Body body) {
  const int end = first + count, n = view.span_count[v], stride = stride_of(view, v);
  const int64_t *offset = view.row_offset;
  const auto &index = view.row_class;
  const auto &mask = view.class_mask[v];
  const span one = view.spans[v][0];
  const S *p = src + one.base;
  if constexpr (!has_masks && is_same<T, S>)
    if (!view.is_wild && !(n == 1 && one.stride == 1 && view.is_full[v]))
      if (each_row_unmasked<T>(src, view, v, first, end, body)) return;
  if (view.is_wild) {
    for (int r = first; r < end; ++r) body(r, load_any<T>(src + offset[r], view, v, view.mask_of(v, r)));
  } else if (n == 1 && one.stride == 1 && view.is_full[v]) {
    for (int r = first; r < end; ++r) {
      __builtin_prefetch(p + offset[r] + ahead);
      body(r, load<T>(p + offset[r]));
    }
  } else if (n == 1 && one.stride == 1 && !view.has_empty[v]) {
    for (int r = first; r < end; ++r) body(r, load<T>(p + offset[r], mask[index[r]]));
  } else if (n == 1 && one.stride == 1) {
    for (int r = first; r < end; ++r) {
      const mask_t lanes = mask[index[r]];
      body(r, load<T>(lanes ? p + offset[r] : src, lanes));
    }
  } else if (n == 2 && stride == 1) {
    each_row_of_spans<T, 2, 1>(src, view, v, first, end, body);
  } else if (n <= 4 && stride == 1) {
    each_row_of_spans<T, 4, 1>(src, view, v, first, end, body);
  } else if (n == 1) {
    each_row_of_spans<T, 1, 2>(src, view, v, first, end, body);
  } else if (n == 2 && stride == 2) {
    each_row_of_spans<T, 2, 2>(src, view, v, first, end, body);
  } else if (n <= 4 && stride == 2) {
    each_row_of_spans<T, 4, 2>(src, view, v, first, end, body);
  } else {
    for (int r = first; r < end; ++r) body(r, load_any<T>(src + offset[r], view, v, mask[index[r]]));
  }
}

// dst[row][L] of `rows` rows from `first` on, where every vector of the panel is full and plain.
template <class T, class S, class View>
IMBREX_INLINE void pack_full_lanes(T *dst, const S *src, const View &view, int panel, int first, int rows) {
  constexpr int V = View::V;
  const S *p[V];
  for (int i = 0; i < V; ++i) p[i] = src + view.spans[panel * V + i][0].base;
  for (int r = first; r < first + rows; ++r) {
    const int64_t at = view.row_offset[r];
#pragma GCC unroll 8
    for (int i = 0; i < V; ++i) store<T>(dst + int64_t(r) * View::panel_lanes + i * width<T>, load<T>(p[i] + at));
  }
}

template <class View> static bool is_full_panel(const View &view, int panel) {
  if (View::panel_lanes % View::W != 0 || !view.is_plain(panel * View::V, View::V)) return false;
  for (int i = 0; i < View::V; ++i)
    if (!view.is_full[panel * View::V + i]) return false;
  return true;
}

// dst[row][L]: every row of the view, lanes of one panel.
template <class T, class S, class View>
static void pack_lanes(T *dst, const S *src, const View &view, int panel) {
  constexpr int W = View::W, V = View::V, L = View::panel_lanes;
  if (is_full_panel(view, panel)) return pack_full_lanes(dst, src, view, panel, 0, view.rows);
  for (int i = 0; i < V; ++i) {
    T *out = dst + i * W;
    const mask_t stored = first_lanes(L - i * W) & all_lanes<T>;
    if (stored == all_lanes<T>)
      each_row<T>(src, view, panel * V + i, 0, view.rows, [&](int r, vec<T> x) { store<T>(out + int64_t(r) * L, x); });
    else
      each_row<T>(src, view, panel * V + i, 0, view.rows,
                  [&](int r, vec<T> x) { store<T>(out + int64_t(r) * L, x, stored); });
  }
}

// The same of the rows of classes that are `kept`, one after another: one that is not is overwritten by the next.
template <class T, class S, class View>
static void pack_lanes(T *dst, const S *src, const View &view, int panel, const bool *kept) {
  constexpr int W = View::W, V = View::V, L = View::panel_lanes;
  static_assert(L % W == 0, "a panel has whole vectors");
  for (int i = 0; i < V; ++i) {
    T *out = dst + i * W;
    each_row<T>(src, view, panel * V + i, 0, view.rows, [&](int r, vec<T> x) {
      store<T>(out, x);
      out += kept[view.row_class[r]] ? L : 0;
    });
  }
}

// Panels [first, first + count), `step` elements apart.  Full ones are packed a few rows of all of them at a time: rows
// that lie pages apart then cost one translation each, not one a panel.
template <class T, class S, class View>
static void pack_panels(T *dst, int64_t step, const S *src, const View &view, int first,
                        int count) {
  constexpr int rows_together = 8;
  int full = 0;
  while (full < count && is_full_panel(view, first + full)) ++full;
  for (int r = 0; r < view.rows; r += rows_together)
    for (int i = 0; i < full; ++i)
      pack_full_lanes(dst + i * step, src, view, first + i, r,
                      view.rows - r < rows_together ? view.rows - r : rows_together);
  for (int i = full; i < count; ++i) pack_lanes(dst + i * step, src, view, first + i);
}

// dst[lane / W][MR][W]: rows [first, first + MR) of the view, every lane; rows past the view's are 0.
template <int MR, class T, class S, class View>
static void pack_blocked(T *dst, const S *src, const View &view, int first) {
  constexpr int W = width<T>;
  static_assert(View::panel_lanes == W, "a panel of lanes is one vector");
  const int left = view.rows - first, count = left < MR ? left : MR;
  for (int v = 0; v * W < view.lanes; ++v, dst += MR * W) {
    if constexpr (vectors_ahead * W < View::most_lanes)
      if (const int next = v + vectors_ahead; next * W < view.lanes && view.span_count[next] > 1)
        for (int r = first; r < first + count; ++r)
          __builtin_prefetch(src + view.row_offset[r] + view.spans[next][0].base);
    each_row<T>(src, view, v, first, count, [&](int r, vec<T> x) { store<T>(dst + (r - first) * W, x); });
    for (int r = count; r < MR; ++r) store<T>(dst + r * W, vec<T>{});
  }
}

// dst[lane][Panel]: rows [first, first + Panel) of the view become lanes, W x W at a time.
template <int Panel, class T, class S, class View>
static void pack_transposed(T *dst, const S *src, const View &view, int first) {
  constexpr int W = width<T>;
  static_assert(View::panel_lanes == W, "a panel of lanes is one vector");
  for (int v = 0; v * W < view.lanes; ++v, dst += Panel * W)
    for (int group = 0; group < Panel; group += W) {
      const int64_t *offset = view.row_offset + first + group;
      const int left = view.rows - first - group;
      const bool is_full = view.is_full[v], is_alike = is_full || (turns_cut_rows && view.classes == 1); // a last vector of k may be cut
      const bool is_plain = is_alike && view.is_plain(v, 1);
      const S *p = src + view.spans[v][0].base;
      const auto row = [&](int i) IMBREX_INLINED {
        __builtin_prefetch(p + offset[i] + ahead);
        return p + offset[i];
      };
      if (left >= W && is_full && is_plain) {
        vec<T> square[W];
        load_transposed<T>(square, W, row);
        put_square<Panel>(dst, group, square);
      } else if ((turns_cut_rows || (loads_halves && is_same<T, S>)) && left > 0 && is_plain) {
        vec<T> square[W];
        if constexpr (turns_cut_rows)
          load_transposed<T>(square, left, row, view.class_mask[v][0]);
        else
          load_transposed<T>(square, left, row);
        put_square<Panel>(dst, group, square);
      } else {
        vec<T> square[W] = {};
        each_row<T>(src, view, v, first + group, left < W ? left : W,
                    [&](int r, vec<T> x) { square[r - first - group] = x; });
        transpose<T>(square);
        put_square<Panel>(dst, group, square);
      }
    }
}

// dst[column][step]: elements (row, lane first + column), for `count` lanes of the view.
template <class T, class S, class View>
static void pack_columns(T *dst, int64_t step, const S *src, const View &view, int first, int count) {
  for (int c = 0; c < count; ++c, dst += step) {
    const int lane = first + c, v = lane / View::panel_lanes * View::V + lane % View::panel_lanes / View::W;
    const int j = lane % View::panel_lanes % View::W;
    for (int r = 0; r < view.rows; ++r)
      dst[r] = view.mask_of(v, r) >> j & 1 ? widen(src[view.row_offset[r] + view.lane_offset[v * View::W + j]]) : T(0);
    for (int r = view.rows; r < step; ++r) dst[r] = 0;
  }
}
} // namespace imbrex
