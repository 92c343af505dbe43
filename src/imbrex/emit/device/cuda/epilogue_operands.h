// What an epilogue reads beside the sums: the elements of its arrays that belong to the sums of a lane.
//
// The launch ahead may have written them, and this one may have begun before that has ended.  So these loads stay behind
// the wait, where the text has them, and go the way that is coherent: a plain load of what the kernel only reads does
// neither.
//
// A lane's sums come in fours: two neighbouring columns of a row, and the same columns of a row further on.  What is the
// same in all rows or in all columns is loaded once, before the product has begun, and waits in registers.
#pragma once
#include "element.h"
#include "ptx/global.h"
#include "warpgroup.h"

namespace imbrex {

// Bytes of global memory, aligned to their number.
template <int Bytes> IMBREX_INLINE word<Bytes> read_behind(const void *from) {
  word<Bytes> x;
  if constexpr (Bytes == 8)
    read_in_order(x.x, x.y, from);
  else
    read_in_order(x, from);
  return x;
}
template <class T> IMBREX_INLINE T read_behind(const T *from) {
  return bit_cast<T>(read_behind<int(sizeof(T))>(static_cast<const void *>(from)));
}

// The element of an array that belongs to an element of C, 0 where there is none.
template <class A> IMBREX_INLINE float element_beside(const A &a, int32_t batch, int32_t row, int32_t column) {
  return a.exists(batch, row, column) ? float(widen(read_behind(a.at(batch, row, column)))) : 0.f;
}

// An array A's elements of a lane: of Blocks blocks of 64 rows, and of Count sums in each.
template <class A, int Blocks, int Count> struct beside {
  typedef typename A::type type;
  static constexpr int rows = A::along_rows ? 2 * Blocks : 1, vectors = A::along_columns ? (Count + 3) / 4 : 1;
  static constexpr int width = A::along_columns ? 2 : 1;

  word<width * int(sizeof(type))> x[rows][vectors];

  // row, column: of the first of the lane's sums that are meant, in all of C, but for where the lane's own begin.
  template <class P> IMBREX_MEMBER void load(const A &a, int32_t batch, int32_t row, int32_t column) {
    const int32_t lane = warpgroup_lane();
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int32_t at_row = row + i / 2 * 64 + P::sum_row(lane, i % 2 * 2);
      const type *first = a.at(batch, at_row, column + P::sum_column(lane, 0));
#pragma unroll
      for (int j = 0; j < vectors; ++j) {
        const int32_t at_column = column + P::sum_column(lane, j * 4);
        const type *from = A::is_affine ? first + A::step * P::sum_column(0, j * 4) : a.at(batch, at_row, at_column);
        x[i][j] = neighbours(a, from, batch, at_row, at_column);
      }
    }
  }

  // Of sum `number` of block m.
  IMBREX_MEMBER float value(int32_t m, int32_t number) const {
    type two[width];
    copy_bytes<sizeof two>(two, &x[A::along_rows ? 2 * m + number / 2 % 2 : 0][A::along_columns ? number / 4 : 0]);
    return float(widen(two[width == 2 ? number % 2 : 0]));
  }

private:
  typedef word<int(sizeof(type))> bits;

  IMBREX_MEMBER static bits one(const A &a, int32_t batch, int32_t row, int32_t column) {
    return a.exists(batch, row, column) ? read_behind<int(sizeof(type))>(a.at(batch, row, column)) : bits(0);
  }
  IMBREX_MEMBER static word<2 * int(sizeof(type))> joined(bits first, bits second) {
    if constexpr (sizeof(type) == 4)
      return word<8>{first, second};
    else
      return word<2 * int(sizeof(type))>(first | uint32_t(second) << 8 * sizeof(type));
  }
  IMBREX_MEMBER static word<width * int(sizeof(type))> neighbours(const A &a, const type *from, int32_t batch,
                                                                  int32_t row, int32_t column) {
    if constexpr (A::width >= width) {
      word<width * int(sizeof(type))> found = {};
      if (a.exists(batch, row, column)) found = read_behind<width * int(sizeof(type))>(from);
      return found;
    } else {
      return joined(one(a, batch, row, column), one(a, batch, row, column + 1));
    }
  }
};
} // namespace imbrex
