// Shared memory: an array of bytes as C++ knows it, and addresses of 32 bits as the engines do.
#pragma once
#include "language.h"

namespace imbrex {

// All that a workgroup has: as much as its launch asks for.
extern __shared__ __align__(1024) unsigned char shared_memory[];

IMBREX_INLINE uint32_t shared_address(const void *p) { return uint32_t(__cvta_generic_to_shared(p)); }

// A word at an address of C++, in one instruction.
template <class Word> IMBREX_INLINE Word word_of_shared(const void *from) { return *static_cast<const Word *>(from); }
template <class Word> IMBREX_INLINE void put_word_of_shared(void *to, Word x) { *static_cast<Word *>(to) = x; }

// Shared memory = x, in one instruction, at a multiple of its bytes.
IMBREX_INLINE void put_shared(uint32_t to, uint8_t x) {
  asm volatile("st.shared.b8 [%0], %1;" ::"r"(to), "r"(uint32_t(x)) : "memory");
}
IMBREX_INLINE void put_shared(uint32_t to, uint16_t x) {
  asm volatile("st.shared.b16 [%0], %1;" ::"r"(to), "h"(x) : "memory");
}
IMBREX_INLINE void put_shared(uint32_t to, uint32_t x) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(x) : "memory");
}
IMBREX_INLINE void put_shared(uint32_t to, uint32_t x, uint32_t y) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(x), "r"(y) : "memory");
}
IMBREX_INLINE void put_shared(uint32_t to, uint2 x) { put_shared(to, x.x, x.y); }
IMBREX_INLINE void put_shared(uint32_t to, uint4 x) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
}

// x = shared memory, in the same way.
IMBREX_INLINE void take_shared(uint16_t &x, uint32_t from) {
  asm volatile("ld.shared.b16 %0, [%1];" : "=h"(x) : "r"(from));
}
IMBREX_INLINE void take_shared(uint32_t &x, uint32_t from) {
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(from));
}
IMBREX_INLINE void take_shared(uint32_t &x, uint32_t &y, uint32_t from) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(from));
}
IMBREX_INLINE void take_shared(uint32_t &x, uint32_t &y, uint32_t &z, uint32_t &w, uint32_t from) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(from));
}
} // namespace imbrex
