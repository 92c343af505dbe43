// Copies of a lane from global to shared memory, past its registers.
#pragma once
#include "language.h"

namespace imbrex {

// It is there when the barrier that `arrive_after_copies` names knows, or when `wait_copies` returns; zeros where there
// is nothing.
template <int Bytes> IMBREX_INLINE void copy_in(uint32_t to, const void *from, bool exists) {
  const uint32_t bytes = exists ? Bytes : 0;
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(Bytes), "r"(bytes)
                 : "memory");
}

// Returns when all that this lane copies has come.
IMBREX_INLINE void wait_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// One of the barrier's arrivals, when all that this lane copies has come.
IMBREX_INLINE void arrive_after_copies(uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
} // namespace imbrex
