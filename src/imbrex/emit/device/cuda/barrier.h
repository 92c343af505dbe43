// Barriers in shared memory (mbarrier): counters of arrivals and of bytes that a copy still has to bring.
//
// A barrier is in phase 0, 1, 0, ..  It moves on when as many have arrived as it was made for and all bytes that
// were announced are there.  `wait(b, p)` returns once the phase of parity p is over; on a new barrier the phase
// before the first, parity 1, is.
//
// All orders here are those of one workgroup.  An order of the cluster's scope would make every arrival a fence of
// the whole GPU, and what workgroups of a cluster tell each other here is only that a place in memory is free again:
// those who wrote and read it are the copy engine and the matrix unit.
#pragma once
#include "language.h"

namespace imbrex {

IMBREX_INLINE uint32_t shared_address(const void *p) { return uint32_t(__cvta_generic_to_shared(p)); }

IMBREX_INLINE void make_barrier(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Every barrier made so far can be seen by the copy engine and, after a barrier of the cluster, by its workgroups.
IMBREX_INLINE void barriers_made() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

IMBREX_INLINE void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// All warps of a warpgroup arrive, one lane of each.  A turn has to be passed on by all of them: where one warp did it
// for the others, the next turn could come and be over before a warp that lags has looked for its own, which then waits
// for ever.
constexpr uint32_t warps_of_group = 4;
IMBREX_INLINE void arrive_as_warp(uint32_t barrier) {
  if (threadIdx.x % 32 == 0) arrive(barrier);
}

// Arrives, and announces bytes.
IMBREX_INLINE void arrive_expecting(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Arrives at the barrier that another workgroup of the cluster has at the same place.
IMBREX_INLINE void arrive_at(uint32_t barrier, uint32_t rank) {
  asm volatile("{\n"
               ".reg .b32 there;\n"
               "mapa.shared::cluster.u32 there, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
               "}" ::"r"(barrier),
               "r"(rank)
               : "memory");
}

IMBREX_INLINE bool is_over(uint32_t barrier, uint32_t parity) {
  uint32_t over;
  asm volatile("{\n"
               ".reg .pred p;\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
               "selp.b32 %0, 1, 0, p;\n"
               "}"
               : "=r"(over)
               : "r"(barrier), "r"(parity)
               : "memory");
  return over;
}

// The same, and what workgroups of the cluster stored with the barrier can be seen.
IMBREX_INLINE bool is_over_in_cluster(uint32_t barrier, uint32_t parity) {
  uint32_t over;
  asm volatile("{\n"
               ".reg .pred p;\n"
               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
               "selp.b32 %0, 1, 0, p;\n"
               "}"
               : "=r"(over)
               : "r"(barrier), "r"(parity)
               : "memory");
  return over;
}

IMBREX_INLINE void wait(uint32_t barrier, uint32_t parity) {
  while (!is_over(barrier, parity)) {
  }
}
IMBREX_INLINE void wait_in_cluster(uint32_t barrier, uint32_t parity) {
  while (!is_over_in_cluster(barrier, parity)) {
  }
}
} // namespace imbrex
