// Warpgroups: four warps that multiply together, and how they order what they do.
#pragma once
#include "language.h"

namespace imbrex {

constexpr int warpgroup_lanes = 128;

// The warpgroup's number in the workgroup, which the compiler then knows to be the same in a warp.
IMBREX_INLINE int32_t warpgroup() { return __shfl_sync(0xffffffffu, int32_t(threadIdx.x) / warpgroup_lanes, 0); }
IMBREX_INLINE int32_t warpgroup_lane() { return int32_t(threadIdx.x) % warpgroup_lanes; }

// Registers of each lane from here on, of those that the workgroup was launched with.
template <int Count> IMBREX_INLINE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count> IMBREX_INLINE void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}

// What lanes of a kernel P have from here on: where several warpgroups consume, the producing one leaves them registers.
template <class P> IMBREX_INLINE void become_producer() {
  if constexpr (P::consumers > 1) give_registers<P::producer_registers>();
}
template <class P> IMBREX_INLINE void become_consumer() {
  if constexpr (P::consumers > 1) take_registers<P::consumer_registers>();
}

// A matrix descriptor's start, in sixteens of bytes.  An address in a cluster has the workgroup's rank in its upper bits.
IMBREX_INLINE uint64_t start_of(uint32_t address) { return (address & 0x3ffff) >> 4; }

// Multiplications issued from here on see the registers as they are.
IMBREX_INLINE void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// Those issued since the last call are one group.
IMBREX_INLINE void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Returns when at most `Groups` groups are unfinished.
template <int Groups> IMBREX_INLINE void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
}

// The compiler may not move an access to a sum across this: the matrix unit writes sums behind its back.
IMBREX_INLINE void pin(float &x) { asm volatile("" : "+f"(x)::"memory"); }
IMBREX_INLINE void pin(int32_t &x) { asm volatile("" : "+r"(x)::"memory"); }
template <class T, int M, int N> IMBREX_INLINE void pin(T (&x)[M][N]) {
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int j = 0; j < N; ++j) pin(x[i][j]);
}

// The lanes of one warpgroup meet.  Number 0 is __syncthreads.
IMBREX_INLINE void meet_warpgroup(int32_t number) {
  asm volatile("bar.sync %0, %1;" ::"r"(number + 1), "n"(warpgroup_lanes) : "memory");
}

// What this lane wrote to shared memory can be seen by the copy engine and by the matrix unit.
IMBREX_INLINE void written_for_engines() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
} // namespace imbrex
