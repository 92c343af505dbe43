// Clusters: workgroups that run at the same time on neighbouring multiprocessors and reach each other's shared memory.
#pragma once
#include "language.h"

namespace imbrex {

// The workgroup's number in its cluster.
IMBREX_INLINE uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// The same address in the shared memory of the workgroup of that number.
IMBREX_INLINE uint32_t in_cluster(uint32_t address, uint32_t rank) {
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

// Four numbers on their way to a workgroup of the cluster, whose barrier is told their bytes.
IMBREX_INLINE void store_in_cluster(uint32_t to, uint32_t barrier, const uint32_t (&x)[4]) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
               "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(barrier)
               : "memory");
}

// Workgroups of the cluster meet.  It orders no memory: see `barriers_made`.
IMBREX_INLINE void meet_cluster() {
  asm volatile("barrier.cluster.arrive.relaxed;\n"
               "barrier.cluster.wait;" ::
                   : "memory");
}
} // namespace imbrex
