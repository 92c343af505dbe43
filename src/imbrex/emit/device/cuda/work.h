// What a workgroup does in one turn: steps of K of one tile.
#pragma once
#include "ptx/language.h"

namespace imbrex {

struct work {
  int32_t batch, row_tile, column_tile;
  int32_t first, end; // steps
  bool sends;         // somebody else stores the tile, and adds these sums to its own
  int32_t next, last; // whose sums this workgroup adds, before it stores the tile: none where next >= last; where all who
                      // share a tile meet, `next` is the first of them
};
} // namespace imbrex
