// A tile that stays in shared memory for as long as the tiles of a workgroup, one after another, want the same one.
#pragma once
#include "work.h"

namespace imbrex {

// Whose tile of B is there, and the parity of the round in which it came.  Producer and consumers walk the same list of
// work, so that each knows by itself when another one is wanted.
struct stay {
  int32_t batch = -1, column_tile = -1;
  uint32_t round = 1;

  // Does this work want another tile than the one before it?
  IMBREX_MEMBER bool moves(const work &w) {
    if (w.batch == batch && w.column_tile == column_tile) return false;
    batch = w.batch, column_tile = w.column_tile;
    round ^= 1;
    return true;
  }
};
} // namespace imbrex
