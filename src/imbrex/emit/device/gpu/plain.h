// The types that every compiler for a GPU has: what memory instructions carry, and what is computed with as it is.
//
// A language's element.h adds what it says in its own way: vectors of 8 and 16 bytes, `word_in_memory`, narrow floats.
#pragma once

namespace imbrex {

// What one memory instruction of a lane carries.
template <int Bytes> struct carried;
template <> struct carried<1> {
  typedef uint8_t type;
};
template <> struct carried<2> {
  typedef uint16_t type;
};
template <> struct carried<4> {
  typedef uint32_t type;
};
template <int Bytes> using word = typename carried<Bytes>::type;

IMBREX_INLINE float widen(float x) { return x; }
IMBREX_INLINE double widen(double x) { return x; }
IMBREX_INLINE int32_t widen(int32_t x) { return x; }
IMBREX_INLINE int32_t widen(int8_t x) { return x; }

template <class S> struct narrow_to {
  template <class T> IMBREX_INLINE S from(T x) { return S(x); }
};
} // namespace imbrex
