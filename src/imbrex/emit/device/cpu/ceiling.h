// The most multiply-adds that a core does by a unit: independent chains in registers, nothing else.
//
// A round of probe<U> does probe<U>::multiply_adds; divide by the time that it takes.  The chains hide the latency of
// an instruction on any core up to two a cycle.  The operands are numbers whose sums stay finite over a million rounds.
#pragma once
#include "micro.h"
#if defined(__AMX_BF16__) && defined(__AMX_INT8__)
#include "tile.h"
#endif

namespace imbrex {

#if defined(IMBREX_AVX512) || defined(__aarch64__)
constexpr int probe_chains = 24;
#else
constexpr int probe_chains = 12;
#endif

// Vectors: U is what the kernels' loops multiply by.
template <class U, bool IsOfTiles = has_tiles<U>> struct probe {
  typedef sum_of_unit<U> T;
  static constexpr int64_t multiply_adds = int64_t(probe_chains) * width<T> * unit<U>::together;
  static bool is_refused() { return false; }

  static __attribute__((noinline)) T run(int64_t rounds) {
    alignas(64) unsigned char bytes[64];
    __builtin_memset(bytes, 0x3c, sizeof(bytes));
    element_of_unit<U> element[64 / sizeof(element_of_unit<U>)];
    __builtin_memcpy(element, bytes, sizeof(bytes));
    typename unit<U>::words a = unit<U>::everywhere(element), b = a;
    IMBREX_PIN(a);
    IMBREX_PIN(b);
    vec<T> sum[probe_chains];
#pragma GCC unroll 24
    for (int i = 0; i < probe_chains; ++i) sum[i] = splat(T(i));
    for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
      for (int i = 0; i < probe_chains; ++i) {
        if constexpr (unit<U>::rows == 1)
          sum[i] = unit<U>::multiply_add(sum[i], a, b);
        else
          sum[i] = unit<U>::multiply(sum[i], a, b);
        IMBREX_PIN(sum[i]);
        IMBREX_PIN(a); // or products that are added by an instruction of their own would be one, for all sums
      }
    }
    T total{};
#pragma GCC unroll 24
    for (int i = 0; i < probe_chains; ++i) total += sum_of<T>(sum[i]);
    return total; // keeps the work alive
  }
};

#if defined(__AMX_BF16__) && defined(__AMX_INT8__)
// Tiles: four sums of two by two operands, which are zeros.
template <class U> struct probe<U, true> {
  typedef sum_of_unit<U> T;
  static constexpr int64_t multiply_adds = 4 * tile_rows * tile_words * tile_words * unit<U>::together;
  static bool is_refused() { return amx::refused() != 0; }

  static T run(int64_t rounds) {
    const configured_tiles tiles;
    each_number<8>([](auto i) { amx::zero<decltype(i)::value>(); });
    for (int64_t round = 0; round < rounds; ++round)
      each_number<4>([](auto i) IMBREX_INLINED {
        constexpr int I = decltype(i)::value;
        unit<U>::template multiply<I, 4 + I / 2, 6 + I % 2>();
      });
    return T{};
  }
};
#endif
} // namespace imbrex
