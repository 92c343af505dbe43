// The inner product by tiles: sums of up to four tiles stay in registers while K passes by.
//
// A's tile is 16 rows of 64 bytes of k, where they lie if they are evenly apart, else copied; B's is 16 words of k in 16
// columns, as a panel of words has them.  What does not exist, of K behind the last tile and of rows behind the last, is
// 0 in packed panels, and else in copies on the stack, so that nothing is read beyond a matrix.
#pragma once
#include "amx/tile.h"
#include "extent.h"
#include "micro.h"

namespace imbrex {

struct tdpbf16ps;
struct tdpbssd;
template <> struct unit<tdpbf16ps> : narrow_unit<float, bf16> {
  template <int C, int A, int B> IMBREX_INLINE void multiply() { amx::multiply_bf16<C, A, B>(); }
};
template <> struct unit<tdpbssd> : narrow_unit<int32_t, int8_t> {
  template <int C, int A, int B> IMBREX_INLINE void multiply() { amx::multiply_i8<C, A, B>(); }
};

constexpr int tile_rows = 16, tile_words = 16, tile_bytes = 64, word_bytes = 4;
template <> inline constexpr bool has_tiles<tdpbf16ps> = true;
template <> inline constexpr bool has_tiles<tdpbssd> = true;
template <int MR> constexpr int tiles_tall = (MR + tile_rows - 1) / tile_rows;

// All eight tiles, whole, from here to the end of the block.
struct configured_tiles {
  configured_tiles() {
    amx::configuration by = {};
    by.palette = 1;
    for (int i = 0; i < 8; ++i) by.rows[i] = tile_rows, by.row_bytes[i] = tile_bytes;
    amx::configure(by);
  }
  ~configured_tiles() { amx::release(); }
  configured_tiles(const configured_tiles &) = delete;
};

// The first `count` elements, 1 to a whole vector; the others are 0, and are not read.
template <class U> IMBREX_INLINE typename unit<U>::words load_first(const element_of_unit<U> *p, int64_t count) {
  const uint64_t bytes = count * int(sizeof(element_of_unit<U>));
  return (typename unit<U>::words)_mm512_maskz_loadu_epi8(~uint64_t(0) >> (64 - bytes), p);
}

template <class U> using tile_copy = element_of_unit<U>[tile_rows][k_width<U>];

// Rows of A, `apart` elements from each other, for one tile's width of k after another; where they cannot be loaded, and
// where a tile is not whole, they are copied.  copy: a tile of `rows` rows, `count` neighbours along k; what is beyond them
// is 0.  ends_whole: are there zeros behind the last k?  has_all_rows: may rows behind the last one be read?
template <class U> struct tiles_of_rows {
  template <class Row> static void copy(tile_copy<U> &held, int rows, int64_t count, Row row) {
    for (int m = 0; m < tile_rows; ++m) {
      typename unit<U>::words found{};
      if (m < rows) found = load_first<U>(row(m), count);
      __builtin_memcpy(held[m], &found, sizeof(found));
    }
  }
};
template <class U> struct blocked_tiles : tiles_of_rows<U> {
  static constexpr bool can_load = true, ends_whole = true, has_all_rows = false;
  a_k_blocked<U> a;
  explicit blocked_tiles(a_k_blocked<U> a) : a(a) {}
  const element_of_unit<U> *row(int m) const { return a.row(m); }
  int64_t apart(int) const { return k_width<U>; }
  void advance() { a.advance(words_of_vector<U>); }
};
template <class U, bool IsWhole> struct plain_tiles : tiles_of_rows<U> {
  static constexpr bool can_load = true, ends_whole = IsWhole, has_all_rows = IsWhole;
  a_rows<U> a;
  explicit plain_tiles(a_rows<U> a) : a(a) {}
  const element_of_unit<U> *row(int m) const { return a.p + m * a.step; }
  int64_t apart(int) const { return a.step; }
  void advance() { a.p += k_width<U>; }
};
// Words of all rows together: turned, word by word, before they are a tile.
template <class U> struct turned_tiles {
  static constexpr bool can_load = false, ends_whole = false, has_all_rows = false;
  a_k_major<U> a;
  explicit turned_tiles(a_k_major<U> a) : a(a) {}
  const element_of_unit<U> *row(int m) const { return a.at(m, 0); }
  int64_t apart(int) const { return 0; }
  void advance() { a.advance(words_of_vector<U>); }
  template <class Row> void copy(tile_copy<U> &held, int rows, int64_t count, Row row) const {
    constexpr int together = unit<U>::together;
    typename unit<U>::words square[tile_words] = {};
    for (int k = 0; k * together < count; ++k)
      square[k] = unit<U>::load(row(0) + k * a.step * together, rows * together);
    transpose<uint32_t>(square);
    for (int m = 0; m < tile_rows; ++m) __builtin_memcpy(held[m], &square[m], sizeof(square[m]));
  }
};
// A tile of a run of neighbouring k, whose rows are `apart` elements from each other.
template <class U> struct place_of_tile {
  const element_of_unit<U> *at;
  int64_t apart;
};
// A stretch of k, `length` of them, whole tiles' widths: each tile of rows wherever it lies.
template <class U, int Tall> struct stretch_of_tiles {
  place_of_tile<U> tile[Tall];
  int64_t length;
};
// Stretches one after another, all of them Length long unless that is 0.  next: rows that are fetched meanwhile, Fetched of
// them for each stretch.
template <class U, int Tall, int Length, int Fetched> struct a_tiles {
  const stretch_of_tiles<U, Tall> *stretch;
  place_of_tile<U> next;
};
template <class U, int Tall, int Length, int Fetched> struct placed_tiles : tiles_of_rows<U> {
  static constexpr bool can_load = true, ends_whole = true, has_all_rows = true;
  const stretch_of_tiles<U, Tall> *stretch;
  place_of_tile<U> tile[Tall], next;
  int64_t left;
  explicit placed_tiles(a_tiles<U, Tall, Length, Fetched> a) : stretch(a.stretch), next(a.next) { begin(); }
  const element_of_unit<U> *row(int m) const { return tile[m / tile_rows].at; }
  int64_t apart(int i) const { return tile[i].apart; }
  IMBREX_INLINED void advance() {
#pragma GCC unroll 8
    for (int i = 0; i < Fetched; ++i) __builtin_prefetch(next.at + i * next.apart);
    next.at += k_width<U>;
    left -= k_width<U>;
    if (left == 0) {
      next.at += Fetched * next.apart - length(), ++stretch;
      begin();
    } else {
#pragma GCC unroll 4
      for (int i = 0; i < Tall; ++i) tile[i].at += k_width<U>;
    }
  }

private:
  int64_t length() const { return Length > 0 ? Length : stretch->length; }
  IMBREX_INLINED void begin() {
    left = length();
#pragma GCC unroll 4
    for (int i = 0; i < Tall; ++i) tile[i] = stretch->tile[i];
  }
};
template <int MR, class U> IMBREX_INLINE blocked_tiles<U> tiles_of(a_k_blocked<U> a) { return blocked_tiles<U>(a); }
template <int MR, class U> IMBREX_INLINE plain_tiles<U, false> tiles_of(a_rows<U> a) { return plain_tiles<U, false>(a); }
template <int MR, class U> IMBREX_INLINE plain_tiles<U, true> tiles_of(a_whole_rows<U> a) { return plain_tiles<U, true>(a); }
template <int MR, class U> IMBREX_INLINE turned_tiles<U> tiles_of(a_k_major<U> a) { return turned_tiles<U>(a); }
template <int MR, class U, int Tall, int Length, int Fetched>
IMBREX_INLINE placed_tiles<U, Tall, Length, Fetched> tiles_of(a_tiles<U, Tall, Length, Fetched> a) {
  return placed_tiles<U, Tall, Length, Fetched>(a);
}

// body(number) for each number below N, which is part of its type.
template <int N, int I = 0, class Body> IMBREX_INLINE void each_number(Body body) {
  if constexpr (I < N) {
    body(extent<I>{});
    each_number<N, I + 1>(body);
  }
}

// Tiles 0 to 3 are sums, row by row; the others A's, as many as there are tiles of rows up to three, and then B's.
template <class U, int MR, int NV> struct tile_loop {
  typedef sum_of_unit<U> T;
  typedef element_of_unit<U> E;
  static constexpr int tall = tiles_tall<MR>, of_a = tall < 3 ? tall : 3, of_b = 4 - of_a;
  static constexpr int whole = MR / tile_rows; // tiles that have all rows
  static_assert(tall * NV <= 4, "sums are four tiles at most");
  static_assert(sizeof(T) == word_bytes && words_of_vector<U> == tile_words, "a row of a tile is a vector of words");

  template <class A, class B, class Sink>
  static __attribute__((noinline)) void run(int64_t k_count, A source, B b, Sink sink) {
    auto a = tiles_of<MR>(source);
    const int64_t row_bytes = b.step * word_bytes;
    begin(sink);
    for (; k_count >= k_width<U>; k_count -= k_width<U>, a.advance()) {
      multiply([&](auto i) IMBREX_INLINED { load_a<decltype(i)::value>(a, k_width<U>); }, b, b.p, row_bytes);
      b.p += tile_words * b.step * unit<U>::together;
    }
    if (k_count > 0) rest(k_count, a, b, row_bytes);
    store_all(sink);
  }

private:
  template <int I> static constexpr int a_tile = 4 + I % of_a;
  template <int V> static constexpr int b_tile = 4 + of_a + V % of_b;

  template <int Tile> IMBREX_INLINE void load_b(const b_panel<U, NV> &, const E *p, int64_t row_bytes) {
    amx::load<Tile>(p, row_bytes);
  }
  template <int Tile> IMBREX_INLINE void load_b(const b_passing<U, NV> &, const E *p, int64_t row_bytes) {
    amx::load_passing<Tile>(p, row_bytes);
  }

  template <class LoadA, class B>
  IMBREX_INLINE void multiply(LoadA load_a, const B &kind, const E *b, int64_t row_bytes) {
    each_number<NV>([&](auto v) IMBREX_INLINED {
      constexpr int V = decltype(v)::value;
      load_b<b_tile<V>>(kind, b + V * k_width<U>, row_bytes);
      each_number<tall>([&](auto i) IMBREX_INLINED {
        constexpr int I = decltype(i)::value;
        if constexpr (V == 0) load_a(i);
        unit<U>::template multiply<I * NV + V, a_tile<I>, b_tile<V>>();
      });
    });
  }

  // Tile I of A's rows, of `count` neighbours along k.
  template <int I, class Rows> IMBREX_INLINE void load_a(const Rows &a, int64_t count) {
    if (Rows::can_load && (I < whole || Rows::has_all_rows) && count == k_width<U>)
      return amx::load<a_tile<I>>(a.row(I * tile_rows), a.apart(I) * int64_t(sizeof(E)));
    alignas(64) tile_copy<U> held;
    copy_rows<I>(held, a, count);
    amx::load<a_tile<I>>(held, tile_bytes);
  }
  template <int I, class Rows>
  static __attribute__((noinline)) void copy_rows(tile_copy<U> &held, Rows a, int64_t count) {
    constexpr int rows = MR - I * tile_rows < tile_rows ? MR - I * tile_rows : tile_rows;
    a.copy(held, rows, count, [&](int m) { return a.row(I * tile_rows + m); });
  }

  // The last words of K, fewer than a tile has.
  template <class Rows, class B>
  static __attribute__((noinline)) void rest(int64_t count, Rows a, B b, int64_t row_bytes) {
    if constexpr (Rows::ends_whole) count = k_width<U>;
    multiply([&](auto i) IMBREX_INLINED { load_a<decltype(i)::value>(a, count); }, b, b.p, row_bytes);
  }

  // Whole tiles go to a private tile of C, and come from there, as they are; and to a C that holds sums, where its rows
  // are evenly apart.
  template <class Sink> static constexpr bool is_private = is_same<Sink, c_tile<T>> && MR % tile_rows == 0;
  template <class Sink> static constexpr bool holds_sums = is_same<Sink, c_sink<T, T, NV>> && MR % tile_rows == 0;
  template <class Sink> static constexpr bool has_kept = is_c_added<Sink> && MR % tile_rows == 0;

  // Elements from row to row of tiles that are loaded and stored where they lie; else 0.
  template <class Sink> IMBREX_INLINE int64_t direct(const Sink &sink) {
    if constexpr (is_private<Sink>) return sink.step;
    if constexpr (holds_sums<Sink>)
      if (sink.is_set() || sink.is_added()) return sink.apart(MR);
    return 0;
  }
  template <class Sink> IMBREX_INLINE bool adds(const Sink &sink) {
    if constexpr (is_private<Sink>) return sink.accumulate;
    if constexpr (holds_sums<Sink>) return sink.is_added();
    return false;
  }

  template <class Sink> IMBREX_INLINE void begin(const Sink &sink) {
    if constexpr (has_kept<Sink>)
      return load_all([&](int m, int v) { return sink.kept + m * sink.step + v * tile_words; }, sink.step);
    if (const int64_t step = direct(sink); step != 0 && adds(sink))
      return load_all([&](int m, int v) { return sink.at(m, v); }, step);
    if constexpr (!is_private<Sink>) fetch_ahead(sink);
    each_number<tall * NV>([](auto i) IMBREX_INLINED { amx::zero<decltype(i)::value>(); });
  }
  // All lines of a tile of C: where its rows begin inside a line, they end in one that none of their vectors begins in.
  template <class Sink> IMBREX_INLINE void fetch_ahead(const Sink &sink) {
    constexpr int vector = tile_words * int(sizeof(*sink.at(0, 0))), apart = vector < line_bytes ? line_bytes / vector : 1;
    for (int m = 0; m < MR; ++m)
      for (int v = 0; v < NV; v += apart) __builtin_prefetch(sink.at(m, v), 1);
    if (uint64_t(sink.at(0, 0)) % line_bytes != 0)
      for (int m = 0; m < MR; ++m) __builtin_prefetch(sink.at(m, NV) - 1, 1);
  }
  template <class At> IMBREX_INLINE void load_all(At at, int64_t step) {
    each_number<tall * NV>([&](auto i) IMBREX_INLINED {
      constexpr int I = decltype(i)::value;
      amx::load<I>(at(I / NV * tile_rows, I % NV), step * word_bytes);
    });
  }

  // WereKept: the sums began at what was kept, so C's are still to be added.
  template <bool WereKept = false, class Sink> IMBREX_INLINE void store_all(Sink &sink) {
    if constexpr (has_kept<Sink>) return store_all<true>(sink.sink);
    if constexpr (is_private<Sink> || holds_sums<Sink>)
      if (const int64_t step = direct(sink); step != 0 && !(WereKept && adds(sink)))
        return each_number<tall * NV>([&](auto i) IMBREX_INLINED {
          constexpr int I = decltype(i)::value;
          amx::store<I>(sink.at(I / NV * tile_rows, I % NV), step * word_bytes);
        });
    alignas(64) T sums[tall * NV][tile_rows][tile_words];
    each_number<tall * NV>([&](auto i) IMBREX_INLINED {
      constexpr int I = decltype(i)::value;
      amx::store<I>(sums[I], tile_bytes);
    });
    for (int m = 0; m < MR; ++m) {
      vec<T> row[NV];
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) row[v] = load<T>(sums[m / tile_rows * NV + v][m % tile_rows]);
      put(sink, m, row);
    }
  }

