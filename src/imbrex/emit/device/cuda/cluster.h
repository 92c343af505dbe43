// Who is who in a cluster, and with whom a workgroup shares what it copies.
#pragma once
#include "ptx/cluster.h"

namespace imbrex {

// What the copy engine brings of A goes to all workgroups of a row, of B to all of a column; what lanes load is their
// workgroup's own.
template <class P> constexpr bool shares_a = P::copied_bytes > (P::b_stays ? 0 : P::b_copied_bytes);
template <class P> constexpr bool shares_b = P::b_copied_bytes > 0;

// Workgroups of a cluster are numbered along its columns first; where it has several parts of K, part after part.
template <class P> struct cluster_of {
  static constexpr int rows = P::cluster_rows, columns = P::cluster_columns, size = rows * columns;
  static constexpr int workgroups = P::parts * size;
  IMBREX_INLINE int32_t first(int32_t rank) { return P::parts == 1 ? 0 : rank / size * size; } // of the same part
  IMBREX_INLINE int32_t row(int32_t rank) { return (rank - first(rank)) / columns; }
  IMBREX_INLINE int32_t column(int32_t rank) { return (rank - first(rank)) % columns; }
  // Workgroups that get something of what one brings for a stage, itself among them.  All of them tell it that they are
  // done, and nobody else does: who waits for nothing from it could be a round ahead, and be counted for one that lags.
  static constexpr int readers = 1 + (shares_a<P> ? columns - 1 : 0) + (shares_b<P> ? rows - 1 : 0);
  // Those that have the same rows of A, and the same columns of B.
  IMBREX_INLINE uint16_t same_row(int32_t rank) {
    return uint16_t(((1 << columns) - 1) << (row(rank) * columns + first(rank)));
  }
  IMBREX_INLINE uint16_t same_column(int32_t rank) {
    uint32_t mask = 0;
#pragma unroll
    for (int i = 0; i < rows; ++i) mask |= 1u << i * columns;
    return uint16_t(mask << (column(rank) + first(rank)));
  }
};
} // namespace imbrex
