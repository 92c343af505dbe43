// Matrices of 8 x 8 halves, by the machine's warps.
#pragma once
#include "language.h"

namespace imbrex {

template <bool Turned, int Count> IMBREX_INLINE void put_matrices(uint32_t to, const uint32_t (&x)[Count]) {
  hopper::put_matrices(to, x, Count, Turned);
}
IMBREX_INLINE void take_turned(uint32_t (&x)[4], uint32_t from) { hopper::take_turned(x, from); }

struct f16;
struct bf16;
template <class T> struct warp_product;
template <> struct warp_product<f16> {
  IMBREX_INLINE void add(float *d, const uint32_t (&a)[4], uint32_t first, uint32_t second) {
    hopper::warp_product(hopper::element::f16, d, a, first, second);
  }
};
template <> struct warp_product<bf16> {
  IMBREX_INLINE void add(float *d, const uint32_t (&a)[4], uint32_t first, uint32_t second) {
    hopper::warp_product(hopper::element::bf16, d, a, first, second);
  }
};
} // namespace imbrex
