// The register-blocked inner product: MR x NV vectors of C = sum_k A[k][m] * B[k][n], everything in registers.
//
// A source of A hands out scalars, `chunk` neighbouring k at a time; a source of B hands out rows of NV vectors.  Both
// are small structs passed by value, so that one loop serves packed panels and matrices read where they lie.  What
// becomes of the sums is up to a sink, called as sink(m, v, sum); sink.at(m, v) is where that goes, fetched ahead.
// MR * NV accumulators, NV vectors of B and one broadcast must fit the register file: MR * NV + NV + 1 <= 32 with
// AVX-512, <= 16 otherwise (with NV == 1 the broadcast is a memory operand).
#pragma once
#include "vec.h"

namespace imbrex {

// A(k, m) = p[k * step + m]: a packed panel with step == MR, or a matrix whose rows are k.
template <class T> struct a_k_major {
  static constexpr int chunk = 4;
  const T *p;
  int64_t step;
  T at(int m, int u) const { return p[u * step + m]; }
  void advance(int count) { p += count * step; }
};

// A(k, m) = p[k / W * step + m * W + k % W]: a packed panel in which W neighbouring k of a row lie together.
template <class T> struct a_k_blocked {
  static constexpr int chunk = width<T>;
  const T *p;
  int64_t step;
  T at(int m, int u) const { return p[m * width<T> + u]; }
  const T *row(int m) const { return p + m * width<T>; }
  void advance(int) { p += step; }
};

// A(k, m) = p[m * step + k]: a matrix whose rows are m, as it lies.  A pointer to every fifth row reaches the others at
// {1, 2, 3, 4} * step, which an address mode takes from two registers: the pointers of up to 28 rows stay in registers.
template <class T> struct a_rows {
  const T *p;
  int64_t step;
};
template <class T, int MR> struct a_row_cursor {
  static constexpr int chunk = width<T>, bases = (MR + 4) / 5;
  const T *base[bases];
  int64_t step, next; // next: from a row to the same row of the panel after this one
  explicit a_row_cursor(a_rows<T> a) : step(a.step), next(MR * a.step) {
#pragma GCC unroll 16
    for (int i = 0; i < bases; ++i) {
      base[i] = a.p + 5 * i * step;
      asm("" : "+r"(base[i])); // or the compiler derives them all from one, step by step, in every iteration
    }
  }
  T at(int m, int u) const { return base[m / 5][m % 5 * step + u]; }
  const T *row(int m) const { return base[m / 5] + m % 5 * step; }
  void advance(int count) {
#pragma GCC unroll 32
    for (int m = 0; m < MR; ++m) __builtin_prefetch(base[m / 5] + next + m % 5 * step, 0, 2);
#pragma GCC unroll 16
    for (int i = 0; i < bases; ++i) base[i] += count;
  }
};
// A(k, m) = p[k / run * MR + m][k % run]: runs of neighbouring k, wherever they lie; run is a multiple of W.
template <class T> struct a_runs {
  const T *const *p;
  int64_t run;
};
template <class T, int MR> struct a_run_cursor {
  static constexpr int chunk = width<T>;
  const T *base[MR];
  const T *const *p;
  int64_t run, left;
  explicit a_run_cursor(a_runs<T> a) : p(a.p), run(a.run), left(0) { advance(0); }
  T at(int m, int u) const { return base[m][u]; }
  const T *row(int m) const { return base[m]; }
  void advance(int count) {
    left -= count;
    if (left > 0) {
#pragma GCC unroll 32
      for (int m = 0; m < MR; ++m) base[m] += count;
    } else {
#pragma GCC unroll 32
      for (int m = 0; m < MR; ++m) base[m] = p[m];
      p += MR;
      left = run;
    }
  }
};

template <int MR, class A> IMBREX_INLINE A cursor(A a) { return a; }
template <int MR, class T> IMBREX_INLINE a_row_cursor<T, MR> cursor(a_rows<T> a) { return a_row_cursor<T, MR>(a); }
template <int MR, class T> IMBREX_INLINE a_run_cursor<T, MR> cursor(a_runs<T> a) { return a_run_cursor<T, MR>(a); }

// Rows of NV vectors, `step` apart: a packed panel with step == NV * W, or a matrix as it lies.
template <class T, int NV> struct b_panel {
  const T *p;
  int64_t step;
  void next(vec<T> (&row)[NV]) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) row[v] = load<T>(p + v * width<T>);
    p += step;
  }
};

// Puts the sums in a row-major tile, or adds them to it.
template <class T> struct c_tile {
  T *p;
  int64_t step;
  bool accumulate;
  T *at(int m, int v) const { return p + m * step + v * width<T>; }
  void operator()(int m, int v, vec<T> sum) const {
    store<T>(at(m, v), accumulate ? vec<T>(sum + load<T>(at(m, v))) : sum);
  }
};

