// Warpgroups: four warps that multiply together, and how they order what they do.
#pragma once
#include "ptx/meet.h"
#include "ptx/registers.h"
#include "ptx/wgmma.h"

namespace imbrex {

constexpr int warpgroup_lanes = 128;

// The warpgroup's number in the workgroup, which the compiler then knows to be the same in a warp.
IMBREX_INLINE int32_t warpgroup() { return __shfl_sync(0xffffffffu, int32_t(threadIdx.x) / warpgroup_lanes, 0); }
IMBREX_INLINE int32_t warpgroup_lane() { return int32_t(threadIdx.x) % warpgroup_lanes; }

// What lanes of a kernel P have from here on: where several warpgroups consume, the producing one leaves them registers.
template <class P> IMBREX_INLINE void become_producer() {
  if constexpr (P::consumers > 1) give_registers<P::producer_registers>();
}
template <class P> IMBREX_INLINE void become_consumer() {
  if constexpr (P::consumers > 1) take_registers<P::consumer_registers>();
}

// A matrix descriptor's start, in sixteens of bytes.  An address in a cluster has the workgroup's rank in its upper bits.
IMBREX_INLINE uint64_t start_of(uint32_t address) { return (address & 0x3ffff) >> 4; }

// All of them: see `pin` of one.
template <class T, int M, int N> IMBREX_INLINE void pin(T (&x)[M][N]) {
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int j = 0; j < N; ++j) pin(x[i][j]);
}

// The lanes of one warpgroup meet.
IMBREX_INLINE void meet_warpgroup(int32_t number) { meet_lanes<warpgroup_lanes>(number + 1); }
} // namespace imbrex
