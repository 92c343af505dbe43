"""Bytes that begin anywhere in two words: every beginning and number, in steps that are all defined."""

from __future__ import annotations

from imbrex.build.shared_library import build_shared
from imbrex.emit.bundle import device_headers

HEADER = "device/cuda/shift.h"
LANGUAGE = """#pragma once
#include <stdint.h>
#pragma clang diagnostic ignored "-Wunknown-pragmas"
#define IMBREX_INLINE constexpr inline
struct uint4 { uint32_t x, y, z, w; };
constexpr uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t by) {
  return uint32_t((uint64_t(high) << 32 | low) >> (by & 31));
}
"""
UNIT = """#include "device/cuda/shift.h"
constexpr uint32_t word(int i) { return uint32_t(0x04030201 + 0x04040404 * i); } // byte i of the two is i + 1
constexpr bool is_right(uint32_t shift, int bytes) {
  const uint4 low = {word(0), word(1), word(2), word(3)}, high = {word(4), word(5), word(6), word(7)};
  const uint4 got = imbrex::shifted(low, high, shift, bytes);
  const uint32_t words[4] = {got.x, got.y, got.z, got.w};
  for (int i = 0; i < 16; ++i)
    if ((words[i / 4] >> i % 4 * 8 & 255) != (i < bytes ? shift + i + 1 : 0)) return false;
  return true;
}
constexpr bool all_are_right() {
  for (uint32_t shift = 0; shift < 16; ++shift)
    for (int bytes = 0; bytes <= 16; ++bytes)
      if (!is_right(shift, bytes)) return false;
  return true;
}
static_assert(all_are_right());
"""


def test_every_beginning_and_number_of_bytes() -> None:
    """A constant has no undefined steps: an element behind an array's last one is an error."""
    sources = {HEADER: device_headers("sm_90a")[HEADER], "device/cuda/ptx/language.h": LANGUAGE}
    build_shared(sources | {"unit.cpp": UNIT}, flags=("-std=c++20",))
