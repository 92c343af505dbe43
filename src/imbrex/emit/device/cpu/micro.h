// The register-blocked inner product: MR x NV vectors of C = sum_k A[k][m] * B[k][n], everything in registers.
//
// A source of A hands out scalars, `chunk` neighbouring k at a time; a source of B hands out rows of NV vectors.  Both
// are small structs passed by value, so that one loop serves packed panels and matrices read where they lie.  What
// becomes of the sums is up to a sink, called as sink(m, v, sum); sink.at(m, v) is where that goes, fetched ahead.
// MR * NV accumulators, NV vectors of B and one broadcast must fit the register file: MR * NV + NV + 1 <= 32 with
// AVX-512, <= 16 otherwise (with NV == 1 the broadcast is a memory operand).
#pragma once
#include "a_source.h"
#include "sink.h"
#include "transpose.h"

namespace imbrex {

// Rows of NV vectors of words, `step` words apart: a packed panel with step == NV * W, or a matrix as it lies.
template <class U, int NV> struct b_panel {
  const element_of_unit<U> *p;
  int64_t step;
  void next(typename unit<U>::words (&row)[NV * unit<U>::rows]) {
#pragma GCC unroll 16
    for (int v = 0; v < NV * unit<U>::rows; ++v) row[v] = unit<U>::load(p + v * k_width<U>);
    p += step * unit<U>::together;
  }
  void skip(int64_t words) { p += words * step * unit<U>::together; }
};

// Rows of B, `count` of them, and which k they are.
template <class B> struct b_some_rows {
  B rows;
  const int32_t *k;
  int64_t count;
};

// A panel that passes an A which stays: where a unit can, it is loaded without taking A's place in the first cache.
template <class U, int NV> struct b_passing : b_panel<U, NV> {};

// A panel whose sums do not begin at 0.
template <class B> struct b_started : B {
  const int32_t *start;
};
template <class T, class B> IMBREX_INLINE vec<T> start(const B &, int) { return vec<T>{}; }
template <class T, class B> IMBREX_INLINE vec<T> start(const b_started<B> &b, int v) {
  return load<T>(b.start + v * width<T>);
}

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

// The sums of a register tile.  EndsInHalf: the last vector of each row is half a one, and all[m][NV - 1] is written at last.
template <class U, int MR, int NV, bool EndsInHalf> struct tile_sums {
  vec<sum_of_unit<U>> all[MR][NV];
};
template <class U, int MR, int NV> struct tile_sums<U, MR, NV, true> : tile_sums<U, MR, NV, false> {
  typename half_unit<U>::sums last[MR];
};

template <class U, int MR, int NV, bool EndsInHalf, class A, class... Count>
IMBREX_INLINE void rank_one(tile_sums<U, MR, NV, EndsInHalf> &acc, const A &a, int u,
                            const typename unit<U>::words (&row)[NV], Count... count) {
  constexpr int whole = NV - EndsInHalf;
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m) {
    typename unit<U>::words scale = unit<U>::everywhere(a.at(m, u), count...);
    if constexpr (EndsInHalf && NV > 1) half_unit<U>::hold(scale);
#pragma GCC unroll 16
    for (int v = 0; v < whole; ++v) acc.all[m][v] = unit<U>::multiply_add(acc.all[m][v], scale, row[v]);
    if constexpr (EndsInHalf) acc.last[m] = half_unit<U>::multiply_add(acc.last[m], scale, row[whole]);
#pragma GCC unroll 16
    for (int v = 0; v < whole; ++v) IMBREX_PIN(acc.all[m][v]);
    if constexpr (EndsInHalf) IMBREX_PIN(acc.last[m]);
  }
}

// The same of a unit whose sums are 2 x 2: a vector of them is a part of two rows, which are parted when all is summed.
template <class U, int MR, int NV, class A, class B, class Sink>
static __attribute__((noinline)) void pair_kernel(int64_t k_count, const A &source, const B &panel, const Sink &put) {
  typedef sum_of_unit<U> T;
  auto a = cursor<MR>(source);
  B b = panel;
  const Sink sink = held(put);
  constexpr int chunk = decltype(a)::chunk, together = unit<U>::together, pairs = (MR + 1) / 2;
  vec<T> acc[pairs][2 * NV] = {};
  typename unit<U>::words row[2 * NV];
  const auto one = [&](int u, auto... count) IMBREX_INLINED {
    b.next(row);
#pragma GCC unroll 32
    for (int p = 0; p < pairs; ++p) {
      const auto both = unit<U>::both(a.at(2 * p, u), a.at(2 * p + (2 * p + 1 < MR), u), count...);
#pragma GCC unroll 16
      for (int v = 0; v < 2 * NV; ++v) acc[p][v] = unit<U>::multiply(acc[p][v], both, row[v]);
#pragma GCC unroll 16
      for (int v = 0; v < 2 * NV; ++v) IMBREX_PIN(acc[p][v]);
    }
  };
  int64_t k = count_of(source, k_count) / together;
  follow(a, b);
  for (; k >= chunk; k -= chunk, a.advance(chunk), follow(a, b)) {
#pragma GCC unroll 4
    for (int u = 0; u < chunk; ++u) one(u);
  }
  for (int u = 0; u < k; ++u) one(u);
  if (const int64_t some = k_count % together; some > 0) one(int(k), some);
#pragma GCC unroll 32
  for (int p = 0; p < pairs; ++p)
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) {
      const vec<double> left = (vec<double>)acc[p][2 * v], right = (vec<double>)acc[p][2 * v + 1];
      sink(2 * p, v, (vec<T>)even_lanes<double>(left, right));
      if (2 * p + 1 < MR) sink(2 * p + 1, v, (vec<T>)odd_lanes<double>(left, right));
    }
}

