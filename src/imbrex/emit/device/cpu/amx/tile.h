// Tiles of AMX by number, 0 to 7: each up to 16 rows of 64 bytes, as the thread's configuration says.
//
// A tile dies where the configuration is loaded or released.  What is multiplied has words of 32 bits, two bf16 or four
// bytes: c[m][n] += sum over words k and elements t of a[m][k][t] * b[k][n][t].
#pragma once
#include <immintrin.h>
#include <stdint.h>

namespace imbrex::amx {

// Intel SDM, LDTILECFG: palette 1.
struct alignas(64) configuration {
  uint8_t palette, start_row, none[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};

// 0 where this process may use tiles, which it asks of Linux once (arch_prctl; Documentation/arch/x86/xstate.rst).
static inline long refused() {
  constexpr long ask_for_state = 0x1023, tiles = 18, never_asked = 1, arch_prctl = 158;
  static long answer = never_asked;
  long known = __atomic_load_n(&answer, __ATOMIC_RELAXED);
  if (known != never_asked) return known;
  asm volatile("syscall" : "=a"(known) : "a"(arch_prctl), "D"(ask_for_state), "S"(tiles) : "rcx", "r11", "memory");
  __atomic_store_n(&answer, known, __ATOMIC_RELAXED);
  return known;
}

static inline void configure(const configuration &by) {
  asm volatile("" ::"m"(by)); // of which GCC's intrinsic tells it that eight bytes are read
  _tile_loadconfig(&by);
}
static inline void release() { _tile_release(); }
// What a call returns that would return `status`.
static inline int ended(int status) { return status; }

// GCC's intrinsics take a tile as a word of the source, so each instruction is spelt here.
template <int Tile> static inline void zero() { asm volatile("tilezero %%tmm%c0" ::"i"(Tile)); }
template <int Tile> static inline void load(const void *p, int64_t row_bytes) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(row_bytes), "i"(Tile) : "memory");
}
// The same of what is not met again soon: it takes the place of nothing in the first cache.
template <int Tile> static inline void load_passing(const void *p, int64_t row_bytes) {
  asm volatile("tileloaddt1 (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(row_bytes), "i"(Tile) : "memory");
}
template <int Tile> static inline void store(void *p, int64_t row_bytes) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(row_bytes), "i"(Tile) : "memory");
}
template <int C, int A, int B> static inline void multiply_bf16() {
  asm volatile("tdpbf16ps %%tmm%c0, %%tmm%c1, %%tmm%c2" ::"i"(B), "i"(A), "i"(C));
}
template <int C, int A, int B> static inline void multiply_i8() {
  asm volatile("tdpbssd %%tmm%c0, %%tmm%c1, %%tmm%c2" ::"i"(B), "i"(A), "i"(C));
}
} // namespace imbrex::amx
