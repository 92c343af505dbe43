// Global arrays by 64-bit pointers: those of which the lanes of one wave need parts 2 GiB apart, and atomic sums.
#pragma once
#include "element.h"

namespace imbrex {

constexpr int agent = 4; // the memory scope of one GPU, as __hip_atomic_* counts them

// *dst += x.  The sums lie in memory of this GPU, so that the instruction for it may be used where the chip has one.
template <class D> IMBREX_INLINE void sum_into(D *dst, D x) {
#if __has_cpp_attribute(clang::atomic)
  [[clang::atomic(no_remote_memory, no_fine_grained_memory, ignore_denormal_mode)]] {
    __hip_atomic_fetch_add(dst, x, __ATOMIC_RELAXED, agent);
  }
#else
  __hip_atomic_fetch_add(dst, x, __ATOMIC_RELAXED, agent);
#endif
}

IMBREX_INLINE uint32_t peek(uint32_t *word) { return __hip_atomic_load(word, __ATOMIC_RELAXED, agent); }

// *word = want where it is still what was seen; else what it is now is seen.
IMBREX_INLINE bool exchanged(uint32_t *word, uint32_t &seen, uint32_t want) {
  return __hip_atomic_compare_exchange_strong(word, &seen, want, __ATOMIC_RELAXED, __ATOMIC_RELAXED, agent);
}
} // namespace imbrex
#include "../gpu/pointer.h"
