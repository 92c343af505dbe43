// A consumer's sums to C.
//
// They go by pieces of 64 rows and 128 bytes through shared memory, which has room for two: one is written while the
// other is on its way.  The last piece of a tile begins where it ends with the tile, so that all have one size; what it
// has in common with the one before is written twice, the same.  From shared memory the copy engine stores a piece
// where C is such that it can; otherwise lanes do, by the widest access that C allows.
#pragma once
#include "epilogue_operands.h"
#include "partial.h"
#include "piece.h"
#include "sums.h"
#include "ptx/tensor_copy.h"
#include "warpgroup.h"
#include "work.h"

namespace imbrex {

// alpha * x + beta * C, of a sum that lies at a row and a column of all of C.
template <class P, class S>
IMBREX_INLINE S scaled(const P &p, S x, int32_t batch, int32_t row, int32_t column) {
  if constexpr (!P::is_scaled) return x;
  x = times(P::alpha(), x);
  if constexpr (P::adds_c)
    if (p.c_exists(batch, row, column)) x += P::beta() * S(widen(read_behind(p.c_at(batch, row, column))));
  return x;
}

// d = alpha * d + beta * C.
template <class P, class S, int N>
IMBREX_INLINE void scale(const P &p, S (&d)[N], const work &w, int32_t row_in_tile) {
  const int32_t lane = warpgroup_lane();
  const int32_t row = w.row_tile * P::rows + row_in_tile, column = w.column_tile * P::columns;
#pragma unroll
  for (int r = 0; r < N; ++r)
    d[r] = scaled(p, d[r], w.batch, row + P::sum_row(lane, r), column + P::sum_column(lane, r));
}

// f = what the epilogue makes of d for that array; d is block m of those that `more` has been loaded for: of the sums of
// the piece from `from` on, but for those before `done`, of which it has been made.
template <class Out, class P, class F, class S, int N>
IMBREX_INLINE void finish(const P &p, F &more, int m, typename P::result (&f)[N], const S (&d)[N], int from, int done,
                          const work &w, int32_t row_in_tile) {
  constexpr int sums = P::piece_columns / 2;
  static_assert(sums % P::at_a_time == 0, "sums are finished some at a time");
  const int32_t row = w.row_tile * P::rows + row_in_tile, column = w.column_tile * P::columns;
#pragma unroll
  for (int i = from; i < from + sums; i += P::at_a_time) {
    if (i + P::at_a_time <= done) continue;
    Out::load_here(more, p, w.batch, row, column + i * 2);
#pragma unroll
    for (int j = 0; j < P::at_a_time; ++j)
      if (i + j >= done) f[i + j] = Out::finished(more, d[i + j], m, i + j, j);
  }
}

// C += d.
template <class P, class S, int N>
IMBREX_INLINE void add_to_c(const P &p, const S (&d)[N], const work &w, int32_t row_in_tile) {
  const int32_t lane = warpgroup_lane();
#pragma unroll
  for (int r = 0; r < N; ++r) {
    const int32_t row = w.row_tile * P::rows + row_in_tile + P::sum_row(lane, r);
    const int32_t column = w.column_tile * P::columns + P::sum_column(lane, r);
    if (p.c_exists(w.batch, row, column)) atomicAdd(p.c_at(w.batch, row, column), d[r]);
  }
}

// The piece's columns from `first` on, to shared memory.  stmatrix takes rows of 8 x 8 matrices, two registers each:
// of the pairs of sums that a lane holds, those 8 rows and those 8 columns further on.
template <class Out, class P, class S, int N> IMBREX_INLINE void put_piece(uint32_t to, const S (&d)[N], int first) {
  typedef typename P::c_type type;
  typedef typename Out::pair pair;
  const int32_t lane = warpgroup_lane(), in_warp = lane % 32, warp = lane / 32;
  if constexpr (sizeof(type) == 2) {
    const int32_t row = 16 * warp + (P::along_columns ? in_warp % 16 : in_warp / 8 % 2 * 8);
    const int32_t column = P::along_columns ? in_warp / 16 * 8 : in_warp % 8 + in_warp / 16 * 8;
#pragma unroll
    for (int j = 0; j < P::piece_columns; j += 16) {
      const S *x = d + (first + j) / 2;
      const uint32_t address = to + P::staged(row, column + j);
      if (j + 8 < P::piece_columns) {
        const uint32_t four[4] = {pair::from(x[0], x[1]), pair::from(x[2], x[3]),
                                  pair::from(x[4], x[5]), pair::from(x[6], x[7])};
        put_matrices<!P::along_columns>(address, four);
      } else {
        const uint32_t two[2] = {pair::from(x[0], x[1]), pair::from(x[2], x[3])};
        put_matrices<!P::along_columns>(address, two);
      }
    }
  } else {
    static_assert(sizeof(type) == 4 && sizeof(S) == 4, "sums are stored as they are");
#pragma unroll
    for (int j = 0; j < P::piece_columns / 2; j += 2) {
      const S *x = d + first / 2 + j;
      const int32_t row = P::sum_row(lane, j), column = P::sum_column(lane, j);
      if constexpr (P::along_columns) {
        put_shared(to + P::staged(row, column), bits_of(x[0]), bits_of(x[1]));
      } else {
        put_shared(to + P::staged(row, column), bits_of(x[0]));
        put_shared(to + P::staged(row, column + 1), bits_of(x[1]));
      }
    }
  }
}

// The same of several phases, whose columns take turns: of each row a lane has two neighbours of every phase, which lie
// together where rows of the image are not cut between them.
template <class P, class S, int N> IMBREX_INLINE void put_phases(uint32_t to, const S (&d)[N], int first) {
  typedef typename P::c_type type;
  typedef pair_of<type, P::ends_in_relu> pair;
  static_assert(P::along_columns && sizeof(type) >= 2, "phases take turns along columns");
  constexpr int each = N / P::summed, residues = P::phases / P::phase_rows;
  constexpr int near = P::phase_rows == 1 || P::phase_run % 2 == 0 ? 2 : 1, together = near * residues;
  constexpr int words = together * int(sizeof(type)) / 4, word = 4 / int(sizeof(type));
  const int32_t lane = warpgroup_lane();
#pragma unroll
  for (int j = 0; j < P::piece_columns / P::phases / 2; j += 2)
#pragma unroll
    for (int i = 0; i < P::phase_rows * 2; i += near) {
      const int32_t row = P::sum_row(lane, j), phase = i / 2 * residues;
      const int32_t column = P::phase_column(P::own_column(lane, j) + i % 2, phase);
      uint32_t x[words];
#pragma unroll
      for (int w = 0; w < words; ++w) {
        S part[word];
#pragma unroll
        for (int e = 0; e < word; ++e) {
          const int at = w * word + e, own = P::sums_of(phase + at % residues);
          part[e] = own < 0 ? S(0) : d[own * each + first / P::phases / 2 + j + i % 2 + at / residues];
        }
        if constexpr (word == 2)
          x[w] = pair::from(part[0], part[word - 1]);
        else
          x[w] = bits_of(part[0]);
      }
#pragma unroll
      for (int w = 0; w < words; w += words % 2 ? 1 : 2) {
        const uint32_t address = to + P::staged(row, column + w * word);
        if constexpr (words % 2)
          put_shared(address, x[w]);
        else
          put_shared(address, x[w], x[w + 1]);
      }
    }
}

// Four neighbours of a lane's sums, of a block of 64 rows from number `first` on, to C.
template <class P>
IMBREX_INLINE void store_sums(const P &p, const work &w, const typename P::sum (&x)[4], int32_t block, int32_t first,
                              int32_t lane) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int32_t row = w.row_tile * P::rows + block * 64 + P::sum_row(lane, first + i);
    const int32_t column = w.column_tile * P::columns + P::sum_column(lane, first + i);
    if (!p.c_exists(w.batch, row, column)) continue;
    const typename P::sum sum = scaled(p, x[i], w.batch, row, column);
    *p.c_at(w.batch, row, column) = converted<typename P::c_type>(p.finished(sum, w.batch, row, column));
    if constexpr (P::keeps)
      *p.kept_at(w.batch, row, column) = converted<typename P::c_type>(p.finished_kept(sum, w.batch, row, column));
  }
}

