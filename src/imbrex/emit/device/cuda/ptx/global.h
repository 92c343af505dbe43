// Global memory that others write while the kernel runs: flags, partial sums, and what the launch ahead has left.
#pragma once
#include "language.h"

namespace imbrex {

// A word that all workgroups of the GPU write and read.
IMBREX_INLINE uint32_t peek(uint32_t *word) {
  uint32_t seen;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(word) : "memory");
  return seen;
}
// Whoever sees what was released here sees, once it is acquired, all that this lane wrote and saw before.
IMBREX_INLINE void put_released(int32_t *word, int32_t x) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(word), "r"(x) : "memory");
}
IMBREX_INLINE void put_relaxed(int32_t *word, int32_t x) {
  asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(word), "r"(x) : "memory");
}
IMBREX_INLINE int32_t take_acquired(int32_t *word) {
  int32_t seen;
  asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(seen) : "l"(word) : "memory");
  return seen;
}

// Bits that are set, and counts, behind a fence: what this lane, and those whom it has met, wrote comes before.  A release
// would be a second fence, which waits as long.
IMBREX_INLINE void set_bits_released(int32_t *word, int32_t bits) {
  asm volatile("fence.acq_rel.gpu;\n"
               "red.relaxed.gpu.global.or.b32 [%0], %1;" ::"l"(word),
               "r"(bits)
               : "memory");
}
IMBREX_INLINE void add_released(int32_t *word, int32_t x) {
  asm volatile("fence.acq_rel.gpu;\n"
               "red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(word),
               "r"(x)
               : "memory");
}
IMBREX_INLINE void add_relaxed(int32_t *word, int32_t x) {
  asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(word), "r"(x) : "memory");
}
// Bits that are kept while the others are cleared, before a fence: what others wrote before the word was seen is seen by
// this lane, and by those whom it meets.
IMBREX_INLINE void keep_bits_acquired(int32_t *word, int32_t bits) {
  asm volatile("red.relaxed.gpu.global.and.b32 [%0], %1;\n"
               "fence.acq_rel.gpu;" ::"l"(word),
               "r"(bits)
               : "memory");
}
// What a count was.
IMBREX_INLINE int32_t take_and_add(int32_t *word, int32_t x) {
  int32_t seen;
  asm volatile("atom.relaxed.gpu.global.add.s32 %0, [%1], %2;" : "=r"(seen) : "l"(word), "r"(x) : "memory");
  return seen;
}

// Four words at 16 bytes, past the caches of one multiprocessor.
// S: the element of the array; of a plain pointer the compiler keeps each address in registers of its own.
template <class S> IMBREX_INLINE void put_global(S *to, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  asm volatile("st.global.cg.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
IMBREX_INLINE void take_global(uint32_t (&x)[4], const void *from) {
  asm volatile("ld.global.cg.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "l"(from)
               : "memory");
}

// Loads that stay where the text has them, and are coherent.
IMBREX_INLINE void read_in_order(uint32_t &x, uint32_t &y, const void *from) {
  asm volatile("ld.global.v2.b32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "l"(from));
}
IMBREX_INLINE void read_in_order(uint32_t &x, const void *from) {
  asm volatile("ld.global.b32 %0, [%1];" : "=r"(x) : "l"(from));
}
IMBREX_INLINE void read_in_order(uint16_t &x, const void *from) {
  asm volatile("ld.global.b16 %0, [%1];" : "=h"(x) : "l"(from));
}
IMBREX_INLINE void read_in_order(uint8_t &x, const void *from) {
  uint32_t wide;
  asm volatile("ld.global.u8 %0, [%1];" : "=r"(wide) : "l"(from));
  x = uint8_t(wide);
}
} // namespace imbrex
