// What a factor does, as BLAS has it: one of 0 does not read what it multiplies, so a NaN there does not count.
#pragma once

namespace imbrex {

// factor * x, of a number or of a vector.
template <class T, class X> IMBREX_INLINE X times(T factor, X x) {
  if (factor == T(0)) return X{};
  return X(factor * x);
}
} // namespace imbrex
