#include "tables.h"
#include "device/cpu/operand.h"
using namespace imbrex;

template <class T, int MR, int NV> static void micro(int layout, int64_t k, const T *a, const T *b, T *c, bool adds) {
  constexpr int W = width<T>, L = NV * W;
  if (layout == 0)
    micro_gemm<T, MR, NV, a_layout::k_major>(k, a, MR, b, L, c, L, adds);
  else if (layout == 1)
    micro_gemm<T, MR, NV, a_layout::k_blocked>(k, a, MR * W, b, L, c, L, adds);
  else
    micro_gemm<T, MR, NV, a_layout::rows>(k, a, k, b, L, c, L, adds);
}
extern "C" void micro_f32(int layout, int64_t k, const float *a, const float *b, float *c, bool adds) {
  micro<float, 6, 2>(layout, k, a, b, c, adds);
}
extern "C" void micro_f32_tall(int layout, int64_t k, const float *a, const float *b, float *c, bool adds) {
  micro<float, 14, 1>(layout, k, a, b, c, adds);
}
extern "C" void micro_f64(int layout, int64_t k, const double *a, const double *b, double *c, bool adds) {
  micro<double, 5, 3>(layout, k, a, b, c, adds);
}
extern "C" void micro_i32(int layout, int64_t k, const int32_t *a, const int32_t *b, int32_t *c, bool adds) {
  micro<int32_t, 3, 2>(layout, k, a, b, c, adds);
}

// A GEMM, M x N x K, however its operands are had.  a: rows m, lanes k.  b: rows k, lanes n.  c: rows m, lanes n.
constexpr int M = 23, most_n = 63, K = 48, run = 16, MR = 6, NV = 2;
struct maps {
  table a_rows, a_lanes, b_rows, b_lanes, c_rows, c_lanes;
  const int32_t *a_size, *b_size;
  int64_t a_elements, b_elements;
};
enum a_form { in_place, runs, packing, cut, columns_in_place };
enum b_form { lanes, lanes_packed, rows, rows_packed, some_lanes, some_packed };

template <class T, int G> struct memory {
  static constexpr int W = width<T>, L = NV * W;
  view<T, W, G, M, K> a;
  view<T, L, G, K, most_n> b;
  view<T, W, G, most_n, K> b_transposed;
  view<T, W, 0, M, most_n> c;
  view<T, W, 0, most_n, M> c_transposed;
  alignas(64) T panel_a[(M + MR) * round_up(K, W)];
  alignas(64) T columns_a[a_columns<T, T, K, MR>::elements];
  alignas(64) T panels_b[(most_n / L + 2) * K * L];
  alignas(64) T columns[W * round_up(K, W)];
  alignas(64) T tile[round_up(M, W) * L];
  const T *table[(K / run + 1) * MR];
  T zeros[run];
  int32_t passed[K / run + 1];
  int32_t kept[(most_n / L + 2) * K], counts[most_n / L + 2];
};

