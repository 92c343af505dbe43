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
  if (threadIdx.x == 0) asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
}

// Returns when the flag is up, and lowers it.
IMBREX_INLINE void await(int32_t *flag) {
  if (threadIdx.x == 0) {
    int32_t up;
    do {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(up) : "l"(flag) : "memory");
    } while (!up);
    asm volatile("st.relaxed.gpu.global.s32 [%0], 0;" ::"l"(flag) : "memory");
  }
  __syncthreads();
}
} // namespace imbrex
