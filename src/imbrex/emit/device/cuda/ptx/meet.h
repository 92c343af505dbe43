// Lanes that meet, and what their engines see of their memory.
#pragma once
#include "language.h"

namespace imbrex {

// So many lanes of a workgroup, whole warps, meet at the barrier of that number.  Number 0 is __syncthreads.
template <int Lanes> IMBREX_INLINE void meet_lanes(int32_t number) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(Lanes) : "memory");
}

// What this lane wrote to shared memory can be seen by the copy engine and by the matrix unit.
IMBREX_INLINE void written_for_engines() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
} // namespace imbrex
