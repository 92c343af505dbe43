// Neighbours that memory holds as one element, the first in the lowest bits: those of fewer than 8 bits, and others
// that are multiplied by them, as many at once.
#pragma once

namespace imbrex {

template <class Single, int Bits, int Count> struct packed {
  uint8_t bytes[Bits * Count / 8];
};
using f4e2m1fn_x2 = packed<f4e2m1fn, 4, 2>;
using f6e2m3fn_x16 = packed<f6e2m3fn, 6, 16>;
using f6e3m2fn_x16 = packed<f6e3m2fn, 6, 16>;
using f4e2m1fn_x16 = packed<f4e2m1fn, 4, 16>;
using f8e4m3fn_x2 = packed<f8e4m3fn, 8, 2>;
using f8e4m3fn_x16 = packed<f8e4m3fn, 8, 16>;
using f8e5m2_x2 = packed<f8e5m2, 8, 2>;
using f8e5m2_x16 = packed<f8e5m2, 8, 16>;

// A pack of neighbours along m or n, a row of a block that lanes transpose.
template <class Pack> struct across {
  Pack pack;
};

// A pack of 12 bytes in LDS, 16 from one to the next.
template <class Pack> struct alignas(16) held {
  Pack pack;
};
} // namespace imbrex
