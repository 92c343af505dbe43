// C = A * B for a fixed M x N, one panel of A against one panel of B at a time, `k_count` <= K in one pass.
//
// A panel is MR rows or MR - 1, so that the panels cover M exactly, or, of tiles, MR but for the last; of B NV vectors, the last one what is left.  Up to
// W / 2 last columns that fill no vector are summed along k instead where that is sooner, unless Columns is none: A's
// sources must then hand out rows.  How an operand comes to be in registers is the operand's affair:
//   a.visit<R>(row, body)             body(source of rows [row, row + R))
//   b.visit<V>(panel, body)           body(source of the panel's first V vectors); b.visit<V, Met> is met by so many of A's
//   b.columns(first, count)           the columns, one after another, K rounded up to whole vectors apart
//   c.visit<R, V>(row, column, lanes, body)   body(sink)
//   c.end_column<V>(column)           B stays: every row of these columns is done
//   c.visit_columns<R>(row, column, count, body), c.end_columns(column, count)   the same of columns that are summed along k
// An operand that packs on a visit belongs in the outer loop, one that is read in place or packed beforehand may be in
// either.  The outer loop's panel stays in the cache nearest to the core that holds it.  A large K goes block by block,
// each block but the first adding to C (beta = 1).  Of a run-time number of rows, M at most, `m_end` is an
// `open_rows<MR, ..>`, and all panels of it are multiplied; its last columns are found by `with_columns_of`.  Of a run-time
// number of columns see open_product.h, of k `with_columns`.
#pragma once
#include "b_view.h"
#include "extent.h"
#include "store.h"
#include "whole_rows.h"