template <class T, class S, int N, int G, a_form AF, b_form BF, bool Transposed, bool AStays, int Rows = M>
static void gemm(const S *pa, const S *pb, S *pc, const maps &at, T alpha, T beta) {
  typedef memory<T, G> space;
  constexpr along_k columns = AF == cut || AF == columns_in_place ? along_k::none
                              : BF == rows || BF == rows_packed ? along_k::rows
                                                                : along_k::elements;
  typedef product<T, MR, NV, Rows, N, K, columns> work;
  constexpr int L = space::L, step = K * L;
  static space s;
  fill(s.a, at.a_rows, at.a_lanes, at.a_size, at.a_elements);
  fill(s.b, at.b_rows, at.b_lanes, at.b_size, at.b_elements);
  fill(s.b_transposed, at.b_lanes, at.b_rows, at.b_size, at.b_elements);
  fill(s.c, at.c_rows, at.c_lanes, nullptr, 0);
  fill(s.c_transposed, at.c_lanes, at.c_rows, nullptr, 0);
  for (T &x : s.zeros) x = 0;
  auto with_c = [&](auto &a, auto &b) {
    auto go = [&](auto &c) {
      if constexpr (AStays) {
        work::a_stays(0, 2, 0, work::n_panels, a, b, c);
        work::a_stays(2, work::m_panels, 0, work::n_panels, a, b, c);
      } else {
        work::b_stays(0, work::m_panels, 0, 1, a, b, c);
        work::b_stays(0, work::m_panels, 1, work::n_panels, a, b, c);
      }
    };
    if constexpr (Transposed) {
      c_rows<T, S, M, L, decltype(s.c_transposed)> c(pc, s.c_transposed, s.tile, {alpha, beta});
      go(c);
    } else {
      c_lanes<T, S, MR, L, decltype(s.c)> c(pc, s.c, s.tile, {alpha, beta});
      go(c);
    }
  };
  auto with_b = [&](auto &a) {
    if constexpr (BF == lanes || BF == lanes_packed) {
      b_lanes<T, S, decltype(s.b)> b{pb, s.b, s.panels_b, s.columns, BF == lanes};
      if constexpr (BF == lanes) return with_c(a, b);
      b.pack_all(s.panels_b, step, work::whole + (work::tail > 0));
      b_packed<T, L, decltype(b)> all{b, s.panels_b, step};
      with_c(a, all);
    } else if constexpr (BF == some_lanes || BF == some_packed) {
      b_some_lanes<T, S, decltype(s.b)> b({pb, s.b, s.panels_b, s.columns, true}, s.kept, s.counts);
      if constexpr (BF == some_lanes) return with_c(a, b);
      b.pack_all(s.panels_b, step, work::whole + (work::tail > 0));
      b_some_packed<T, L, decltype(b)> all{b, s.panels_b, step};
      with_c(a, all);
    } else {
      b_rows<T, L, S, decltype(s.b_transposed)> b{pb, s.b_transposed, s.panels_b, s.columns};
      if constexpr (BF == rows) return with_c(a, b);
      b.pack_all(s.panels_b, step, work::whole + (work::tail > 0));
      b_packed<T, L, decltype(b)> all{b, s.panels_b, step};
      with_c(a, all);
    }
  };
  if constexpr (AF == in_place) {
    a_in_place<T> a{(const T *)pa, K};
    with_b(a);
  } else if constexpr (AF == runs) {
    a_runs_in_place<T, decltype(s.a)> a{(const T *)pa, s.a, s.table, s.zeros, run, s.passed};
    with_b(a);
  } else if constexpr (AF == packing) {
    a_packing<T, S, decltype(s.a)> a{pa, s.a, s.panel_a};
    with_b(a);
  } else if constexpr (AF == columns_in_place) {
    a_columns_in_place<T> a{(const T *)pa, M};
    with_b(a);
  } else {
    a_columns<T, S, K, MR> a(pa, M, K, M, s.columns_a);
    with_b(a);
  }
}

#define GEMM(NAME, T, S, ...)                                                                                          \
  extern "C" void NAME(const S *a, const S *b, S *c, const maps *at, double alpha, double beta) {                      \
    gemm<T, S, __VA_ARGS__>(a, b, c, *at, T(alpha), T(beta));                                                          \
  }
GEMM(gemm_in_place, float, float, 63, 0, in_place, lanes, false, false)
GEMM(gemm_one_panel, float, float, 63, 0, in_place, lanes, false, false, MR)
GEMM(gemm_one_panel_guarded, float, float, 50, 2, in_place, lanes, false, false, MR)
GEMM(gemm_guarded, float, float, 50, 2, packing, lanes, false, true)
GEMM(gemm_some, float, float, 50, 2, in_place, some_packed, false, true)
GEMM(gemm_some_packing, float, float, 50, 2, packing, some_lanes, false, false)
GEMM(gemm_some_columns, float, float, 50, 2, columns_in_place, some_lanes, true, false)
GEMM(gemm_runs, float, float, 50, 2, runs, rows_packed, false, true)
GEMM(gemm_strided, float, float, 63, 0, in_place, lanes, false, false)
GEMM(gemm_transposed, float, float, 63, 0, packing, rows, true, false)
GEMM(gemm_f64, double, double, 50, 0, in_place, lanes_packed, false, true)
GEMM(gemm_f16, float, f16, 63, 2, packing, rows_packed, false, true)
GEMM(gemm_columns, float, float, 50, 0, cut, lanes_packed, false, true)
GEMM(gemm_columns_in_place, float, float, 63, 0, columns_in_place, lanes, false, false)
GEMM(gemm_columns_f16, float, f16, 63, 0, cut, lanes, false, false)
GEMM(gemm_bf16, float, bf16, 50, 0, packing, lanes, true, false)
