// Barriers in shared memory as the kernels use them: whole warps that arrive, lanes that wait.
#pragma once
#include "ptx/barrier.h"

namespace imbrex {

// All warps of a warpgroup arrive, one lane of each.  A turn has to be passed on by all of them: where one warp did it
// for the others, the next turn could come and be over before a warp that lags has looked for its own, which then waits
// for ever.
constexpr uint32_t warps_of_group = 4;
IMBREX_INLINE void arrive_as_warp(uint32_t barrier) {
  if (threadIdx.x % 32 == 0) arrive(barrier);
}

// Returns once the phase of that parity is over.
IMBREX_INLINE void wait(uint32_t barrier, uint32_t parity) {
  while (!is_over(barrier, parity)) {
  }
}
IMBREX_INLINE void wait_in_cluster(uint32_t barrier, uint32_t parity) {
  while (!is_over_in_cluster(barrier, parity)) {
  }
}
} // namespace imbrex
