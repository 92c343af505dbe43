// Tiles of AMX in software: what cpu/amx/tile.h has, checked as the instructions check it, with their numbers.
//
// What an instruction would fault on is told in words, and the call says that it went wrong; the first fault stands.
// Numbers are those of the pages in Intel's SDM: TDPBF16PS sums even and odd elements apart, rounded to nearest even one
// after another, adds these two, and that to C; subnormal operands and results are zeros, and no control word is read.
#pragma once
#include <stddef.h>
#include <stdint.h>

extern "C" int snprintf(char *to, size_t size, const char *format, ...) noexcept;

namespace imbrex::amx {

struct alignas(64) configuration {
  uint8_t palette, start_row, none[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};

constexpr int tiles = 8, most_rows = 16, most_bytes = 64, word = 4;

struct state {
  configuration by;
  alignas(64) unsigned char tile[tiles][most_rows][most_bytes];
};
inline thread_local state own __attribute__((visibility("hidden")));
inline int configured_threads __attribute__((visibility("hidden")));
inline int faults __attribute__((visibility("hidden")));
inline char told[256] __attribute__((visibility("hidden")));

template <class... Words> static inline void fault(const char *format, Words... words) {
  if (__atomic_fetch_add(&faults, 1, __ATOMIC_ACQ_REL) == 0) snprintf(told, sizeof told, format, words...);
}

static inline long refused() { return 0; }

static inline bool is_right(const configuration &by) {
  if (by.palette != 1) return fault("LDTILECFG: palette %d, there is 1", by.palette), false;
  if (by.start_row != 0) return fault("LDTILECFG: start_row %d, a new configuration has 0", by.start_row), false;
  for (unsigned char byte : by.none)
    if (byte) return fault("LDTILECFG: a reserved byte is %d", byte), false;
  for (int i = 0; i < 16; ++i) {
    const int rows = by.rows[i], bytes = by.row_bytes[i];
    if (i >= tiles && (rows || bytes)) return fault("LDTILECFG: tile %d, there are %d", i, tiles), false;
    if (rows > most_rows || bytes > most_bytes || (rows == 0) != (bytes == 0))
      return fault("LDTILECFG: tile %d has %d rows of %d bytes", i, rows, bytes), false;
  }
  return true;
}

static inline void configure(const configuration &by) {
  if (own.by.palette == 0) __atomic_fetch_add(&configured_threads, 1, __ATOMIC_RELAXED);
  __builtin_memset(&own, 0, sizeof own);
  if (is_right(by)) own.by = by;
  own.by.palette = 1; // a wrong one is told once, and released as a right one
}
static inline void release() {
  if (own.by.palette) __atomic_fetch_sub(&configured_threads, 1, __ATOMIC_RELAXED);
  __builtin_memset(&own, 0, sizeof own);
}
static inline int ended(int status) {
  constexpr int wrong = 2;
  const int left = __atomic_load_n(&configured_threads, __ATOMIC_ACQUIRE);
  if (left > 0) fault("TILERELEASE: %d threads end with tiles that are configured", left);
  return __atomic_load_n(&faults, __ATOMIC_ACQUIRE) ? wrong : status;
}

static inline bool is_there(const char *name, int tile) {
  if (own.by.palette == 1 && tile < tiles && own.by.rows[tile]) return true;
  fault("%s: tile %d is not configured", name, tile);
  return false;
}

template <int Tile> static inline void zero() {
  if (is_there("TILEZERO", Tile)) __builtin_memset(own.tile[Tile], 0, sizeof own.tile[Tile]);
}
template <int Tile> static inline void load(const void *p, int64_t row_bytes) {
  if (!is_there("TILELOADD", Tile)) return;
  const int rows = own.by.rows[Tile], bytes = own.by.row_bytes[Tile];
  __builtin_memset(own.tile[Tile], 0, sizeof own.tile[Tile]);
  for (int m = 0; m < rows; ++m)
    __builtin_memcpy(own.tile[Tile][m], (const unsigned char *)p + m * row_bytes, size_t(bytes));
}
template <int Tile> static inline void load_passing(const void *p, int64_t row_bytes) { load<Tile>(p, row_bytes); }
template <int Tile> static inline void store(void *p, int64_t row_bytes) {
  if (!is_there("TILESTORED", Tile)) return;
  const int rows = own.by.rows[Tile], bytes = own.by.row_bytes[Tile];
  for (int m = 0; m < rows; ++m)
    __builtin_memcpy((unsigned char *)p + m * row_bytes, own.tile[Tile][m], size_t(bytes));
}

// What every product asks of its tiles.
static inline bool fit(const char *name, int c, int a, int b) {
  if (!is_there(name, c) || !is_there(name, a) || !is_there(name, b)) return false;
  const configuration &by = own.by;
  if (c == a || c == b || a == b) return fault("%s: tiles %d, %d, %d are not three", name, c, a, b), false;
  if (by.row_bytes[a] % word || by.row_bytes[b] % word || by.row_bytes[c] % word)
    return fault("%s: rows of %d, %d, %d bytes are no words", name, by.row_bytes[c], by.row_bytes[a], by.row_bytes[b]),
           false;
  if (by.rows[a] == by.rows[c] && by.row_bytes[b] == by.row_bytes[c] && by.row_bytes[a] == word * by.rows[b]) return true;
  fault("%s: %d x %d bytes of A by %d x %d of B to %d x %d of C", name, by.rows[a], by.row_bytes[a], by.rows[b],
        by.row_bytes[b], by.rows[c], by.row_bytes[c]);
  return false;
}

static inline float flushed(float x) {
  constexpr float least = 0x1p-126f;
  return __builtin_fabsf(x) < least ? __builtin_copysignf(0.f, x) : x;
}
static inline float widened(uint16_t bits) {
  const uint32_t wide = uint32_t(bits) << 16;
  float x;
  __builtin_memcpy(&x, &wide, sizeof x);
  return flushed(x);
}

template <int C, int A, int B> static inline __attribute__((noinline)) void multiply_bf16() {
  if (!fit("TDPBF16PS", C, A, B)) return;
  const int columns = own.by.row_bytes[C] / word, words = own.by.row_bytes[A] / word;
  for (int m = 0; m < own.by.rows[C]; ++m) {
    float even[most_rows] = {}, odd[most_rows] = {}, sum[most_rows];
    uint16_t a[2 * most_rows], b[2 * most_rows];
    __builtin_memcpy(a, own.tile[A][m], sizeof a);
    for (int k = 0; k < words; ++k) {
      __builtin_memcpy(b, own.tile[B][k], sizeof b);
      for (int n = 0; n < columns; ++n) {
        even[n] = flushed(__builtin_fmaf(widened(a[2 * k]), widened(b[2 * n]), even[n]));
        odd[n] = flushed(__builtin_fmaf(widened(a[2 * k + 1]), widened(b[2 * n + 1]), odd[n]));
      }
    }
    __builtin_memcpy(sum, own.tile[C][m], sizeof sum);
    for (int n = 0; n < columns; ++n) sum[n] = flushed(flushed(sum[n]) + flushed(even[n] + odd[n]));
    __builtin_memcpy(own.tile[C][m], sum, sizeof sum);
  }
}

template <int C, int A, int B> static inline __attribute__((noinline)) void multiply_i8() {
  if (!fit("TDPBSSD", C, A, B)) return;
  const int columns = own.by.row_bytes[C] / word, words = own.by.row_bytes[A] / word;
  for (int m = 0; m < own.by.rows[C]; ++m) {
    uint32_t sum[most_rows]; // they wrap
    __builtin_memcpy(sum, own.tile[C][m], sizeof sum);
    const signed char *a = (const signed char *)own.tile[A][m];
    for (int k = 0; k < words; ++k) {
      const signed char *b = (const signed char *)own.tile[B][k];
      for (int n = 0; n < columns; ++n)
        for (int t = 0; t < word; ++t) sum[n] += uint32_t(int32_t(a[word * k + t]) * b[word * n + t]);
    }
    __builtin_memcpy(own.tile[C][m], sum, sizeof sum);
  }
}
} // namespace imbrex::amx
