// A power of two in a byte, the exponent of a float: what scales of microscaled operands are.  All ones are NaN.
#pragma once

namespace imbrex {

struct e8m0 {
  uint8_t bits;
};
IMBREX_INLINE float widen(e8m0 x) {
  const uint32_t power = x.bits ? uint32_t(x.bits) << 23 : 0x00400000;
  return bit_cast<float>(x.bits == 0xff ? 0x7fc00000 : power);
}
} // namespace imbrex
