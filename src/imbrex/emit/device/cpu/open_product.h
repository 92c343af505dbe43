// The product of a run-time number of columns, of at most N: as `product` has a fixed one, so that each element is summed
// in the same way, by whole vectors or along k.
#pragma once
#include "product.h"

namespace imbrex {

// Whole panels of NV vectors, one of `tail` vectors, the last of which may be partly used, and `columns` that fill none.
template <class U, int NV, int M, int K, along_k Columns = along_k::none> struct open_columns {
  typedef sum_of_unit<U> T;
  static constexpr int W = width<T>;
  int count, columns, vectors, whole, tail;
  mask_t last_lanes;
  explicit open_columns(int count)
      : count(count), columns(sum_along_k<U, Columns>(count % W, M, K) ? count % W : 0), vectors((count - columns + W - 1) / W),
        whole(vectors / NV), tail(vectors % NV),
        last_lanes((count - columns) % W ? (mask_t(1) << (count - columns) % W) - 1 : all_lanes<T>) {}

  // body(extent<V>) for the panel of V < NV vectors, where there is one.
  template <class Body> void with_tail(const Body &body) const { with<NV - 1>(body); }

private:
  template <int V, class Body> void with(Body &body) const {
    if constexpr (V > 0) {
      if (tail == V) return body(extent<V>{});
      with<V - 1>(body);
    }
  }
};

template <class U, int MR, int NV, int M, int N, int K, along_k Columns = along_k::none>
struct open_product : product<U, MR, NV, M, N, K, Columns> {
  typedef product<U, MR, NV, M, N, K, Columns> fixed;
  typedef open_columns<U, NV, M, K, Columns> open;
  typedef sum_of_unit<U> T;
  typedef element_of_unit<U> E;

  template <class Rows, class A, class B, class C>
  static void b_stays(int m_begin, Rows m_end, const open &n, A &a, B &b, C &c, int64_t k_count = K) {
    for (int j = 0; j < n.whole; ++j) against_all<NV>(m_begin, m_end, j, n, a, b, c, k_count);
    n.with_tail([&](auto some) { against_all<some.value>(m_begin, m_end, n.whole, n, a, b, c, k_count); });
    if constexpr (Columns != along_k::none)
      if (n.columns > 0) {
        const E *x = b.columns(n.count - n.columns, n.columns);
        fixed::each_panel(m_begin, m_end, [&](auto rows, int row) {
          a.template visit<rows.value>(row, [&](const auto &source) { last_columns<rows.value>(row, n, source, x, c, k_count); });
        });
        c.end_columns(n.count - n.columns, n.columns);
      }
  }

  // The same, the panel of A staying.
  template <class Rows, class A, class B, class C>
  static void a_stays(int m_begin, Rows m_end, const open &n, A &a, B &b, C &c, int64_t k_count = K) {
    const E *x = n.columns > 0 ? b.columns(n.count - n.columns, n.columns) : nullptr;
    fixed::each_panel(m_begin, m_end, [&](auto rows, int row) {
      constexpr int R = rows.value;
      a.template visit<R>(row, [&](const auto &source) {
        for (int j = 0; j < n.whole; ++j)
          b.template visit<NV>(j, [&](const auto &panel) { one<R, NV>(row, j, n, source, panel, c, k_count); });
        n.with_tail([&](auto some) {
          constexpr int V = some.value;
          b.template visit<V>(n.whole, [&](const auto &panel) { one<R, V>(row, n.whole, n, source, panel, c, k_count); });
        });
        if constexpr (Columns != along_k::none)
          if (n.columns > 0) last_columns<R>(row, n, source, x, c, k_count);
      });
    });
  }

private:
  template <int V, class Rows, class A, class B, class C>
  static void against_all(int m_begin, Rows m_end, int j, const open &n, A &a, B &b, C &c, int64_t k_count) {
    b.template visit<V, fixed::m_panels == 1>(j, [&](const auto &panel) {
      fixed::each_panel(m_begin, m_end, [&](auto rows, int row) {
        a.template visit<rows.value>(row, [&](const auto &source) { one<rows.value, V>(row, j, n, source, panel, c, k_count); });
      });
    });
    c.template end_column<V>(j * fixed::L);
  }

  template <int R, int V, class A, class B, class C>
  static void one(int row, int j, const open &n, const A &source, const B &panel, C &c, int64_t k_count) {
    const mask_t lanes = j * NV + V == n.vectors ? n.last_lanes : all_lanes<T>;
    c.template visit<R, V>(row, j * fixed::L, lanes, [&](const auto &sink) { register_tile<U, R, V>(k_count, source, panel, sink); });
  }

  template <int R, class A, class C>
  static void last_columns(int row, const open &n, const A &source, const E *x, C &c, int64_t k_count) {
    const int64_t step = (k_count + k_width<U> - 1) / k_width<U> * k_width<U>;
    c.template visit_columns<R>(row, n.count - n.columns, n.columns, [&](const auto &sink) {
      each_column<U, R>(n.columns, k_count, source, x, step, sink);
    });
  }
};
} // namespace imbrex
