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

// A row of a piece where rows lie whole in memory and begin anywhere: where its first element goes, how many elements
// that is behind 16 aligned bytes, and how many of it exist.
template <class T> struct row_of_piece {
  T *to;
  int32_t shift, count;
};

// 16 bytes of a row of a piece in shared memory, from any element on.
template <class P> IMBREX_INLINE uint4 taken(uint32_t from, int32_t across, int32_t first) {
  constexpr int width = 16 / sizeof(typename P::c_type), along = P::along_columns ? P::piece_columns : 64;
  uint4 x[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int32_t at = first / width * width + i * width, here = at < along ? at : 0;
    take_shared(x[i].x, x[i].y, x[i].z, x[i].w,
                from + (P::along_columns ? P::staged(across, here) : P::staged(here, across)));
  }
  return shifted(x[0], x[1], uint32_t(first % width) * sizeof(typename P::c_type), 16);
}

// Less than 16 bytes of x, to where they end with, or begin with, 16 aligned ones: in words of 2, 4 and 8 bytes.
template <bool Ends> IMBREX_INLINE void put_edge(void *to, uint4 x, int32_t bytes) {
  uint8_t *at = static_cast<uint8_t *>(to);
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    const int size = Ends ? 2 << i : 8 >> i;
    if (!(bytes & size)) continue;
    if (size == 2)
      *reinterpret_cast<uint16_t *>(at) = uint16_t(x.x);
    else if (size == 4)
      *reinterpret_cast<uint32_t *>(at) = x.x;
    else
      *reinterpret_cast<uint2 *>(at) = uint2{x.x, x.y};
    at += size;
    x = size == 8   ? uint4{x.z, x.w, 0, 0}
        : size == 4 ? uint4{x.y, x.z, x.w, 0}
                    : uint4{__funnelshift_r(x.x, x.y, 16), __funnelshift_r(x.y, x.z, 16), __funnelshift_r(x.z, x.w, 16), 0};
  }
}

// A piece of such rows: all aligned 16 bytes of memory that are the row's, each by one lane, of two words of the row's
// in shared memory; then, by one lane each, what is before them and what is behind.
template <class Out, class P>
IMBREX_INLINE void copy_rows(const P &p, uint32_t from, const work &w, int32_t row_in_tile, int32_t first) {
  typedef typename P::c_type type;
  constexpr int size = sizeof(type), width = 16 / size, along = P::along_columns ? P::piece_columns : 64;
  constexpr int cells = along / width, rows = 64 * P::piece_columns / along;
  const auto row_at = [&](int32_t across) {
    const int32_t c_row = w.row_tile * P::rows + row_in_tile + (P::along_columns ? across : 0);
    const int32_t c_column = w.column_tile * P::columns + first + (P::along_columns ? 0 : across);
    type *to = Out::at(p, w.batch, c_row, c_column);
    const int32_t left = Out::left(p, w.batch, c_row, c_column);
    return row_of_piece<type>{to, int32_t(reinterpret_cast<uint64_t>(to) & 15) / size, left < along ? left : along};
  };
#pragma unroll 4
  for (int i = 0; i < rows * cells; i += warpgroup_lanes) {
    const int32_t at = i + warpgroup_lane(), across = at / cells;
    if (rows * cells % warpgroup_lanes && at >= rows * cells) break;
    const auto row = row_at(across);
    const int32_t begin = at % cells * width + (width - row.shift) % width;
    if (begin + width <= row.count) *reinterpret_cast<uint4 *>(row.to + begin) = taken<P>(from, across, begin);
  }
#pragma unroll 1
  for (int i = 0; i < 2 * rows; i += warpgroup_lanes) {
    const int32_t at = i + warpgroup_lane(), across = at / 2;
    if (2 * rows % warpgroup_lanes && at >= 2 * rows) break;
    const auto row = row_at(across);
    const int32_t before = (width - row.shift) % width, behind = (row.shift + row.count) % width;
    if (row.count <= 0) continue;
    if (row.shift + row.count < width) { // within 16 bytes
      const uint4 x = taken<P>(from, across, 0);
      const uint32_t words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
      for (int e = 0; e < width; ++e)
        if (at % 2 == 0 && e < row.count)
          *reinterpret_cast<word<size> *>(row.to + e) = word<size>(words[e * size / 4] >> e * size % 4 * 8);
    } else if (at % 2 == 0) {
      put_edge<true>(row.to, taken<P>(from, across, 0), before * size);
    } else {
      const int32_t begin = row.count - behind;
      put_edge<false>(row.to + begin, taken<P>(from, across, begin), behind * size);
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
