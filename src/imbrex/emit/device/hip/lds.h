// LDS, and where work items meet.
#pragma once
#include "buffer.h"
#include "pointer.h"

namespace imbrex {

template <class T> using lds = T __attribute__((address_space(3))) *;

// dst = W neighbours of LDS, in one instruction.
template <int W, class T> IMBREX_INLINE void read(T *dst, lds<const T> src) {
  const word<W * sizeof(T)> x = *(lds<const word_in_memory<W * sizeof(T)>>)(src);
  __builtin_memcpy(dst, &x, sizeof(x));
}
template <int W, class T> IMBREX_INLINE void read(T *dst, lds<const held<T>> src) {
  static_assert(W == 1, "a pack fills its place");
  word<12> x; // word by word: for a copy of 12 bytes the compiler would wait for all loads past the registers
#pragma unroll
  for (int i = 0; i < 3; ++i) x.part[i] = ((lds<const word_in_memory<4>>)(src))[i];
  __builtin_memcpy(dst, &x, sizeof(x));
}

// What 16 lanes read, a matrix of W rows of 16 of which each reads W neighbours, row by row, transposed: dst = the lane's
// own column.  Nothing is written to `src` meanwhile, and the compiler must be told: it does not look into this
// instruction, and would wait for all loads past the registers before it.
template <int W, class T>
IMBREX_INLINE void read_turned(
    [[maybe_unused]] T *dst, [[maybe_unused]] const T __attribute__((address_space(3))) *__restrict src) {
  static_assert(W * sizeof(T) == 8 && sizeof(T) <= 2, "lanes transpose 8 bytes each, of 8 or 16 bits");
  typedef short halves __attribute__((ext_vector_type(4)));
  typedef int words __attribute__((ext_vector_type(2)));
  if constexpr (sizeof(T) == 2) {
    const halves x = __builtin_amdgcn_ds_read_tr16_b64_v4i16((lds<halves>)src);
    __builtin_memcpy(dst, &x, sizeof(x));
  } else {
    const words x = __builtin_amdgcn_ds_read_tr8_b64_v2i32((lds<words>)src);
    __builtin_memcpy(dst, &x, sizeof(x));
  }
}

// The same of packs of fewer than 8 bits, of which each of 16 lanes reads one.
template <int W, class P>
IMBREX_INLINE void
read_turned([[maybe_unused]] P *dst, [[maybe_unused]] const across<P> __attribute__((address_space(3))) *__restrict src) {
  static_assert(W == 1 && sizeof(P) == 8, "lanes transpose a pack each");
  typedef int words __attribute__((ext_vector_type(2)));
  const words x = __builtin_amdgcn_ds_read_tr4_b64_v2i32((lds<words>)src);
  __builtin_memcpy(dst, &x, sizeof(x));
}
template <int W, class P>
IMBREX_INLINE void read_turned(
    [[maybe_unused]] P *dst, [[maybe_unused]] const held<across<P>> __attribute__((address_space(3))) *__restrict src) {
  static_assert(W == 1 && sizeof(P) == 12, "lanes transpose a pack each");
  typedef int words __attribute__((ext_vector_type(3)));
  const words x = __builtin_amdgcn_ds_read_tr6_b96_v3i32((lds<words>)src);
  const word<12> read = {{uint32_t(x[0]), uint32_t(x[1]), uint32_t(x[2])}};
  __builtin_memcpy(dst, &read, sizeof(read));
}

// W neighbours of LDS = src, in one instruction.
template <int W, class T> IMBREX_INLINE void write(lds<T> dst, const T *src) {
  word<W * sizeof(T)> x;
  __builtin_memcpy(&x, src, sizeof(x));
  *(lds<word_in_memory<W * sizeof(T)>>)(dst) = x;
}
template <int W, class T> IMBREX_INLINE void write(lds<held<T>> dst, const T *src) {
  static_assert(W == 1, "a pack fills its place");
  word<12> x;
  __builtin_memcpy(&x, src, sizeof(x));
#pragma unroll
  for (int i = 0; i < 3; ++i) ((lds<word_in_memory<4>>)(dst))[i] = x.part[i];
}

template <class T> constexpr int bytes_loaded = sizeof(T);
template <class T> constexpr int bytes_loaded<held<T>> = sizeof(T);
template <class T> struct loaded_as {
  typedef T type;
};
template <class T> struct loaded_as<held<T>> {
  typedef T type;
};

// From a buffer to LDS past the registers, by all lanes of a wave: lane l writes the l-th `W` elements after dst, the
// place of the first lane.  The builtin is of clang 21 and later.
template <int W, class T> IMBREX_INLINE void load_direct(lds<T> dst, buffer b, uint32_t lane, uint32_t wave) {
  __builtin_amdgcn_raw_ptr_buffer_load_lds(b, dst, W * bytes_loaded<T>, lane, wave, 0, 0);
}

IMBREX_INLINE uint32_t lane_of_wave() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

// The same from an array that no raw buffer reaches: through registers after all.
template <int W, class T>
IMBREX_INLINE void load_direct(lds<T> dst, const typename loaded_as<T>::type *src, bool exists) {
  typename loaded_as<T>::type x[W];
  load<W>(x, src, exists);
  write<W>(dst + W * lane_of_wave(), x);
}

// Loads of global memory that are under way stay so: the fences speak of LDS only, where the compiler knows how.
IMBREX_INLINE void barrier() {
#if __clang_major__ >= 19
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
#else
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#endif
}

// The barrier after direct loads, which are loads of global memory to the counters of a wave; the last InFlight that it
// began may still be under way.  A fence would wait for those too, so that there is none but for the compiler.
template <int InFlight = 0> IMBREX_INLINE void barrier_after_direct() {
  static_assert(0 <= InFlight && InFlight < 64, "vmcnt has six bits");
  if constexpr (InFlight == 0) {
    // vmcnt(0) lgkmcnt(0), as gfx9 encodes it.  The wait for LDS of the barrier's fence is dropped by clang at the head of
    // a loop before which nothing was read, though reads of the trip before may be under way.
    __builtin_amdgcn_s_waitcnt(0x0070);
    barrier();
  } else {
    asm volatile("" ::: "memory");
    __builtin_amdgcn_s_waitcnt(0x0070 | (InFlight & 15) | (InFlight >> 4 << 14)); // vmcnt(InFlight), lgkmcnt(0)
    __builtin_amdgcn_s_barrier();
    asm volatile("" ::: "memory");
  }
}
} // namespace imbrex
