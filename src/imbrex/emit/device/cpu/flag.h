// How workgroups that share an output tile hand each other partial sums: a tile in memory, then a flag.
//
// A flag that is up says that its tile is complete; whoever takes the tile lowers it.  Workgroups wait only for ones that
// were started before them, so that somebody always gets on, however few threads there are.
#pragma once
#include "pool.h"

extern "C" int sched_yield() noexcept;

namespace imbrex {

static inline void signal(int32_t *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }

// Returns when the flag is up, and lowers it.
static inline void await(int32_t *flag) {
  constexpr int patience = 2000; // looks, before others may have this core
  for (int looks = 0; __atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0; ++looks) {
    relax();
    if (looks >= patience) sched_yield();
  }
  __atomic_store_n(flag, 0, __ATOMIC_RELAXED);
}

// The same of so many neighbouring flags, or of none.
static inline void await_all(int32_t *flags, int32_t count) {
  for (int32_t i = 0; i < count; ++i) await(flags + i);
}

template <class T> static inline void copy_tile(T *dst, const T *src, int64_t count) {
  __builtin_memcpy(dst, src, size_t(count) * sizeof(T));
}

// Places beyond the edge of the matrix hold anything: their sums may overflow, and are not looked at.
template <class T> static inline void add_tile(T *dst, const T *src, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if constexpr (T(0.5) == T(0))
      __builtin_add_overflow(dst[i], src[i], &dst[i]);
    else
      dst[i] += src[i];
}
} // namespace imbrex
