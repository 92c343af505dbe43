// Where the compiler's scheduler may not move instructions.
#pragma once
#include "language.h"

namespace imbrex {

#define IMBREX_LAMBDA __attribute__((always_inline))

// Nothing passes: without it, loads of global memory sink to where their values are needed, and wait there.
IMBREX_INLINE void keep_order() { __builtin_amdgcn_sched_barrier(0); }

// A number that a function is told as a type, so that the registers it names are known without unrolling.
template <int N> struct place_of {
  static constexpr int value = N;
};

// f of each place from First to End - 1.
template <int First, int End, class F> IMBREX_INLINE void at_each(F f) {
  if constexpr (First < End) {
    f(place_of<First>{});
    at_each<First + 1, End>(f);
  }
}

// Loads, reads of LDS and products that do not need each other, by their places, in the order in which a wave begins
// them: an access before each product, or several where there are more accesses, loads evenly among the reads.
template <int Loads, int Reads, int Products, int I = 0, class Load, class Read, class Multiply>
IMBREX_INLINE void weave(Load load, Read read, Multiply multiply) {
  constexpr int accesses = Loads + Reads, covered = Products < accesses ? Products : accesses;
  if constexpr (I == 0) keep_order();
  if constexpr (I < accesses) {
    constexpr int loads = Loads * I / accesses;
    if constexpr (Loads * (I + 1) / accesses > loads)
      load(place_of<loads>{});
    else
      read(place_of<I - loads>{});
    at_each<covered * I / accesses, covered * (I + 1) / accesses>(multiply);
    keep_order();
    weave<Loads, Reads, Products, I + 1>(load, read, multiply);
  } else {
    at_each<covered, Products>(multiply);
    keep_order();
  }
}

// f of each place from First to End - 1, so many products of those from Begun to Ended evenly behind them.
template <int First, int End, int Begun, int Ended, int I = First, class F, class Multiply>
IMBREX_INLINE void spread(F f, Multiply multiply) {
  if constexpr (I < End) {
    constexpr int done = I - First, count = End - First, products = Ended - Begun;
    f(place_of<I>{});
    at_each<Begun + products * done / count, Begun + products * (done + 1) / count>(multiply);
    keep_order();
    spread<First, End, Begun, Ended, I + 1>(f, multiply);
  }
}

// The same with writes to LDS, and loads over what they wrote, which stay in order: behind the reads, which are begun
// in the first half of the products, and before the last tenth, so that a barrier does not wait for them.
template <int Loads, int Reads, int Writes, int Products, class Load, class Read, class Write, class Multiply>
IMBREX_INLINE void weave([[maybe_unused]] Load load, Read read, Write write, Multiply multiply) {
  static_assert(Loads == 0, "loads stand among the writes");
  constexpr int half = Products * 5 / 10, end = Products * 9 / 10;
  keep_order();
  spread<0, Reads, 0, half>(read, multiply);
  spread<0, Writes, half, end>(write, multiply);
  at_each<end, Products>(multiply);
  keep_order();
}
} // namespace imbrex
