// Shared memory, and where the work items of a workgroup meet.
#pragma once
#include "pointer.h"
#include "ptx/async_copy.h"
#include "ptx/registers.h"
#include "ptx/shared.h"

namespace imbrex {

// dst = W neighbours of shared memory, in one instruction.
template <int W, class T> IMBREX_INLINE void read(T *dst, const T *src) {
  const word<W * sizeof(T)> x = word_of_shared<word_in_memory<W * sizeof(T)>>(src);
  copy_bytes<sizeof(x)>(dst, &x);
#pragma unroll
  for (int i = 0; i < W; ++i) arrived(dst[i]);
}

// W neighbours of shared memory = src, in one instruction.
template <int W, class T> IMBREX_INLINE void write(T *dst, const T *src) {
  word<W * sizeof(T)> x;
  copy_bytes<sizeof(x)>(&x, src);
  put_word_of_shared<word_in_memory<W * sizeof(T)>>(dst, x);
}

// From global to shared memory past the registers; zeros where there is nothing.
template <int W, class T> IMBREX_INLINE void load_direct(T *dst, const T *src, bool exists) {
  constexpr int bytes = W * sizeof(T);
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what one direct load carries");
  copy_in<bytes>(shared_address(dst), src, exists);
}

IMBREX_INLINE void barrier() { __syncthreads(); }

// The barrier after direct loads.
IMBREX_INLINE void barrier_after_direct() {
  wait_copies();
  __syncthreads();
}
} // namespace imbrex