// Words of k below which sums are on their way before what is fetched ahead for them would be there.
constexpr int least_words_fetched = 16;

// How many elements of the last word of a cursor's chunk count, where the others are no zeros and B's zeros would not make
// them zeros; else 0.
template <class A> constexpr int cut_word = 0;

template <class U, int MR, int NV, bool EndsInHalf, class A, class B, class Sink>
static __attribute__((noinline)) void micro_kernel(int64_t k_count, const A &source, const B &panel, const Sink &put) {
  typedef sum_of_unit<U> T;
  auto a = cursor<MR>(source);
  B b = panel;
  const Sink sink = held(put);
  constexpr int chunk = decltype(a)::chunk, together = unit<U>::together;
  tile_sums<U, MR, NV, EndsInHalf> acc;
  typename unit<U>::words row[NV];
  if (k_count > least_words_fetched * together) {
#pragma GCC unroll 32
    for (int m = 0; m < MR; ++m)
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) __builtin_prefetch(sink.at(m, v), 1);
  }
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) {
      acc.all[m][v] = start<T>(panel, v);
      if constexpr (EndsInHalf)
        if (v == NV - 1) acc.last[m] = half_unit<U>::lower(acc.all[m][v]);
    }
  constexpr int cut = cut_word<decltype(a)>, whole = chunk - (cut > 0), at_once = EndsInHalf ? 1 : decltype(a)::at_once;
  const auto one = [&](int u) IMBREX_INLINED {
    b.next(row);
    rank_one<U, MR, NV, EndsInHalf>(acc, a, u, row);
  };
  int64_t k = count_of(source, k_count) / together;
  follow(a, b);
  for (; k >= chunk; k -= chunk, a.advance(chunk), follow(a, b)) {
#pragma GCC unroll 1
    for (int u = 0; u < whole; ++u)
      if constexpr (at_once == 1) one(u);
#pragma GCC unroll 4
    for (int u = 0; u < whole; ++u)
      if constexpr (at_once == 4) one(u);
    if constexpr (cut > 0) {
      b.next(row);
      rank_one<U, MR, NV, EndsInHalf>(acc, a, whole, row, first_of_word<cut>{});
    }
  }
  for (int u = 0; u < k; ++u) one(u);
  if constexpr (together > 1)
    if (const int64_t some = k_count % together; some > 0) {
      b.next(row);
      rank_one<U, MR, NV, EndsInHalf>(acc, a, int(k), row, some);
    }
  if constexpr (EndsInHalf) {
#pragma GCC unroll 32
    for (int m = 0; m < MR; ++m) acc.all[m][NV - 1] = half_unit<U>::widened(acc.last[m]);
  }
  put_tile<T>(sink, acc.all);
}

// A register tile, by the loop of its unit.  EndsInHalf: the upper half of the last vector is of no interest.
template <class U, int MR, int NV, bool EndsInHalf = false, class A, class B, class Sink>
IMBREX_INLINE void register_tile(int64_t k_count, const A &source, const B &b, const Sink &sink) {
  if constexpr (has_tiles<U>)
    tile_loop<U, MR, NV>::run(k_count, source, b, sink);
  else if constexpr (unit<U>::rows == 2)
    pair_kernel<U, MR, NV>(k_count, source, b, sink);
  else
    micro_kernel<U, MR, NV, EndsInHalf>(k_count, source, b, sink);
}
template <class U, int MR, int NV, bool EndsInHalf = false, class A, class B, class Sink>
IMBREX_INLINE void register_tile(int64_t, const A &source, const b_some_rows<B> &b, const Sink &sink) {
  micro_kernel<U, MR, NV, EndsInHalf>(b.count, a_listed<A>{source, b.k}, b.rows, sink);
}

// The sum of all lanes, by halves: one lane after another would wait for each addition.
template <class T, int N> IMBREX_INLINE T sum_of_lanes(typename vector_of<T, N * int(sizeof(T))>::type v) {
  if constexpr (N == 1) {
    return v[0];
  } else {
    struct {
      typename vector_of<T, N / 2 * int(sizeof(T))>::type low, high;
    } half;
    __builtin_memcpy(&half, &v, sizeof(v));
    return sum_of_lanes<T, N / 2>(half.low + half.high);
  }
}
template <class T> IMBREX_INLINE T sum_of(vec<T> v) { return sum_of_lanes<T, width<T>>(v); }