  template <class Sink> IMBREX_INLINE void put(Sink &sink, int m, const vec<T> (&row)[NV]) {
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sink(m, v, row[v]);
  }
  // Sums of a unit that flushes, narrowed by an instruction that does, too: two vectors at a time.
  IMBREX_INLINE void narrow(bf16 *p, const vec<float> (&row)[NV], mask_t last) {
#pragma GCC unroll 4
    for (int v = 0; v + 1 < NV; v += 2) {
      const __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)row[v + 1], (__m512)row[v]);
      const mask_t lanes = (v + 2 == NV ? last : all_lanes<float>) << tile_words | all_lanes<float>;
      _mm512_mask_storeu_epi16(p + v * tile_words, __mmask32(lanes), both);
    }
    if constexpr (NV % 2) {
      const __m256i one = (__m256i)_mm512_cvtneps_pbh((__m512)row[NV - 1]);
      _mm256_mask_storeu_epi16(p + (NV - 1) * tile_words, __mmask16(last), one);
    }
  }
  IMBREX_INLINE void put(c_sink<float, bf16, NV> &sink, int m, const vec<float> (&row)[NV]) {
    if (sink.is_set()) return narrow(sink.at(m, 0), row, sink.last);
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sink(m, v, row[v]);
  }
};
} // namespace imbrex
