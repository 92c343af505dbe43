// How workgroups that share an output tile hand each other partial sums: registers to memory, then a flag.
//
// One work item speaks for all: the barrier orders what the others wrote before its release, and what they read after
// its acquire (PTX ISA, memory consistency model: causality order holds through barriers).
//
// Workgroups wait only for ones that hardware started before them, so that any number of resident ones gets on.
#pragma once
#include "shared.h"

namespace imbrex {

// Raises the flag when all that the workgroup wrote before can be seen.
IMBREX_INLINE void signal(int32_t *flag) {
  __syncthreads();
  if (threadIdx.x == 0) put_released(flag, 1);
}

// Returns when the flag is up, and lowers it.
IMBREX_INLINE void await(int32_t *flag) {
  if (threadIdx.x == 0) {
    while (!take_acquired(flag)) {
    }
    put_relaxed(flag, 0);
  }
  __syncthreads();
}

// The same of so many neighbouring flags, or of none: each is looked at by a work item of its own.
IMBREX_INLINE void await_all(int32_t *flags, int32_t count) {
  for (int32_t i = threadIdx.x; i < count; i += blockDim.x) {
    while (!take_acquired(flags + i)) {
    }
    put_relaxed(flags + i, 0);
  }
  __syncthreads();
}
} // namespace imbrex
