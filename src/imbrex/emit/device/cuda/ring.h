// A stage of a ring of stages, and the parity of the round in which it is used.
#pragma once
#include "ptx/language.h"

namespace imbrex {

template <int Stages> struct ring {
  int32_t stage = 0;
  uint32_t round = 0;

  IMBREX_MEMBER void next() {
    if (++stage == Stages) {
      stage = 0;
      round ^= 1;
    }
  }
  IMBREX_MEMBER void skip(int32_t count) {
    const int32_t at = stage + count;
    stage = at % Stages;
    round ^= uint32_t(at / Stages) & 1;
  }
};
} // namespace imbrex