// Of a tile whose sharers have met, the part of the one at `slot`: groups of four of each lane's sums, every
// sharer's added in order, to C.  What is added is on its way together, of as many sharers and groups as registers hold.
template <class P>
IMBREX_INLINE void store_part(const P &p, const work &w, int32_t slot, int32_t size, int32_t rank, int32_t group) {
  typedef typename P::sum sum;
  constexpr int count = P::columns / 2, all = P::rows / 64 / (P::splits_rows ? P::consumers : 1) * count;
  constexpr int parts = P::sharers < 16 ? P::sharers : 16, groups = 2 * parts <= 16 && all > 4 * P::sharers ? 2 : 1;
  const int32_t lane = warpgroup_lane();
#pragma unroll 1
  for (int32_t first = (slot - w.next) * 4; first < all; first += groups * P::sharers * 4) {
    sum total[groups][4] = {};
#pragma unroll 1
    for (int32_t before = 0; before < P::sharers; before += parts) {
      sum x[parts][groups][4] = {};
#pragma unroll
      for (int part = 0; part < parts; ++part) {
        const sum *from = lane_partial(p.partial_of((w.next + before + part) * size + rank), group, all);
#pragma unroll
        for (int g = 0; g < groups; ++g)
          if ((P::sharers % parts == 0 || before + part < P::sharers) && (g == 0 || first + g * P::sharers * 4 < all))
            take(x[part][g], from, first + g * P::sharers * 4);
      }
#pragma unroll
      for (int part = 0; part < parts; ++part)
#pragma unroll
        for (int g = 0; g < groups; ++g)
#pragma unroll
          for (int i = 0; i < 4; ++i) total[g][i] += x[part][g][i];
    }
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      const int32_t at = first + g * P::sharers * 4;
      if (at < all) store_sums(p, w, total[g], group * (all / count) + at / count, at % count, lane);
    }
  }
}

