// Copies of a lane to shared memory, which the machine brings as late as it may.
#pragma once
#include "language.h"

namespace imbrex {
template <int Bytes> IMBREX_INLINE void copy_in(uint32_t to, const void *from, bool exists) {
  hopper::copy_in(to, from, Bytes, exists);
}
IMBREX_INLINE void wait_copies() { hopper::wait_copies(); }
IMBREX_INLINE void arrive_after_copies(uint32_t barrier) { hopper::arrive_after_copies(barrier); }
} // namespace imbrex
