// The machine's matrix unit.
#pragma once
#include "language.h"

namespace imbrex {

IMBREX_INLINE void begin_products() { hopper::begin_products(); }
IMBREX_INLINE void end_products() { hopper::end_products(); }
template <int Groups> IMBREX_INLINE void wait_products() { hopper::wait_products(Groups); }

using factors = hopper::element;

template <factors Of, int N> struct any_matrix_unit {
  template <bool ATurned, bool BTurned, class Sum> IMBREX_INLINE void multiply(Sum *d, uint64_t a, uint64_t b, bool adds) {
    constexpr bool are_halves = Of == factors::f16 || Of == factors::bf16, are_integers = Of == factors::s8;
    static_assert(are_halves || !(ATurned || BTurned), "only halves are read along either dim");
    static_assert(N % 8 == 0 && 8 <= N && N <= 256 && (!are_integers || N <= 24 || N % 16 == 0), "columns that there are");
    hopper::multiply(Of, N, ATurned, BTurned, d, a, b, adds);
  }
  IMBREX_INLINE void multiply_held(float *d, const uint32_t (&a)[4], uint64_t b, bool adds) {
    static_assert(Of == factors::tf32 && N % 8 == 0 && 8 <= N && N <= 256, "elements that fill registers");
    hopper::multiply_held(Of, N, d, a, b, adds);
  }
};

// A unit exists where a kernel asks for it, as on a GPU.
template <factors Of, int N> struct matrix_unit;
} // namespace imbrex

#define IMBREX_MATRIX_UNIT(OF, N) \
  template <> struct imbrex::matrix_unit<imbrex::factors::OF, N> : any_matrix_unit<factors::OF, N> {}
