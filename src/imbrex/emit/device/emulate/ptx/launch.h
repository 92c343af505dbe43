// Launches one after the other, on the machine.
#pragma once
#include "language.h"

namespace imbrex {
IMBREX_INLINE void wait_for_earlier() { hopper::wait_for_earlier(); }
IMBREX_INLINE void let_next_start() { hopper::let_next_start(); }
} // namespace imbrex
