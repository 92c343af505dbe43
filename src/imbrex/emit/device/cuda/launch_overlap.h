// Kernels one after the other: one that its launch allows to may start before the one ahead of it has ended.
#pragma once
#include "ptx/launch.h"

namespace imbrex {

// When a kernel begins that waits by itself: after all that is ahead; so, but the next one is its sibling, which begins
// when it is known that all ahead of both has ended; as a sibling of the one ahead, with which it ends at the earliest.
enum class launch_order { after_all, eldest, sibling };

// All lanes, before anything is read or written that others know.
template <launch_order Order> IMBREX_INLINE void begin_in_order() {
  if constexpr (Order == launch_order::eldest) {
    wait_for_earlier();
    __syncthreads(); // so that the last lane that lets has waited behind all that wait
  }
  let_next_start();
  if constexpr (Order == launch_order::after_all) wait_for_earlier();
}

// All lanes, when nothing is left to do.
template <launch_order Order> IMBREX_INLINE void end_in_order() {
  if constexpr (Order == launch_order::sibling) wait_for_earlier();
}
} // namespace imbrex
