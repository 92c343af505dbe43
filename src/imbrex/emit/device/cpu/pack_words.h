// Panels of narrow elements, words of which an instruction takes whole: `together` neighbours along k.  Memory has them
// as they are in panels, or narrower still.
//
//   lanes        dst[row / K][L][K]            lanes contiguous in memory, panel of L lanes          (k_major A; B)
//   blocked      dst[lane / V][MR][V]          lanes (k) contiguous in memory, panel of MR rows      (k_blocked A)
//   transposed   dst[lane / K][L][K]           lanes (k) contiguous in memory, panel of L rows       (k_major A; B)
// where K is `together` and V the elements of a vector.  What does not exist is 0, up to a whole word along rows - a whole
// tile of words, for tiles - and to a whole vector of words along lanes.
#pragma once
#include "extent.h"
#include "pack.h"
#include "unit.h"

namespace imbrex {

template <class U> struct word_panels {
  typedef element_of_unit<U> E;
  typedef typename unit<U>::words words;
  static constexpr int K = unit<U>::together, W = width<sum_of_unit<U>>, bits = 8 * int(sizeof(E));
  static constexpr int part = k_width<U> / W, parts = K / part; // a word is parts of 32 bits
  template <class S> using from = words_from<U, S>;
  template <class S> using lane = typename words_from<U, S>::lane;

  template <class S, class View> static void lanes(E *dst, const S *src, const View &view, int panel) {
    end_tile<View::panel_lanes>(dst, view.rows);
    if (is_full_panel(view, panel)) return full_lanes(dst, src, view, panel, 0, view.rows);
    constexpr int together = 32;
    words some[together];
    for (int i = 0; i < View::V; ++i)
      for (int first = 0; first < view.rows; first += together) {
        const int rows = view.rows - first < together ? view.rows - first : together;
        each_row<lane<S>>(src, view, panel * View::V + i, first, rows,
                               [&](int r, vec<lane<S>> x) { some[r - first] = from<S>::bits(x); });
        E *out = dst + int64_t(first) * View::panel_lanes + i * W * K;
        const int kept = View::panel_lanes - i * W < W ? View::panel_lanes - i * W : W;
        for (int r = 0; r < rows; r += K, out += View::panel_lanes * K)
          put_first(out, kept, [&](int at) { return some[at]; }, r, rows);
      }
  }

  // Full panels a few rows of all of them at a time, as pack_panels does.
  template <class S, class View>
  static void panels(E *dst, int64_t step, const S *src, const View &view, int first, int count) {
    constexpr int rows_together = 8;
    int full = 0;
    while (full < count && is_full_panel(view, first + full)) ++full;
    for (int r = 0; r < view.rows; r += rows_together)
      for (int i = 0; i < full; ++i)
        full_lanes(dst + i * step, src, view, first + i, r, view.rows - r < rows_together ? view.rows - r : rows_together);
    for (int i = 0; i < full; ++i) end_tile<View::panel_lanes>(dst + i * step, view.rows);
    for (int i = full; i < count; ++i) lanes(dst + i * step, src, view, first + i);
  }

  template <int MR, class S, class View> static void blocked(E *dst, const S *src, const View &view, int first) {
    const int left = view.rows - first, count = left < MR ? left : MR;
    for (int v = 0; v * W < view.lanes; v += part, dst += MR * k_width<U>) {
      each_along(src, view, v, first, count, [&](int m, words x) { store_words(dst + m * k_width<U>, x); });
      for (int m = count; m < MR; ++m) store_words(dst + m * k_width<U>, words{});
    }
  }

  template <int Panel, class S, class View> static void transposed(E *dst, const S *src, const View &view, int first) {
    for (int v = 0; v * W < view.lanes; v += part, dst += Panel * k_width<U>)
      for (int group = 0; group < Panel; group += W) {
        const int left = view.rows - first - group;
        words square[W] = {};
        if (left >= W && is_whole(view, v)) {
#pragma GCC unroll 16
          for (int i = 0; i < W; ++i) {
            const S *p = src + view.spans[v][0].base + view.row_offset[first + group + i];
            __builtin_prefetch(p + ahead);
            square[i] = from<S>::load(p);
          }
        } else {
          each_along(src, view, v, first + group, left < W ? left : W, [&](int i, words x) { square[i] = x; });
        }
        transpose<uint32_t>(square);
        if constexpr (Panel % W == 0) {
#pragma GCC unroll 16
          for (int i = 0; i < W; i += parts) store_word_vectors(dst + (i / parts * Panel + group) * K, square + i);
        } else {
          const int kept = Panel - group < W ? Panel - group : W;
          for (int i = 0; i < W; ++i)
            for (int j = 0; j < kept; ++j)
              store_part(dst + (i / parts * Panel + group + j) * K + i % parts * part, square[i][j]);
        }
      }
  }

  template <class S, class View>
  static void columns(E *dst, int64_t step, const S *src, const View &view, int first, int count) {
    for (int c = 0; c < count; ++c, dst += step) {
      const int lane = first + c, v = lane / View::panel_lanes * View::V + lane % View::panel_lanes / W;
      const int j = lane % View::panel_lanes % W;
      for (int r = 0; r < step; ++r) {
        const bool exists = r < view.rows && (view.mask_of(v, r) >> j & 1);
        dst[r] = exists ? from<S>::element(src[view.row_offset[r] + view.lane_offset[v * W + j]]) : from_bits<E>(0);
      }
    }
  }

  // Words of neighbours along the rows r .. r + K - 1, of which those from `end` on do not exist.
  template <class Row> IMBREX_INLINE void put(E *out, Row row, int r, int end) {
    words found[parts] = {};
    if (end - r >= K) {
#pragma GCC unroll 8
      for (int t = 0; t < K; ++t) found[t / part] |= row(r + t) << (bits * (t % part));
    } else {
      for (int t = 0; t < end - r; ++t) found[t / part] |= row(r + t) << (bits * (t % part));
    }
    store_word_vectors(out, found);
  }

  // The first `kept` columns of these: the words beyond a panel are the next row's.
  template <class Row> IMBREX_INLINE void put_first(E *out, int kept, Row row, int r, int end) {
    if (kept == W) return put(out, row, r, end);
    alignas(64) E all[W * K];
    put(all, row, r, end);
    __builtin_memcpy(out, all, kept * K * sizeof(E));
  }

private:
  // Zeros behind `rows`, to the end of a tile.
  template <int L> IMBREX_INLINE void end_tile(E *dst, int rows) {
    if constexpr (has_tiles<U>)
      __builtin_memset(dst + round_up(rows, K) * L, 0, (round_up(rows, k_width<U>) - round_up(rows, K)) * L * sizeof(E));
  }
  IMBREX_INLINE void store_words(E *p, words x) { *(typename vector_of<uint32_t, vector_bytes>::loose *)p = x; }
  // W words, of their parts.
  IMBREX_INLINE void store_word_vectors(E *p, const words *x) {
    if constexpr (parts == 1) {
      store_words(p, x[0]);
    } else {
      store_words(p, interleaved<uint32_t, false>(x[0], x[1]));
      store_words(p + k_width<U>, interleaved<uint32_t, true>(x[0], x[1]));
    }
  }
  IMBREX_INLINE void store_part(E *p, uint32_t x) {
    __builtin_memcpy(p, &x, sizeof(x));
  }

  template <class S, class View> static void full_lanes(E *dst, const S *src, const View &view, int panel, int first, int rows) {
    constexpr int V = View::V;
    const S *p[V];
    for (int i = 0; i < V; ++i) p[i] = src + view.spans[panel * V + i][0].base;
    for (int r = first; r < first + rows; r += K)
#pragma GCC unroll 8
      for (int i = 0; i < V; ++i)
        put(
            dst + int64_t(r) * View::panel_lanes + i * W * K,
            [&](int at) { return from<S>::bits(load<lane<S>>(p[i] + view.row_offset[at])); }, r, first + rows);
  }

  // The elements of a vector from vector v on are neighbours in memory that all exist.
  template <class View> static bool is_whole(const View &view, int v) {
    if (v + part > View::vectors || !view.is_contiguous(v, part)) return false;
    for (int i = v; i < v + part; ++i)
      if (!view.is_full[i]) return false;
    return true;
  }

  // body(i, row first + i's elements of a vector from vector v on) of `count` rows.
  template <class S, class View, class Body>
  IMBREX_INLINE void each_along(const S *src, const View &view, int v, int first, int count, const Body &body) {
    const S *const p = src + view.spans[v][0].base;
    if (is_whole(view, v)) {
      for (int i = 0; i < count; ++i) body(i, from<S>::load(p + view.row_offset[first + i]));
      return;
    }
    const int some = (view.lanes + W - 1) / W - v < part ? (view.lanes + W - 1) / W - v : part;
    if (view.is_wild || !view.is_contiguous(v, some)) {
      for (int i = 0; i < count; ++i) body(i, along(src, view, v, some, first + i));
      return;
    }
    for (int i = 0; i < count; ++i) {
      const int index = view.row_class[first + i];
      uint64_t mask = 0;
      for (int j = 0; j < some; ++j) mask |= uint64_t(view.class_mask[v + j][index]) << j * W;
      if constexpr (loads_masked<words, S>)
        body(i, from<S>::load(p + view.row_offset[first + i], mask));
      else if (mask == ~uint64_t(0) >> (64 - some * W)) // all of a pixel's channels, or none
        body(i, first_vectors(p + view.row_offset[first + i], some));
      else
        body(i, mask == 0 ? words{} : along(src, view, v, some, first + i));
    }
  }

  // Neighbours of `some` vectors, and zeros behind them.
  template <int Some = 1, class S> IMBREX_INLINE words first_vectors(const S *p, int some) {
    if constexpr (Some == part) {
      return from<S>::load(p);
    } else {
      if (some > Some) return first_vectors<Some + 1>(p, some);
      typename from<S>::narrow found{};
      __builtin_memcpy(&found, p, Some * W * sizeof(S));
      return from<S>::widened(found);
    }
  }

  // Row r's elements of `some` vectors from vector v on, whichever exist, wherever they lie.
  template <class S, class View> static words along(const S *src, const View &view, int v, int some, int r) {
    alignas(64) E found[k_width<U>] = {};
    for (int i = 0; i < some; ++i) {
      const mask_t mask = view.mask_of(v + i, r);
      if (mask) store<uint32_t>(found + i * W, from<S>::bits(load_any<lane<S>>(src + view.row_offset[r], view, v + i, mask)));
    }
    return unit<U>::load(found);
  }
};
} // namespace imbrex
