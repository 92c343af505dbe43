// Shared memory of the workgroup whose lane runs.
#pragma once
#include "language.h"

namespace imbrex {

IMBREX_INLINE uint32_t shared_address(const void *p) { return hopper::shared_address(p); }

template <class Word> IMBREX_INLINE Word word_of_shared(const void *from) {
  Word x;
  hopper::read_shared(&x, shared_address(from), sizeof x);
  return x;
}
template <class Word> IMBREX_INLINE void put_word_of_shared(void *to, Word x) {
  hopper::write_shared(shared_address(to), &x, sizeof x);
}

template <class Word> IMBREX_INLINE void put_shared(uint32_t to, Word x) { hopper::write_shared(to, &x, sizeof x); }
IMBREX_INLINE void put_shared(uint32_t to, uint32_t x, uint32_t y) { put_shared(to, uint2{x, y}); }

template <class Word> IMBREX_INLINE void take_shared(Word &x, uint32_t from) { hopper::read_shared(&x, from, sizeof x); }
IMBREX_INLINE void take_shared(uint32_t &x, uint32_t &y, uint32_t from) {
  uint2 two;
  take_shared(two, from);
  x = two.x, y = two.y;
}
IMBREX_INLINE void take_shared(uint32_t &x, uint32_t &y, uint32_t &z, uint32_t &w, uint32_t from) {
  uint4 four;
  take_shared(four, from);
  x = four.x, y = four.y, z = four.z, w = four.w;
}
} // namespace imbrex