// Where a consumer's pieces go.
struct staging {
  uint32_t memory;
  int32_t group;     // of the warpgroups that consume
  uint32_t turn = 0; // which of the two pieces is next
};

// A piece to shared memory, and on its way to its array.
template <class Out, class P, class T, int N>
IMBREX_INLINE void send_piece(const P &p, staging &s, const T (&x)[N], const work &w, int32_t row_in_tile, int first) {
  const bool leads = warpgroup_lane() == 0;
  const uint32_t memory = s.memory + s.turn * P::piece_bytes;
  s.turn ^= 1;
  if constexpr (P::stores_boxes) {
    if (leads) wait_stores_read<1>();
    meet_warpgroup(s.group);
  }
  if constexpr (P::phases > 1 && !P::is_finished)
    put_phases<P>(memory, x, first);
  else
    put_piece<Out, P>(memory, x, first);
  if constexpr (P::stores_boxes) {
    written_for_engines();
    meet_warpgroup(s.group);
    if (leads) {
      Out::store(p, memory, w.batch, w.row_tile * P::rows + row_in_tile, w.column_tile * P::columns + first);
      end_stores();
    }
  } else {
    meet_warpgroup(s.group);
    copy_piece<Out>(p, memory, w, row_in_tile, first);
  }
}

// Sums are finished piece by piece: so few of what an epilogue computes is in registers beside the sums.  What it keeps
// goes the same way, a piece of it before the one of C; so C's is made from the sums again.
template <class P, class F, class S, int N>
IMBREX_INLINE void store_pieces(const P &p, staging &s, F &more, int m, const S (&d)[N], const work &w,
                                int32_t row_in_tile) {
  constexpr int pieces = (P::columns + P::piece_columns - 1) / P::piece_columns;
  typename P::result finished[P::is_finished ? N : 1];
  int done = 0;
#pragma unroll
  for (int i = 0; i < pieces; ++i) {
    const int first = i + 1 < pieces ? i * P::piece_columns : P::columns - P::piece_columns;
    if constexpr (P::keeps) {
      finish<to_kept<P>>(p, more, m, finished, d, first / 2, 0, w, row_in_tile);
      send_piece<to_kept<P>>(p, s, finished, w, row_in_tile, first);
      done = 0;
    }
    if constexpr (P::is_finished) {
      finish<to_c<P>>(p, more, m, finished, d, first / 2, done, w, row_in_tile);
      send_piece<to_c<P>>(p, s, finished, w, row_in_tile, first);
    } else {
      send_piece<to_c<P>>(p, s, d, w, row_in_tile, first);
    }
    done = (first + P::piece_columns) / 2;
  }
}

// 64 rows of the tile from `row_in_tile` on: block m of those that `more` has been loaded for.
template <class P, class F, class S, int N>
IMBREX_INLINE void store_rows(const P &p, staging &s, F &more, int m, S (&d)[N], const work &w, int32_t row_in_tile) {
  if constexpr (P::is_scaled) scale(p, d, w, row_in_tile);
  if constexpr (P::adds_atomically) {
    add_to_c(p, d, w, row_in_tile);
  } else {
    store_pieces(p, s, more, m, d, w, row_in_tile);
  }
}
template <class P, class S, int N>
IMBREX_INLINE void store_rows(const P &p, staging &s, S (&d)[N], const work &w, int32_t row_in_tile) {
  typename P::template further<1, N> more;
  more.load_ahead(p, w.batch, w.row_tile * P::rows + row_in_tile, w.column_tile * P::columns);
  store_rows(p, s, more, 0, d, w, row_in_tile);
}

// A consumer's end: returns when nothing reads its pieces any more.
template <class P> IMBREX_INLINE void wait_pieces_read() {
  if constexpr (P::stores_boxes)
    if (warpgroup_lane() == 0) wait_stores_read<0>();
}
} // namespace imbrex
