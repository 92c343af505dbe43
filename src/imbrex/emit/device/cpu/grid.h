// Elements of an array that lie evenly apart, and vectors of them: loaded, stored, and turned lane by lane.
#pragma once
#include "micro.h"
#include "transpose.h"

namespace imbrex {

// Elements at p + row * step[0] + column * step[1] + lane * step[2] + d * step[3], of which [begin, end) of each axis but
// d exist.  A window's step[2] is from a group to the next; of a filter each group may be step[4] further.
template <class S> struct grid {
  S *p;
  int64_t step[5];
  int32_t begin[3], end[3];
  bool has(int axis, int i) const { return i >= begin[axis] && i < end[axis]; }
  S *at(int row, int column, int lane) const { return p + row * step[0] + column * step[1] + lane * step[2]; }
};

// May `rows` of so many vectors, each so many elements from the next, be met again where they lie?  Addresses 4096 bytes apart
// share a set of 8 lines of the nearest cache; a line that comes from the next one hides behind the multiply-adds of some taps.
template <class T> static bool stays_near(int64_t step, int rows, int vectors, int taps) {
  const int64_t lines = (step * int64_t(sizeof(T)) + 63) / 64, apart = lines & -lines, sets = apart < 64 ? 64 / apart : 1;
  return 8 * sets * taps > 2 * rows * vectors;
}

// `count` bits from `first` on, of a vector of W lanes; either may lie outside.
template <int W> IMBREX_INLINE mask_t some_lanes(int first, int end) {
  return first_lanes(end < 0 ? 0 : end < W ? end : W) & ~first_lanes(first < 0 ? 0 : first < W ? first : W);
}

// Lanes [0, W) at p + lane * step; what `lanes` lacks is 0.
template <class T, class S> IMBREX_INLINE vec<T> load_apart(const S *p, int64_t step, mask_t lanes) {
  if (step == 1) return lanes == all_lanes<T> ? load<T>(p) : lanes ? load<T>(p, lanes) : vec<T>{};
  if (step == 2) {
    const mask_t both = spread(lanes);
    return even_lanes<T>(load<T>(p, both & all_lanes<T>), load<T>(p + width<T>, both >> width<T>));
  }
  vec<T> found{};
  for (; lanes; lanes &= lanes - 1) {
    const int j = __builtin_ctz(lanes);
    found[j] = widen(p[j * step]);
  }
  return found;
}

template <class T, class D> IMBREX_INLINE void store_apart(D *p, int64_t step, vec<T> x, mask_t lanes) {
  if (step == 1) return lanes == all_lanes<T> ? store<T>(p, x) : store<T>(p, x, lanes);
  for (; lanes; lanes &= lanes - 1) {
    const int j = __builtin_ctz(lanes);
    p[j * step] = narrow_to<D>::from(T(x[j]));
  }
}

// Lane j of the result is lane at[j] of x, where an instruction does that.
template <class T> constexpr bool turns_lanes = false;
#if defined(IMBREX_AVX512)
template <> inline constexpr bool turns_lanes<float> = true;
IMBREX_INLINE vec<float> turned(vec<float> x, lane_bits at) {
  return (vec<float>)_mm512_maskz_permutexvar_ps(0xffff, (__m512i)at, (__m512)x); // see vec_x86.h
}
#elif defined(IMBREX_AVX2)
template <> inline constexpr bool turns_lanes<float> = true;
IMBREX_INLINE vec<float> turned(vec<float> x, lane_bits at) {
  return (vec<float>)_mm256_permutevar8x32_ps((__m256)x, (__m256i)at);
}
#endif
} // namespace imbrex
