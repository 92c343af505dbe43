// Shared memory, and where the work items of a workgroup meet.
#pragma once
#include "pointer.h"

namespace imbrex {

// All that a workgroup has: as much as its launch asks for.
extern __shared__ __align__(1024) unsigned char shared_memory[];

// The value is in its register from here on.  Without it the compiler reads where the value is first used, and the
// reader waits.
template <class T> IMBREX_INLINE void arrived(T &) {}
IMBREX_INLINE void arrived(float &x) { asm volatile("" : "+f"(x)); }
IMBREX_INLINE void arrived(double &x) { asm volatile("" : "+d"(x)); }

// dst = W neighbours of shared memory, in one instruction.
template <int W, class T> IMBREX_INLINE void read(T *dst, const T *src) {
  const word<W * sizeof(T)> x = *reinterpret_cast<const word_in_memory<W * sizeof(T)> *>(src);
  copy_bytes<sizeof(x)>(dst, &x);
#pragma unroll
  for (int i = 0; i < W; ++i) arrived(dst[i]);
}

// W neighbours of shared memory = src, in one instruction.
template <int W, class T> IMBREX_INLINE void write(T *dst, const T *src) {
  word<W * sizeof(T)> x;
  copy_bytes<sizeof(x)>(&x, src);
  *reinterpret_cast<word_in_memory<W * sizeof(T)> *>(dst) = x;
}

// From global to shared memory past the registers; zeros where there is nothing.
template <int W, class T> IMBREX_INLINE void load_direct(T *dst, const T *src, bool exists) {
  constexpr int bytes = W * sizeof(T);
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what one direct load carries");
  const uint32_t to = uint32_t(__cvta_generic_to_shared(dst));
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(src), "r"(exists ? 16 : 0) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(src), "n"(bytes),
                 "r"(exists ? bytes : 0)
                 : "memory");
}

IMBREX_INLINE void barrier() { __syncthreads(); }

// The barrier after direct loads.
IMBREX_INLINE void barrier_after_direct() {
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
}
} // namespace imbrex
