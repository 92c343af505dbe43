// Registers of a lane: here the compiler's own, with nobody behind its back.
#pragma once
#include "language.h"

namespace imbrex {

template <int Count> constexpr bool are_whole_registers = Count % 8 == 0 && 24 <= Count && Count <= 256;
template <int Count> IMBREX_INLINE void take_registers() {
  static_assert(are_whole_registers<Count>, "registers are dealt in eights, from 24 to 256");
}
template <int Count> IMBREX_INLINE void give_registers() {
  static_assert(are_whole_registers<Count>, "registers are dealt in eights, from 24 to 256");
}

template <class T> IMBREX_INLINE void arrived(T &) {}
IMBREX_INLINE void next_block() {}
IMBREX_INLINE void keep_block() {}
IMBREX_INLINE void pin(float &) {}
IMBREX_INLINE void pin(int32_t &) {}
IMBREX_INLINE void pin(uint32_t &) {}
} // namespace imbrex