// The accumulator stays in its register, and no later load comes before this point: a compiler that is free to
// gather the broadcasts of several rows or k spills accumulators.
#if defined(__x86_64__)
#define IMBREX_PIN(x) asm volatile("" : "+v"(x) : : "memory")
#elif defined(IMBREX_SVE)
template <class V> IMBREX_INLINE void pin(V &x) {
  svint32_t held = (fixed_lanes)x;
  asm volatile("" : "+w"(held) : : "memory");
  x = (V)fixed_lanes(held);
}
#define IMBREX_PIN(x) pin(x)
#elif defined(__aarch64__)
#define IMBREX_PIN(x) asm volatile("" : "+w"(x) : : "memory")
#else
#define IMBREX_PIN(x) asm volatile("" : "+m"(x) : : "memory")
#endif

template <class T, int MR, int NV, class A>
IMBREX_INLINE void rank_one(vec<T> (&acc)[MR][NV], const A &a, int u, const vec<T> (&row)[NV]) {
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m) {
    const vec<T> scale = splat(a.at(m, u));
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) acc[m][v] += scale * row[v];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) IMBREX_PIN(acc[m][v]);
  }
}

template <class T, int MR, int NV, class A, class B, class Sink>
static __attribute__((noinline)) void micro_kernel(int64_t k_count, A source, B b, Sink sink) {
  auto a = cursor<MR>(source);
  constexpr int chunk = decltype(a)::chunk;
  vec<T> acc[MR][NV], row[NV];
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      __builtin_prefetch(sink.at(m, v), 1);
      acc[m][v] = vec<T>{};
    }
  int64_t k = k_count;
  for (; k >= chunk; k -= chunk, a.advance(chunk)) {
#pragma GCC unroll 4
    for (int u = 0; u < chunk; ++u) {
      b.next(row);
      rank_one<T, MR, NV>(acc, a, u, row);
    }
  }
  for (int u = 0; u < k; ++u) {
    b.next(row);
    rank_one<T, MR, NV>(acc, a, u, row);
  }
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) sink(m, v, acc[m][v]);
}

template <class T> IMBREX_INLINE T sum_of(vec<T> v) {
  T sum{};
  for (int j = 0; j < width<T>; ++j) sum += v[j];
  return sum;
}

// MR x NC single columns, for the few that fill no vector: lanes run along k, hence A must hand out its rows and the
// columns of B lie one by one at x, `x_step` apart, followed by zeros up to a multiple of W.  sink.put(m, c, sum).
template <class T, int MR, int NC, class A, class Sink>
static __attribute__((noinline)) void column_kernel(int64_t k_count, A source, const T *x, int64_t x_step, Sink sink) {
  auto a = cursor<MR>(source);
  constexpr int W = width<T>;
  vec<T> acc[MR][NC];
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 2
    for (int c = 0; c < NC; ++c) acc[m][c] = vec<T>{};
  for (int64_t k = 0; k < k_count; k += W, a.advance(W), x += W) {
    vec<T> column[NC];
#pragma GCC unroll 2
    for (int c = 0; c < NC; ++c) column[c] = load<T>(x + c * x_step);
    const bool is_whole = k + W <= k_count;
    const mask_t some = first_lanes(k_count - k);
#pragma GCC unroll 32
    for (int m = 0; m < MR; ++m) {
      const vec<T> row = is_whole ? load<T>(a.row(m)) : load<T>(a.row(m), some);
#pragma GCC unroll 2
      for (int c = 0; c < NC; ++c) acc[m][c] += row * column[c];
    }
  }
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 2
    for (int c = 0; c < NC; ++c) sink.put(m, c, sum_of<T>(acc[m][c]));
}

enum class a_layout { k_major, k_blocked, rows };

// The kernel on dense operands; `a_step` and `b_step` are the sources' steps.
template <class T, int MR, int NV, a_layout Layout>
IMBREX_INLINE void micro_gemm(int64_t k_count, const T *a, int64_t a_step, const T *b, int64_t b_step, T *c,
                              int64_t c_step, bool accumulate) {
  const b_panel<T, NV> rows{b, b_step};
  const c_tile<T> sink{c, c_step, accumulate};
  if constexpr (Layout == a_layout::k_major)
    micro_kernel<T, MR, NV>(k_count, a_k_major<T>{a, a_step}, rows, sink);
  else if constexpr (Layout == a_layout::k_blocked)
    micro_kernel<T, MR, NV>(k_count, a_k_blocked<T>{a, a_step}, rows, sink);
  else
    micro_kernel<T, MR, NV>(k_count, a_rows<T>{a, a_step}, rows, sink);
}
} // namespace imbrex
