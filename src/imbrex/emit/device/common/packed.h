// Neighbours of fewer than 8 bits that memory holds as one element, the first in the lowest bits.
#pragma once

namespace imbrex {

template <class Single, int Bits, int Count> struct packed {
  uint8_t bytes[Bits * Count / 8];
};
using f4e2m1fn_x2 = packed<f4e2m1fn, 4, 2>;
using f6e2m3fn_x16 = packed<f6e2m3fn, 6, 16>;
using f6e3m2fn_x16 = packed<f6e3m2fn, 6, 16>;
} // namespace imbrex
