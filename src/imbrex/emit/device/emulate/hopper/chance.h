// Chance, the same for the same seed.
#pragma once
#include "machine.h"

namespace imbrex::hopper {

// Numbers that look like chance, and are the same for the same seed (xorshift64*).
struct chance {
  uint64_t state;

  explicit chance(uint32_t seed) : state(0x9e3779b97f4a7c15ull * (seed + 1ull)) {}
  uint32_t below(uint32_t end) {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return uint32_t((state * 0x2545f4914f6cdd1dull >> 32) * end >> 32);
  }
};
} // namespace imbrex::hopper
