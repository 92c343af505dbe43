// The most multiply-adds that a core does: independent chains in registers, nothing else.
//
// One call does rounds * probe_chains * width<T> multiply-adds; divide by the time that it takes.  The chains hide the
// latency of the instruction on any core up to two a cycle.
#pragma once
#include "micro.h"

namespace imbrex {

#if defined(IMBREX_AVX512) || defined(__aarch64__)
constexpr int probe_chains = 24;
#else
constexpr int probe_chains = 12;
#endif

// x near 1 keeps the sums finite; the result only keeps the work alive.
template <class T> static __attribute__((noinline)) T multiply_add_probe(int64_t rounds, T x) {
  vec<T> sum[probe_chains];
  const vec<T> factor = splat(x);
#pragma GCC unroll 24
  for (int i = 0; i < probe_chains; ++i) sum[i] = splat(T(i));
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int i = 0; i < probe_chains; ++i) {
      sum[i] = sum[i] * factor + factor;
      IMBREX_PIN(sum[i]);
    }
  }
  T total{};
#pragma GCC unroll 24
  for (int i = 0; i < probe_chains; ++i) total += sum_of<T>(sum[i]);
  return total;
}
} // namespace imbrex
