// Barriers in shared memory, as the machine counts them.  Who asks whether a phase is over waits until it is.
#pragma once
#include "language.h"

namespace imbrex {
IMBREX_INLINE void make_barrier(uint32_t barrier, uint32_t arrivals) { hopper::make_barrier(barrier, arrivals); }
IMBREX_INLINE void barriers_made() { hopper::barriers_made(); }
IMBREX_INLINE void arrive(uint32_t barrier) { hopper::arrive(barrier, 0); }
IMBREX_INLINE void arrive_expecting(uint32_t barrier, uint32_t bytes) { hopper::arrive(barrier, bytes); }
IMBREX_INLINE void arrive_at(uint32_t barrier, uint32_t rank) { hopper::arrive_at(barrier, rank); }
IMBREX_INLINE bool is_over(uint32_t barrier, uint32_t parity) {
  hopper::wait(barrier, parity);
  return true;
}
IMBREX_INLINE bool is_over_in_cluster(uint32_t barrier, uint32_t parity) { return is_over(barrier, parity); }
} // namespace imbrex
