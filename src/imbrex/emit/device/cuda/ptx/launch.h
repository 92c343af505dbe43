// Launches one after the other: one that its launch allows to may start before the one ahead of it has ended.
#pragma once
#include "language.h"

namespace imbrex {

// Returns when the launches before this one have ended and what they wrote can be seen.
IMBREX_INLINE void wait_for_earlier() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// The next launch may start where there is room for it.
IMBREX_INLINE void let_next_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
} // namespace imbrex
