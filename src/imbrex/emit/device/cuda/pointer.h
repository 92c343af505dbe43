// Global arrays by 64-bit pointers, and atomic sums.
#pragma once
#include "element.h"
#include "ptx/global.h"

namespace imbrex {

template <class D> IMBREX_INLINE void sum_into(D *dst, D x) { atomicAdd(dst, x); }

// *word = want where it is still what was seen; else what it is now is seen.
IMBREX_INLINE bool exchanged(uint32_t *word, uint32_t &seen, uint32_t want) {
  const uint32_t before = seen;
  seen = atomicCAS(word, before, want);
  return seen == before;
}
} // namespace imbrex
#include "../gpu/pointer.h"
