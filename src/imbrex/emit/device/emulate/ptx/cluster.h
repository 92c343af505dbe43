// Clusters of the machine's workgroups.
#pragma once
#include "language.h"

namespace imbrex {
IMBREX_INLINE uint32_t cluster_rank() { return hopper::cluster_rank(); }
IMBREX_INLINE uint32_t in_cluster(uint32_t place, uint32_t rank) { return hopper::in_cluster(place, rank); }
IMBREX_INLINE void store_in_cluster(uint32_t to, uint32_t barrier, const uint32_t (&x)[4]) {
  hopper::store_in_cluster(to, barrier, x);
}
IMBREX_INLINE void meet_cluster() { hopper::meet_cluster(); }
} // namespace imbrex
