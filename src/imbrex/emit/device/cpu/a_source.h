// Sources of A for the microkernels: where a panel's elements lie, and a cursor that goes along its k.
//
// A source is a small struct; cursor<MR>(source) walks it: at(m, u) is where row m has the u-th k from here, row(m) where
// its neighbours along k begin, advance(count) goes on by as many words; at_once of a chunk's words are passed in a turn of a
// loop.
#pragma once
#include "unit.h"

namespace imbrex {

// Words that are passed in a turn where rows have pointers of their own.  Of many rows a turn is long enough by one, and a
// compiler that is free to add up the addresses of all rows for several words keeps them in memory.
template <int MR> constexpr int passed_at_once = MR > 8 ? 1 : 4;

// A(k, m) = p[k * step + m]: a packed panel with step == MR, or a matrix whose rows are k; k and m count words.
template <class U> struct a_k_major {
  typedef element_of_unit<U> E;
  static constexpr int chunk = 4, at_once = 4;
  const E *p;
  int64_t step;
  const E *at(int m, int u) const { return p + (u * step + m) * unit<U>::together; }
  void advance(int count) { p += count * step * unit<U>::together; }
  void go(const a_k_major &from, int k) { p = from.p + k * step * unit<U>::together; }
};

// A(k, m) = p[k / K * step + m * K + k % K]: a packed panel in which K neighbouring k of a row, a vector of words, lie
// together.
template <class U> struct a_k_blocked {
  typedef element_of_unit<U> E;
  static constexpr int chunk = words_of_vector<U>, at_once = 4;
  const E *p;
  int64_t step;
  const E *at(int m, int u) const { return p + m * k_width<U> + u * unit<U>::together; }
  const E *row(int m) const { return p + m * k_width<U>; }
  void advance(int) { p += step; }
  void go(const a_k_blocked &from, int k) {
    p = from.p + k / words_of_vector<U> * step + k % words_of_vector<U> * unit<U>::together;
  }
};

// A(k, m) = p[m * step + k]: a matrix whose rows are m, as it lies.  A pointer to every fifth row reaches the others at
// {1, 2, 3, 4} * step, which an address mode takes from two registers: the pointers of up to 28 rows stay in registers.
template <class U> struct a_rows {
  const element_of_unit<U> *p;
  int64_t step;
};
// The same in whole tiles: zeros stand behind the last k, and rows behind the last one may be read.
template <class U> struct a_whole_rows : a_rows<U> {};
// The same of a matrix that stays in the second cache, of which nothing is fetched ahead.
template <class U> struct a_near_rows : a_rows<U> {};
template <class U, int MR, bool FetchesAhead = true> struct a_row_cursor {
  typedef element_of_unit<U> E;
  static constexpr int chunk = words_of_vector<U>, bases = (MR + 4) / 5, at_once = passed_at_once<MR>;
  const E *base[bases];
  int64_t step, next; // next: from a row to the same row of the panel after this one
  explicit a_row_cursor(a_rows<U> a) : step(a.step), next(MR * a.step) {
#pragma GCC unroll 16
    for (int i = 0; i < bases; ++i) {
      base[i] = a.p + 5 * i * step;
      asm("" : "+r"(base[i])); // or the compiler derives them all from one, step by step, in every iteration
    }
  }
  const E *at(int m, int u) const { return base[m / 5] + m % 5 * step + u * unit<U>::together; }
  const E *row(int m) const { return base[m / 5] + m % 5 * step; }
  void advance(int count) {
    if constexpr (FetchesAhead) {
#pragma GCC unroll 32
      for (int m = 0; m < MR; ++m) __builtin_prefetch(base[m / 5] + next + m % 5 * step, 0, 2);
    }
#pragma GCC unroll 16
    for (int i = 0; i < bases; ++i) base[i] += count * unit<U>::together;
  }
  void go(const a_row_cursor &from, int k) {
#pragma GCC unroll 16
    for (int i = 0; i < bases; ++i) base[i] = from.base[i] + k * unit<U>::together;
  }
};
// A(k, m) = p[k / run * MR + m][k % run]: runs of neighbouring k, wherever they lie; run is whole chunks of words, which
// are vectors where rows are asked for.
template <class U, int Chunk = words_of_vector<U>> struct a_runs {
  const element_of_unit<U> *const *p;
  int64_t run;
};
template <class U, int MR, int Chunk = words_of_vector<U>> struct a_run_cursor {
  typedef element_of_unit<U> E;
  static constexpr int chunk = Chunk, at_once = passed_at_once<MR>;
  const E *base[MR];
  const E *const *p;
  int64_t run, left;
  explicit a_run_cursor(a_runs<U, Chunk> a) : p(a.p), run(a.run), left(0) { advance(0); }
  const E *at(int m, int u) const { return base[m] + u * unit<U>::together; }
  const E *row(int m) const { return base[m]; }
  void advance(int words) {
    const int count = words * unit<U>::together;
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

// The same of `count` k that are left where some runs are zeros in all rows, and left out: *passed is how many words of k
// B has between one run and the next.
template <class U, int Chunk = words_of_vector<U>> struct a_some_runs {
  a_runs<U, Chunk> runs;
  const int32_t *passed;
  int64_t count;
};
template <class U, int MR, int Chunk = words_of_vector<U>> struct a_some_run_cursor : a_run_cursor<U, MR, Chunk> {
  const int32_t *passed;
  explicit a_some_run_cursor(a_some_runs<U, Chunk> a) : a_run_cursor<U, MR, Chunk>(a.runs), passed(a.passed) {}
  // B's next row is that of this cursor: asked once at first, and after each advance.
  template <class B> void follow(B &b) {
    if (this->left == this->run) b.skip(*passed++);
  }
};

// Does an operand hand out sources that leave some k out?
template <class A> constexpr bool leaves_out = false;

// How many k a source has of as many.
template <class A> IMBREX_INLINE int64_t count_of(const A &, int64_t k_count) { return k_count; }
template <class U, int Chunk> IMBREX_INLINE int64_t count_of(const a_some_runs<U, Chunk> &a, int64_t) { return a.count; }

// Goes to where a cursor is, with what walks along B's k.
template <class A, class B> IMBREX_INLINE void follow(A &, B &) {}
template <class U, int MR, int Chunk, class B> IMBREX_INLINE void follow(a_some_run_cursor<U, MR, Chunk> &a, B &b) {
  a.follow(b);
}

// A source of whose k only those of a list are met, by one of B that has no others.
template <class A> struct a_listed {
  A all;
  const int32_t *k;
};
// C: a cursor at the first k; go(from, k): to another one.
template <class C> struct a_listed_cursor {
  static constexpr int chunk = 1, at_once = 1;
  const C from;
  C now;
  const int32_t *k;
  a_listed_cursor(const C &all, const int32_t *k) : from(all), now(all), k(k) { now.go(from, *k); }
  auto at(int m, int) const { return now.at(m, 0); }
  void advance(int) { now.go(from, *++k); }
};

template <int MR, class A> IMBREX_INLINE A cursor(A a) { return a; }
template <int MR, class A> IMBREX_INLINE A passing_cursor(A a) { return a; }
template <int MR, class U> IMBREX_INLINE a_row_cursor<U, MR> cursor(a_rows<U> a) { return a_row_cursor<U, MR>(a); }
template <int MR, class U> IMBREX_INLINE a_row_cursor<U, MR, false> cursor(a_near_rows<U> a) {
  return a_row_cursor<U, MR, false>(a);
}
template <class A> IMBREX_INLINE const A &near(const A &a) { return a; }
template <class U> IMBREX_INLINE a_near_rows<U> near(const a_rows<U> &a) { return {a}; }
// Of rows that pass once, beside one another: the hardware foresees them, and what else fetches them is in its way.
template <int MR, class U> IMBREX_INLINE a_row_cursor<U, MR, false> passing_cursor(a_rows<U> a) {
  return a_row_cursor<U, MR, false>(a);
}
template <int MR, class U, int Chunk> IMBREX_INLINE a_run_cursor<U, MR, Chunk> cursor(a_runs<U, Chunk> a) {
  return a_run_cursor<U, MR, Chunk>(a);
}
template <int MR, class U, int Chunk> IMBREX_INLINE a_run_cursor<U, MR, Chunk> passing_cursor(a_runs<U, Chunk> a) {
  return a_run_cursor<U, MR, Chunk>(a);
}
template <int MR, class U, int Chunk> IMBREX_INLINE a_some_run_cursor<U, MR, Chunk> cursor(a_some_runs<U, Chunk> a) {
  return a_some_run_cursor<U, MR, Chunk>(a);
}
template <int MR, class A> IMBREX_INLINE auto cursor(a_listed<A> a) {
  return a_listed_cursor<decltype(cursor<MR>(a.all))>(cursor<MR>(a.all), a.k);
}
template <int MR, class U, int Chunk> IMBREX_INLINE a_some_run_cursor<U, MR, Chunk> passing_cursor(a_some_runs<U, Chunk> a) {
  return a_some_run_cursor<U, MR, Chunk>(a);
}
} // namespace imbrex
