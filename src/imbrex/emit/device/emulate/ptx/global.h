// Global memory that others write while the kernel runs.  What a workgroup puts there for others is late: they see it
// when one of its lanes releases.  Who looks for what has not come sleeps until somebody has written.
#pragma once
#include "language.h"

namespace imbrex {

IMBREX_INLINE uint32_t peek(uint32_t *word) { return *word; }
IMBREX_INLINE void put_relaxed(int32_t *word, int32_t x) {
  *word = x;
  hopper::other_workgroups_may_look();
}
IMBREX_INLINE void put_released(int32_t *word, int32_t x) {
  hopper::show_others();
  put_relaxed(word, x);
}
IMBREX_INLINE int32_t take_acquired(int32_t *word) {
  hopper::look_again(word);
  return *word;
}
IMBREX_INLINE void set_bits_released(int32_t *word, int32_t bits) { put_released(word, *word | bits); }
IMBREX_INLINE void keep_bits_acquired(int32_t *word, int32_t bits) { put_relaxed(word, *word & bits); }
IMBREX_INLINE void add_relaxed(int32_t *word, int32_t x) { put_relaxed(word, *word + x); }
IMBREX_INLINE void add_released(int32_t *word, int32_t x) { put_released(word, *word + x); }
IMBREX_INLINE int32_t take_and_add(int32_t *word, int32_t x) {
  const int32_t before = *word;
  put_relaxed(word, before + x);
  return before;
}

template <class S> IMBREX_INLINE void put_global(S *to, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  const uint32_t four[4] = {x, y, z, w};
  hopper::put_global(to, four);
}
IMBREX_INLINE void take_global(uint32_t (&x)[4], const void *from) { memcpy(x, from, 16); }

IMBREX_INLINE void read_in_order(uint32_t &x, uint32_t &y, const void *from) {
  memcpy(&x, from, 4);
  memcpy(&y, static_cast<const char *>(from) + 4, 4);
}
template <class Word> IMBREX_INLINE void read_in_order(Word &x, const void *from) { memcpy(&x, from, sizeof x); }
} // namespace imbrex
