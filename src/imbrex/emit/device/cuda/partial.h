// Sums of a tile that several workgroups share: they go to memory, and a flag says so.
//
// A flag is a word of a workgroup, and each consumer has a bit of it.  The owner of the tile takes partial sums in the
// order of K, so that the result does not depend on who was first, and leaves flags as it found them: zero.
// Where all who share a tile have nothing else to do, they meet and each adds up a part of it, in the same order; each
// consumer then has ten bits of the owner's word, and counts in them who has come and who has seen that all have.
#pragma once
#include "sums.h"
#include "warpgroup.h"

namespace imbrex {

// Raises a bit, when all that the lanes of the warpgroup wrote before can be seen on the whole GPU.
IMBREX_INLINE void signal(int32_t *flag, int32_t group) {
  meet_warpgroup(group);
  if (warpgroup_lane() == 0)
    asm volatile("fence.acq_rel.gpu;\n"
                 "red.release.gpu.global.or.b32 [%0], %1;" ::"l"(flag),
                 "r"(1 << group)
                 : "memory");
}

// Returns when the bit is up, and lowers it.
IMBREX_INLINE void await(int32_t *flag, int32_t group) {
  if (warpgroup_lane() == 0) {
    int32_t seen;
    do {
      asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (!(seen >> group & 1));
    asm volatile("red.relaxed.gpu.global.and.b32 [%0], %1;\n"
                 "fence.acq_rel.gpu;" ::"l"(flag),
                 "r"(~(1 << group))
                 : "memory");
  }
  meet_warpgroup(group);
}

// Place of a lane's sums: four neighbours, the same four of all lanes one after the other.
template <class S> IMBREX_INLINE S *partial_place(S *partial, int32_t group, int sums) {
  return partial + group * sums * warpgroup_lanes + warpgroup_lane() * 4;
}

// Returns when `sharers` warpgroups have called it, and sees what they wrote before.  All of them run at a time.
IMBREX_INLINE void meet_sharers(int32_t *word, int32_t sharers, int32_t group) {
  const int32_t shift = 10 * group;
  meet_warpgroup(group);
  if (warpgroup_lane() == 0) {
    asm volatile("fence.acq_rel.gpu;\n"
                 "red.release.gpu.global.add.s32 [%0], %1;" ::"l"(word),
                 "r"(1 << shift)
                 : "memory");
    int32_t seen;
    do {
      asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(seen) : "l"(word) : "memory");
    } while ((seen >> shift & 1023) < sharers);
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], %2;\n"
                 "fence.acq_rel.gpu;"
                 : "=r"(seen)
                 : "l"(word), "r"(1 << shift)
                 : "memory");
    if ((seen >> shift & 1023) == 2 * sharers - 1)
      asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(word), "r"(-(2 * sharers << shift)) : "memory");
  }
  meet_warpgroup(group);
}

template <class S, int M, int N> IMBREX_INLINE void send(S *partial, const S (&d)[M][N], int32_t group) {
  static_assert(N % 4 == 0, "sums go four at a time");
  S *to = partial_place(partial, group, M * N);
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int j = 0; j < N; j += 4)
      asm volatile("st.global.cg.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to + (i * N + j) * warpgroup_lanes),
                   "r"(bits_of(d[i][j])), "r"(bits_of(d[i][j + 1])), "r"(bits_of(d[i][j + 2])),
                   "r"(bits_of(d[i][j + 3]))
                   : "memory");
}

template <class S> IMBREX_INLINE S from_bits(uint32_t x);
template <> __device__ __forceinline__ float from_bits<float>(uint32_t x) { return __uint_as_float(x); }
template <> __device__ __forceinline__ int32_t from_bits<int32_t>(uint32_t x) { return int32_t(x); }

// Four neighbours of a lane's sums, from the one at `first` on.
template <class S> IMBREX_INLINE void take(S (&x)[4], const S *from, int first) {
  uint32_t bits[4];
  asm volatile("ld.global.cg.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits[0]), "=r"(bits[1]), "=r"(bits[2]), "=r"(bits[3])
               : "l"(from + first * warpgroup_lanes)
               : "memory");
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = from_bits<S>(bits[i]);
}

// Four neighbours of sums in shared memory.
template <class S> IMBREX_INLINE void take_shared(S (&x)[4], uint32_t from) {
  uint32_t bits[4];
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits[0]), "=r"(bits[1]), "=r"(bits[2]), "=r"(bits[3])
               : "r"(from)
               : "memory");
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = from_bits<S>(bits[i]);
}

template <class S, int M, int N>
IMBREX_INLINE void receive(S *partial, int32_t *flag, S (&d)[M][N], int32_t group) {
  await(flag, group);
  const S *from = partial_place(partial, group, M * N);
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int j = 0; j < N; j += 4) {
      S x[4];
      take(x, from, i * N + j);
#pragma unroll
      for (int k = 0; k < 4; ++k) d[i][j + k] += x[k];
    }
}
} // namespace imbrex
