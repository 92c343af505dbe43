// Lanes of the machine that meet, and what its engines see of their memory.
#pragma once
#include "language.h"

namespace imbrex {
template <int Lanes> IMBREX_INLINE void meet_lanes(int32_t number) { hopper::meet_lanes(number, Lanes); }
IMBREX_INLINE void written_for_engines() { hopper::written_for_engines(); }
} // namespace imbrex
