// What a consumer has of a tile.
#pragma once
#include "work.h"

namespace imbrex {

// A consumer's number among those that share rows, and among those that share columns.
template <class P> IMBREX_INLINE int32_t row_group(int32_t warpgroup) { return P::splits_rows ? warpgroup : 0; }
template <class P> IMBREX_INLINE int32_t column_group(int32_t warpgroup) { return P::splits_columns ? warpgroup : 0; }

// Sums of the warpgroup's rows: blocks of 64.
template <class P> struct sums_of {
  static constexpr int blocks = P::rows / 64 / (P::splits_rows ? P::consumers : 1), count = P::sums;
  typedef typename P::sum type[blocks][count];
};
} // namespace imbrex
