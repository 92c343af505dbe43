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

// Workgroups of the cluster meet.  It orders no memory: see `barriers_made`.
IMBREX_INLINE void meet_cluster() {
  asm volatile("barrier.cluster.arrive.relaxed;\n"
               "barrier.cluster.wait;" ::
                   : "memory");
}
} // namespace imbrex
