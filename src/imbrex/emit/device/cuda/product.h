// The product of a column and a row in registers.
#pragma once
#include "shared.h"

namespace imbrex {

// As one instruction that keeps its factors where they are.
template <class C> IMBREX_INLINE C fused(C a, C b, C c) { return c + a * b; }
IMBREX_INLINE float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
IMBREX_INLINE double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

// c, Rows x Columns in rows of Pitch, += a times b.
//
// Rows go in pairs, columns back and forth: a multiply-add has one factor of the one before, which the instruction
// keeps, so that registers are read twice for it and not three times.
template <int Rows, int Columns, int Pitch, class C, class T> IMBREX_INLINE void multiply(C *c, const T *a, const T *b) {
  constexpr int together = Rows % 2 ? 1 : 2, strip = together * Columns;
#pragma unroll
  for (int i = 0; i < Rows * Columns; ++i) {
    const int step = i % strip / together;
    const int row = i / strip * together + (i + step) % together;
    const int column = i / strip % 2 ? Columns - 1 - step : step;
    C &sum = c[row * Pitch + column];
    sum = fused(widen(a[row]), widen(b[column]), sum);
  }
}
} // namespace imbrex
