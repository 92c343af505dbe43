// Barriers in shared memory (mbarrier): counters of arrivals and of bytes that a copy still has to bring.
//
// A barrier is in phase 0, 1, 0, ..  It moves on when as many have arrived as it was made for and all bytes that
// were announced are there.
//
// All orders here are those of one workgroup.  An order of the cluster's scope would make every arrival a fence of
// the whole GPU, and what workgroups of a cluster tell each other here is only that memory is free again:
// those who wrote and read it are the copy engine and the matrix unit.
#pragma once
#include "language.h"

namespace imbrex {

IMBREX_INLINE void make_barrier(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Every barrier made so far can be seen by the copy engine and, after a barrier of the cluster, by its workgroups.
IMBREX_INLINE void barriers_made() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

IMBREX_INLINE void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and announces bytes.
IMBREX_INLINE void arrive_expecting(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Arrives at the barrier that another workgroup of the cluster has at the same address.
IMBREX_INLINE void arrive_at(uint32_t barrier, uint32_t rank) {
  asm volatile("{\n"
               ".reg .b32 there;\n"
               "mapa.shared::cluster.u32 there, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
               "}" ::"r"(barrier),
               "r"(rank)
               : "memory");
}

// Is the phase of that parity over?  On a new barrier the phase before the first, parity 1, is.
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
} // namespace imbrex
