// The part of C++ and CUDA that the kernels use, for a CPU: each lane is a fiber of the machine in emulate/hopper.
#pragma once
#include "../../emulate/hopper/machine.h"

#define __CUDACC_RTC__ // no launches: there is no runtime of CUDA's
#define __global__
#define __device__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __restrict__
#define IMBREX_INLINE static inline
#define IMBREX_MEMBER inline
#define memcpy __builtin_memcpy
#ifndef __clang__
#define __builtin_assume(claim)
#endif

struct uint2 {
  uint32_t x, y;
};
struct uint4 {
  uint32_t x, y, z, w;
};
static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }

static inline void __syncthreads() { imbrex::hopper::meet_workgroup(); }
static inline void __syncwarp() { imbrex::hopper::meet_warp(); }
template <class T> static inline T __shfl_sync(uint32_t, T x, uint32_t lane) {
  static_assert(sizeof(T) == 4, "lanes hand on words");
  uint32_t word;
  memcpy(&word, &x, 4);
  word = imbrex::hopper::from_lane(word, lane);
  memcpy(&x, &word, 4);
  return x;
}

template <class T> static inline T atomicAdd(T *place, T x) {
  const T before = *place;
  *place = before + x;
  return before;
}
static inline uint32_t atomicCAS(uint32_t *place, uint32_t seen, uint32_t want) {
  const uint32_t before = *place;
  if (before == seen) *place = want;
  return before;
}
template <class T> static inline T __ldg(const T *from) { return *from; }

static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline uint32_t __float_as_uint(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}
static inline float __uint_as_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
static inline uint32_t __byte_perm(uint32_t low, uint32_t high, uint32_t which) {
  const uint64_t both = uint64_t(high) << 32 | low;
  uint32_t found = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t one = which >> 4 * i & 15, byte = uint32_t(both >> 8 * (one & 7)) & 255;
    found |= (one & 8 ? byte & 128 ? 255u : 0u : byte) << 8 * i;
  }
  return found;
}
static inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t shift) {
  return uint32_t((uint64_t(high) << 32 | low) >> (shift & 31));
}
