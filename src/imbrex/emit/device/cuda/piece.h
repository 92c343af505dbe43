// A piece of C, or of what an epilogue keeps beside it, from shared memory to its array.
#pragma once
#include "epilogue_operands.h"
#include "shift.h"
#include "sums.h"
#include "warpgroup.h"
#include "work.h"

namespace imbrex {

// The array that a piece goes to: C.
template <class P> struct to_c {
  typedef pair_of<typename P::c_type, P::ends_in_relu> pair;
  static constexpr int width = P::c_width;
  static constexpr bool has_rows = P::c_has_rows;

  template <class F> IMBREX_MEMBER static void load_here(F &more, const P &p, int32_t batch, int32_t row, int32_t column) {
    more.load_here(p, batch, row, column);
  }
  template <class F, class S>
  IMBREX_MEMBER static typename P::result finished(const F &more, S x, int32_t m, int32_t number, int32_t loaded) {
    return more.finished(x, m, number, loaded);
  }
  IMBREX_MEMBER static bool exists(const P &p, int32_t batch, int32_t row, int32_t column) {
    return p.c_exists(batch, row, column);
  }
  IMBREX_MEMBER static typename P::c_type *at(const P &p, int32_t batch, int32_t row, int32_t column) {
    return p.c_at(batch, row, column);
  }
  IMBREX_MEMBER static int32_t left(const P &p, int32_t batch, int32_t row, int32_t column) {
    return p.c_left(batch, row, column);
  }
  IMBREX_MEMBER static void store(const P &p, uint32_t from, int32_t batch, int32_t row, int32_t column) {
    p.store(from, batch, row, column);
  }
};

// That of what an epilogue keeps beside it.
template <class P> struct to_kept {
  typedef pair_of<typename P::c_type, false> pair;
  static constexpr int width = P::kept_width;
  static constexpr bool has_rows = P::kept_has_rows;

  template <class F> IMBREX_MEMBER static void load_here(F &more, const P &p, int32_t batch, int32_t row, int32_t column) {
    more.load_kept(p, batch, row, column);
  }
  template <class F, class S>
  IMBREX_MEMBER static typename P::result finished(const F &more, S x, int32_t m, int32_t number, int32_t loaded) {
    return more.finished_kept(x, m, number, loaded);
  }
  IMBREX_MEMBER static bool exists(const P &p, int32_t batch, int32_t row, int32_t column) {
    return p.kept_exists(batch, row, column);
  }
  IMBREX_MEMBER static typename P::c_type *at(const P &p, int32_t batch, int32_t row, int32_t column) {
    return p.kept_at(batch, row, column);
  }
  IMBREX_MEMBER static int32_t left(const P &p, int32_t batch, int32_t row, int32_t column) {
    return p.kept_left(batch, row, column);
  }
  IMBREX_MEMBER static void store(const P &p, uint32_t from, int32_t batch, int32_t row, int32_t column) {
    p.store_kept(from, batch, row, column);
  }
};

// A piece from shared memory to its array by lanes, in accesses that are as wide as its rows allow.
template <class Out, class P>
IMBREX_INLINE void copy_elements(const P &p, uint32_t from, const work &w, int32_t row_in_tile, int32_t first) {
  constexpr int width = Out::width, line = (P::along_columns ? P::piece_columns : 64) / width;
  constexpr int size = sizeof(typename P::c_type);
#pragma unroll(width > 1 ? 4 : 2)
  for (int i = 0; i < 64 * P::piece_columns / width; i += warpgroup_lanes) {
    const int32_t at = i + warpgroup_lane(), along = at % line * width, across = at / line;
    if (64 * P::piece_columns / width % warpgroup_lanes && at >= 64 * P::piece_columns / width) break;
    const int32_t row = P::along_columns ? across : along, column = P::along_columns ? along : across;
    const int32_t c_row = w.row_tile * P::rows + row_in_tile + row;
    const int32_t c_column = w.column_tile * P::columns + first + column;
    if (Out::exists(p, w.batch, c_row, c_column))
      copy_out<width * size>(Out::at(p, w.batch, c_row, c_column), from + P::staged(row, column));
  }
}

// The same where rows lie whole in memory, and begin anywhere: the aligned 16 bytes of memory that hold some of a row,
// each by one lane, of two of the row's in shared memory.  What of them is not the row's is not written.
template <class Out, class P>
IMBREX_INLINE void copy_rows(const P &p, uint32_t from, const work &w, int32_t row_in_tile, int32_t first) {
  constexpr int size = sizeof(typename P::c_type), width = 16 / size;
  constexpr int along = P::along_columns ? P::piece_columns : 64;
  constexpr int cells = along / width, line = cells + 1, all = 64 * P::piece_columns / along * line;
  typedef word<size> element;
  const auto taken = [&](int32_t across, int32_t cell) {
    const int32_t column = cell < 0 ? 0 : (cell < cells ? cell : cells - 1) * width;
    uint4 x;
    take_shared(x.x, x.y, x.z, x.w,
                from + (P::along_columns ? P::staged(across, column) : P::staged(column, across)));
    return x;
  };
#pragma unroll 2
  for (int i = 0; i < all; i += warpgroup_lanes) {
    const int32_t at = i + warpgroup_lane(), cell = at % line, across = at / line;
    if (all % warpgroup_lanes && at >= all) break;
    const int32_t c_row = w.row_tile * P::rows + row_in_tile + (P::along_columns ? across : 0);
    const int32_t c_column = w.column_tile * P::columns + first + (P::along_columns ? 0 : across);
    auto *row = Out::at(p, w.batch, c_row, c_column);
    const int32_t left = Out::left(p, w.batch, c_row, c_column), end = left < along ? left : along;
    const int32_t shift = int32_t(reinterpret_cast<uint64_t>(row) & 15) / size, begin = cell * width - shift;
    if (begin >= end || begin + width <= 0) continue;
    const int32_t low = shift ? cell - 1 : cell;
    const uint4 x = shifted(taken(across, low), taken(across, low + 1), uint32_t(width - shift) % width * size, 16);
    if (begin >= 0 && begin + width <= end) {
      *reinterpret_cast<uint4 *>(row + begin) = x;
    } else {
      const uint32_t words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
      for (int e = 0; e < width; ++e)
        if (begin + e >= 0 && begin + e < end)
          *reinterpret_cast<element *>(row + begin + e) = element(words[e * size / 4] >> e * size % 4 * 8);
    }
  }
}

// A piece to its array by lanes.
template <class Out, class P>
IMBREX_INLINE void copy_piece(const P &p, uint32_t from, const work &w, int32_t row_in_tile, int32_t first) {
  if constexpr (Out::has_rows)
    copy_rows<Out>(p, from, w, row_in_tile, first);
  else
    copy_elements<Out>(p, from, w, row_in_tile, first);
}
} // namespace imbrex
