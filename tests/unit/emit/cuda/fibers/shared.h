// The functions that a CUDA kernel calls, for a CPU: every thread of a workgroup is a fiber, which goes on until it
// comes to a barrier.  Workgroups run one after the other, their threads in turn from the first and from the last.
#pragma once
#include <stddef.h>
#include <stdint.h>

#define IMBREX_INLINE static inline __attribute__((always_inline))
#define __CUDACC_RTC__ 1
#define __global__
#define __launch_bounds__(...)
#include "../gpu/plain.h"

inline float __fmaf_rn(float a, float b, float c) { return c + a * b; }
inline double __fma_rn(double a, double b, double c) { return c + a * b; }

struct numbered {
  uint32_t x;
};
inline numbered threadIdx, blockIdx;

// As Linux has them in <ucontext.h>, of which only the first members matter here.
struct fiber {
  uint64_t flags;
  fiber *next;
  void *stack;
  int stack_flags;
  size_t stack_bytes;
  uint64_t others[1024];
};
extern "C" int getcontext(fiber *);
extern "C" void makecontext(fiber *, void (*)(), int, ...);
extern "C" int swapcontext(fiber *, const fiber *);

namespace imbrex {

constexpr int most_threads = 1024, stack_bytes = 1 << 16;
alignas(1024) inline unsigned char shared_memory[232448];
inline unsigned char stacks[most_threads][stack_bytes];
inline fiber scheduler, fibers[most_threads];
inline bool is_done[most_threads];
inline int32_t running;
inline void (*body)();

inline void start() {
  body();
  is_done[running] = true;
  swapcontext(&fibers[running], &scheduler);
}
IMBREX_INLINE void next_block() {}
IMBREX_INLINE void keep_block() {}
IMBREX_INLINE void barrier() { swapcontext(&fibers[running], &scheduler); }
IMBREX_INLINE void barrier_after_direct() { barrier(); }

// One workgroup; what it finds in shared memory is nobody's.
inline void workgroup(int32_t threads, int64_t shared_bytes) {
  __builtin_memset(shared_memory, 0xA5, sizeof(shared_memory));
  for (int32_t i = 0; i < threads; ++i) {
    getcontext(&fibers[i]);
    fibers[i].stack = stacks[i];
    fibers[i].stack_bytes = stack_bytes;
    is_done[i] = false;
    makecontext(&fibers[i], start, 0);
  }
  for (int32_t round = 0, left = threads; left; ++round)
    for (int32_t i = 0; i < threads; ++i) {
      running = round % 2 ? threads - 1 - i : i;
      if (is_done[running]) continue;
      threadIdx.x = uint32_t(running);
      swapcontext(&scheduler, &fibers[running]);
      left -= is_done[running];
    }
  for (int64_t i = shared_bytes; i < int64_t(sizeof(shared_memory)); ++i)
    if (shared_memory[i] != 0xA5) __builtin_trap();
}

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};
template <> struct carried<8> {
  typedef uint32_t type __attribute__((vector_size(8)));
};
template <> struct carried<16> {
  typedef uint32_t type __attribute__((vector_size(16)));
};
template <int Bytes> using word_in_memory = word<Bytes> __attribute__((may_alias));

template <int Bytes> IMBREX_INLINE void copy_bytes(void *to, const void *from) { __builtin_memcpy(to, from, Bytes); }
template <class To, class From> IMBREX_INLINE To bit_cast(From from) { return __builtin_bit_cast(To, from); }

IMBREX_INLINE float widen(f16 x) { return float(bit_cast<_Float16>(x)); }
IMBREX_INLINE float widen(bf16 x) { return bit_cast<float>(uint32_t(x.bits) << 16); }

template <> struct narrow_to<f16> {
  IMBREX_INLINE f16 from(float x) { return bit_cast<f16>(_Float16(x)); }
};
template <> struct narrow_to<bf16> {
  IMBREX_INLINE bf16 from(float x) {
    const uint32_t u = bit_cast<uint32_t>(x);
    return {uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16)};
  }
};
IMBREX_INLINE uint32_t bytes_of(uint32_t high, uint32_t low, uint32_t which) {
  uint32_t found = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t n = which >> 8 * i & 7;
    found |= ((n < 4 ? low >> 8 * n : high >> 8 * (n - 4)) & 0xff) << 8 * i;
  }
  return found;
}

template <class D> IMBREX_INLINE void sum_into(D *dst, D x) { *dst += x; }
IMBREX_INLINE uint32_t peek(uint32_t *word) { return *word; }
IMBREX_INLINE bool exchanged(uint32_t *word, uint32_t &seen, uint32_t want) {
  const bool is_same = *word == seen;
  (is_same ? *word : seen) = is_same ? want : *word;
  return is_same;
}

// An address must be a multiple of what is read there at once, as on the GPU.
template <int Bytes> IMBREX_INLINE void expect_aligned(const void *p) {
  if (reinterpret_cast<uintptr_t>(p) % Bytes) __builtin_trap();
}
template <int W, class T> IMBREX_INLINE void read(T *dst, const T *src) {
  expect_aligned<W * sizeof(T)>(src);
  copy_bytes<W * sizeof(T)>(dst, src);
}
template <int W, class T> IMBREX_INLINE void write(T *dst, const T *src) {
  expect_aligned<W * sizeof(T)>(dst);
  copy_bytes<W * sizeof(T)>(dst, src);
}

IMBREX_INLINE void signal(int32_t *flag) {
  barrier();
  if (threadIdx.x == 0) *flag = 1;
}
// The workgroup that is waited for came before.
IMBREX_INLINE void await(int32_t *flag) {
  if (threadIdx.x == 0) {
    if (*flag != 1) __builtin_trap();
    *flag = 0;
  }
  barrier();
}
IMBREX_INLINE void await_all(int32_t *flags, int32_t count) {
  for (int32_t i = 0; i < count; ++i) await(flags + i);
}

struct any_pointer {
  void *p;
  template <class T> operator T *() const { return static_cast<T *>(p); }
};
} // namespace imbrex
#include "../cpu/narrow.h"
#include "../gpu/pointer.h"