// What walks along a single column of B.
template <class U> struct column_walk {
  const element_of_unit<U> *p;
  void skip(int64_t words) { p += words * unit<U>::together; }
};

// MR x NC single columns, for the few that fill no vector: lanes run along k, hence A must hand out its rows and the
// columns of B lie one by one at x, `x_step` apart, followed by zeros up to whole vectors.  sink.put(m, c, sum).
template <class U, int MR, int NC, class A, class Sink>
static __attribute__((noinline)) void column_kernel(int64_t k_count, A source, const element_of_unit<U> *x,
                                                    int64_t x_step, const Sink &sink, int first) {
  typedef sum_of_unit<U> T;
  auto a = passing_cursor<MR>(source);
  constexpr int W = k_width<U>;
  vec<T> acc[MR][NC], shift[NC] = {};
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 2
    for (int c = 0; c < NC; ++c) acc[m][c] = vec<T>{};
  column_walk<U> at{x};
  const int64_t count = count_of(source, k_count);
  follow(a, at);
  for (int64_t k = 0; k < count; k += W, a.advance(words_of_vector<U>), at.p += W, follow(a, at)) {
    typename unit<U>::words column[NC];
#pragma GCC unroll 2
    for (int c = 0; c < NC; ++c) {
      column[c] = unit<U>::load(at.p + c * x_step);
      if constexpr (unit<U>::is_shifted) shift[c] = unit<U>::multiply_add(shift[c], splat(uint32_t(0x80808080)), column[c]);
    }
    const bool is_whole = k + W <= count;
#pragma GCC unroll 32
    for (int m = 0; m < MR; ++m) {
      const typename unit<U>::words row =
          unit<U>::row_of(is_whole ? unit<U>::load(a.row(m)) : unit<U>::load(a.row(m), count - k));
#pragma GCC unroll 2
      for (int c = 0; c < NC; ++c) acc[m][c] = unit<U>::multiply_add(acc[m][c], row, column[c]);
    }
  }
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 2
    for (int c = 0; c < NC; ++c)
      sink.put(m, first + c, sum_of<T>(acc[m][c] - shift[c]));
}

// `count` single columns, two at a time where there are registers for as many sums.
template <class U, int MR, class A, class Sink>
IMBREX_INLINE void each_column(int count, int64_t k_count, const A &source, const element_of_unit<U> *x, int64_t x_step,
                               const Sink &sink) {
  constexpr int most = 2 * MR + 3 <= vector_registers ? 2 : 1;
  int first = 0;
  for (; first + most <= count; first += most) column_kernel<U, MR, most>(k_count, source, x + first * x_step, x_step, sink, first);
  if constexpr (most > 1)
    if (first < count) column_kernel<U, MR, 1>(k_count, source, x + first * x_step, x_step, sink, first);
}

// What the sums begin at where A's elements are 128 too large: start[n] = -128 * the sum of B's column n.
template <class U, int NV> static __attribute__((noinline)) void start_sums(int64_t k_count, b_panel<U, NV> b, int32_t *start) {
  vec<int32_t> acc[NV] = {};
  typename unit<U>::words row[NV];
  for (int64_t k = 0; k < k_count; k += unit<U>::together) {
    b.next(row);
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) acc[v] = unit<U>::multiply_add(acc[v], splat(uint32_t(0x80808080)), row[v]);
  }
  for (int v = 0; v < NV; ++v) store<int32_t>(start + v * width<int32_t>, -acc[v]);
}

enum class a_layout { k_major, k_blocked, rows };

// Packed panels of a step; where A's elements are 128 too large, with what that makes of the sums.
template <class U, int MR, int NV, class A, class B, class Sink>
IMBREX_INLINE void started_kernel(int64_t k_count, const A &source, const B &rows, const Sink &sink) {
  if constexpr (unit<U>::is_shifted) {
    int32_t start[NV * width<int32_t>];
    start_sums<U, NV>(k_count, rows, start);
    register_tile<U, MR, NV>(k_count, source, b_started<B>{rows, start}, sink);
  } else {
    register_tile<U, MR, NV>(k_count, source, rows, sink);
  }
}

// The kernel on dense operands; `a_step` and `b_step` are the sources' steps.
template <class U, int MR, int NV, a_layout Layout>
IMBREX_INLINE void micro_gemm(int64_t k_count, const element_of_unit<U> *a, int64_t a_step, const element_of_unit<U> *b,
                              int64_t b_step, sum_of_unit<U> *c, int64_t c_step, bool accumulate) {
  const b_panel<U, NV> rows{b, b_step};
  const c_tile<sum_of_unit<U>> sink{c, c_step, accumulate};
  if constexpr (Layout == a_layout::k_major)
    started_kernel<U, MR, NV>(k_count, a_k_major<U>{a, a_step}, rows, sink);
  else if constexpr (Layout == a_layout::k_blocked)
    started_kernel<U, MR, NV>(k_count, a_k_blocked<U>{a, a_step}, rows, sink);
  else
    started_kernel<U, MR, NV>(k_count, a_rows<U>{a, a_step}, rows, sink);
}
} // namespace imbrex
