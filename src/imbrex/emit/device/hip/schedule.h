// Where the compiler's scheduler may not move instructions.
#pragma once
#include "language.h"

namespace imbrex {

// Nothing passes: without it, loads of global memory sink to where their values are needed, and wait there.
IMBREX_INLINE void keep_order() { __builtin_amdgcn_sched_barrier(0); }
} // namespace imbrex