namespace imbrex {

// How last columns come to lie along k: not at all, as B's rows already do, or element by element; always: they do, sooner or not.
enum class along_k { none, rows, elements, always };

// Are that many last columns of so many rows summed along k sooner than they fill half a vector?  A column costs a row the
// vectors of its k, and the sum of the last one's lanes, which is as long as some eight more; and all rows together what it
// takes to come by it, of single elements five cycles for two.
template <class U, along_k Columns> constexpr bool sum_along_k(int columns, int rows, int k) {
  constexpr int W = width<sum_of_unit<U>>, lanes_summed = 8;
  const int64_t words = k / unit<U>::together, filled = has_halves<U> && runs_halves ? words * half_takes<U> / 8 : words;
  const int64_t saved = filled - columns * (words / W + lanes_summed);
  if (Columns == along_k::always) return columns <= W / 2;
  return Columns != along_k::none && columns <= W / 2 && saved > 0 &&
         (Columns == along_k::rows || 2 * rows * saved >= int64_t(5) * columns * k);
}

template <along_k Columns> struct along {
  static constexpr along_k value = Columns;
};

// body(along<..>): the last of N columns are summed as a product of M rows and of a fixed k does it.
template <class U, along_k Columns, int M, int N, class Body> void with_columns(int64_t k, const Body &body) {
  constexpr int W = width<sum_of_unit<U>>, few = N % W;
  if constexpr (few > 0 && few <= W / 2)
    if (sum_along_k<U, Columns>(few, M, int(k))) return body(along<along_k::always>{});
  body(along<along_k::none>{});
}

// The least number of rows, at most `most`, of which last columns are summed along k, as those of all greater ones are.
template <class U, along_k Columns> constexpr int first_along_k(int columns, int most, int k) {
  int first = most;
  while (first > 1 && sum_along_k<U, Columns>(columns, first - 1, k)) --first;
  return first;
}

// How last columns of so many rows, from least to most, are summed.
template <along_k Columns, int Least, int Most> struct along_rows : along<Columns> {
  static constexpr int least = Least, most = Most;
};

// body(along_rows<..>) of a run-time number of rows, from Least to M, and of a fixed K: fewer rows may not repay what
// columns cost.  Each way is compiled for the heights of panels that its rows can have.
template <class U, along_k Columns, int Least, int M, int N, int K, class Body> void with_columns_of(int rows, const Body &body) {
  constexpr int few = N % width<sum_of_unit<U>>;
  if constexpr (few > 0 && sum_along_k<U, Columns>(few, M, K)) {
    constexpr int first = first_along_k<U, Columns>(few, M, K);
    if constexpr (first <= Least) return body(along_rows<along_k::always, Least, M>{});
    if (rows >= first) return body(along_rows<along_k::always, first, M>{});
    return body(along_rows<along_k::none, Least, first - 1>{});
  } else {
    body(along_rows<along_k::none, Least, M>{});
  }
}

template <class U, int MR, int NV, int M, int N, int K, along_k Columns = along_k::none> struct product {
  typedef sum_of_unit<U> T;
  typedef element_of_unit<U> E;
  static constexpr int W = width<T>, L = NV * W, k_padded = round_up(K, W);
  static constexpr int columns = sum_along_k<U, Columns>(N % W, M, K) ? N % W : 0, vectors = (N - columns + W - 1) / W;
  static constexpr int m_panels = (M + MR - 1) / MR, lower = has_tiles<U> ? M % MR : MR - 1; // rows of the other panels
  static constexpr int tall = has_tiles<U> ? M / MR : M - m_panels * lower;                   // panels of MR rows
  static constexpr int whole = vectors / NV, tail = vectors % NV, n_panels = whole + (tail > 0) + (columns > 0);
  static constexpr mask_t last_lanes = (N - columns) % W ? (mask_t(1) << (N - columns) % W) - 1 : all_lanes<T>;
  // Does the last panel of vectors end in one of which half is enough, and is it a panel of NV vectors?
  static constexpr bool ends_in_half = has_halves<U> && (N - columns) % W > 0 && (N - columns) % W <= W / 2;
  static constexpr bool whole_ends_in_half = ends_in_half && tail == 0;
  static_assert(tall > 0 && tall <= m_panels && tall * MR + (m_panels - tall) * lower == M, "MR is not ceil(M / panels): panels of MR and MR - 1 rows do not cover M");

  // Panels [m_begin, m_end) of A against panels [n_begin, n_end) of B, the panel of B staying.
  template <class Rows, class A, class B, class C>
  static void b_stays(int m_begin, Rows m_end, int n_begin, int n_end, A &a, B &b, C &c, int64_t k_count = K) {
    if constexpr (may_pass_whole<B> && !leaves_out<A>)
      if (n_begin == 0 && n_end == n_panels && b.rows_in_place(vectors)) {
        pass_whole(a, b, c, k_count);
        n_begin = whole + (tail > 0);
      }
    for (int j = n_begin; j < n_end; ++j) {
      if (j < whole) {
        if constexpr (whole > 0)
          as_it_ends(j, [&](auto half) { against_all<NV, half.value>(m_begin, m_end, j, a, b, c, k_count); });
      } else if (tail > 0 && j == whole) {
        if constexpr (tail > 0) against_all<tail, ends_in_half>(m_begin, m_end, j, a, b, c, k_count);
      } else if constexpr (columns > 0) {
        const E *x = b.columns(N - columns, columns);
        each_panel(m_begin, m_end, [&](auto rows, int row) {
          a.template visit<rows.value>(row, [&](const auto &source) { all_columns<rows.value>(row, source, x, c, k_count); });
        });
        c.end_columns(N - columns, columns);
      }
    }
  }

  // The same, the panel of A staying.
  template <class Rows, class A, class B, class C>
  static void a_stays(int m_begin, Rows m_end, int n_begin, int n_end, A &a, B &b, C &c, int64_t k_count = K) {
    const E *x = nullptr;
    if constexpr (columns > 0)
      if (n_end == n_panels) x = b.columns(N - columns, columns);
    each_panel(m_begin, m_end, [&](auto rows, int row) {
      constexpr int R = rows.value;
      a.template visit<R>(row, [&](const auto &source) {
        for (int j = n_begin; j < n_end; ++j)
          if (j < whole) {
            if constexpr (whole > 0)
              b.template visit<NV>(j, [&](const auto &panel) {
                as_it_ends(j, [&](auto half) { one<R, NV, half.value>(row, j, source, panel, c, k_count); });
              });
          } else if (tail > 0 && j == whole) {
            if constexpr (tail > 0)
              b.template visit<tail>(j, [&](const auto &panel) { one<R, tail, ends_in_half>(row, j, source, panel, c, k_count); });
          } else if constexpr (columns > 0) {
            all_columns<R>(row, source, x, c, k_count);
          }
      });
    });
  }

protected:
  template <int N_> struct number {
    static constexpr int value = N_;
  };

  // How many panels of A meet one of B, each all of its rows; 0 where that is not known.
  template <class Rows, class A>
  static constexpr int met = m_panels == 1 || (is_same<Rows, int> && !leaves_out<A>) ? m_panels : 0;

  // May the first cache hold a panel of B, so that the next one has its place only behind the last panel of A?
  static constexpr bool stays_near = m_panels > 1 && int64_t(K) * L * int(sizeof(E)) <= 65536;

  // Does the second cache hold A beside the panels of B that pass, so that it comes from memory once?
  static constexpr bool a_is_near = int64_t(M) * K * int(sizeof(E)) <= 262144;

  // Few rows, all of whose k are met, and of B more than panels that lie in the first caches.
  template <class B>
  static constexpr bool may_pass_whole =
      has_whole_rows<B> && m_panels == 1 && MR <= most_whole_rows && whole > 1 && L <= whole_rows<T, MR>::columns &&
      int64_t(N) * K * int(sizeof(T)) > least_passed_bytes && int64_t(K) * L >= whole_rows<T, MR>::columns * MR;

  template <class A, class B, class C> static void pass_whole(A &a, B &b, C &c, int64_t k_count) {
    constexpr int at_once = whole_rows<T, MR>::columns / L * NV;
    a.template visit<MR>(0, [&](const auto &source) {
      for (int v = 0; v < vectors; v += at_once) {
        const int some = vectors - v < at_once ? vectors - v : at_once;
        const mask_t last = v + some == vectors ? last_lanes : all_lanes<T>;
        whole_rows<T, MR>::sum(k_count, source, b.rows_in_place(vectors) + v * W, b.view.row_offset, some, last, b.buffer);
        for (int i = 0; i < some; i += NV)
          if (some - i >= NV)
            put_sums<NV>(v + i, b.buffer + i * W, c);
          else if constexpr (tail > 0)
            put_sums<tail>(v + i, b.buffer + i * W, c);
      }
    });
  }

  template <int V, class C> static void put_sums(int vector, const T *sums, C &c) {
    const mask_t lanes = vector + V == vectors ? last_lanes : all_lanes<T>;
    c.template visit<MR, V>(0, vector * W, lanes, [&](auto sink) {
      for (int m = 0; m < MR; ++m)
        for (int v = 0; v < V; ++v) sink(m, v, load<T>(sums + m * whole_rows<T, MR>::columns + v * W));
    });
    c.template end_column<V>(vector * W);
  }

  template <class Body> static void each_panel(int begin, int end, const Body &body) {
    for (int i = begin; i < end; ++i)
      if (i < tall)
        body(number<MR>{}, i * MR);
      else if constexpr (tall < m_panels)
        body(number<lower>{}, has_tiles<U> ? i * MR : i * (MR - 1) + tall);
  }

  template <int Least, class Body> static void each_panel(int, const open_rows<MR, Least> &rows, const Body &body) {
    rows.each(body);
  }

  // body(whether panel j of NV vectors ends in half a vector).
  template <class Body> static void as_it_ends(int j, const Body &body) {
    if constexpr (whole_ends_in_half)
      if (whole == 1 || j + 1 == whole) return body(number<true>{});
    if constexpr (whole > 1 || !whole_ends_in_half) body(number<false>{});
  }

  template <int V, bool EndsInHalf, class Rows, class A, class B, class C>
  static void against_all(int m_begin, Rows m_end, int j, A &a, B &b, C &c, int64_t k_count) {
    b.template visit<V, met<Rows, A>>(j, [&](const auto &panel) {
      each_panel(m_begin, m_end, [&](auto rows, int row) {
        constexpr int R = rows.value;
        a.template visit<R>(row, [&](const auto &given) {
          const auto &source = near_or_far(given);
          if constexpr (is_to_be_copied<decltype(panel)>) {
            if constexpr (R == MR)
              if (row == 0) return one<R, V, EndsInHalf>(row, j, source, copied(panel, k_count), c, k_count);
            return one<R, V, EndsInHalf>(row, j, source, copy_of<m_panels>(panel, row / MR), c, k_count);
          } else if constexpr (stays_near && is_same<Rows, int>) // not of a run-time number, whose last panel is of any height
            if ((R == MR && tall < m_panels) || row + R < M) return one<R, V, EndsInHalf>(row, j, source, again(panel), c, k_count);
          one<R, V, EndsInHalf>(row, j, source, panel, c, k_count);
        });
      });
    });
    c.template end_column<V>(j * L);
  }

  template <class A> static decltype(auto) near_or_far(const A &source) {
    if constexpr (a_is_near)
      return near(source);
    else
      return (source);
  }

  template <int R, int V, bool EndsInHalf, class A, class B, class C>
  static void one(int row, int j, const A &source, const B &panel, C &c, int64_t k_count) {
    const mask_t lanes = j * NV + V == vectors ? last_lanes : all_lanes<T>;
    c.template visit<R, V>(row, j * L, lanes, [&](const auto &sink) { register_tile<U, R, V, EndsInHalf>(k_count, source, panel, sink); });
  }

  template <int R, class A, class C>
  static void all_columns(int row, const A &source, const E *x, C &c, int64_t k_count) {
    const int64_t step = (k_count + k_width<U> - 1) / k_width<U> * k_width<U>;
    c.template visit_columns<R>(row, N - columns, columns, [&](const auto &sink) {
      each_column<U, R>(columns, k_count, source, x, step, sink);
    });
  }
};
} // namespace imbrex
