// Sums of a tile that several workgroups share: they go to memory, and a flag says so.
//
// A flag is a word of a workgroup, and each consumer has a bit of it.  The owner of the tile takes partial sums in the
// order of K, so that the result does not depend on who was first, and leaves flags as it found them: zero.
// Where all who share a tile have nothing else to do, they meet and each adds up a part of it, in the same order; each
// consumer then has ten bits of the owner's word, and counts in them who has come and who has seen that all have.
#pragma once
#include "ptx/global.h"
#include "sums.h"
#include "warpgroup.h"

namespace imbrex {

// Raises a bit, when all that the lanes of the warpgroup wrote before can be seen on the whole GPU.
IMBREX_INLINE void signal(int32_t *flag, int32_t group) {
  meet_warpgroup(group);
  if (warpgroup_lane() == 0) set_bits_released(flag, 1 << group);
}

// Returns when the bit is up, and lowers it.
IMBREX_INLINE void await(int32_t *flag, int32_t group) {
  if (warpgroup_lane() == 0) {
    while (!(take_acquired(flag) >> group & 1)) {
    }
    keep_bits_acquired(flag, ~(1 << group));
  }
  meet_warpgroup(group);
}

// Where a lane's sums lie: four neighbours, the same four of all lanes one after the other.
template <class S> IMBREX_INLINE S *lane_partial(S *partial, int32_t group, int sums) {
  return partial + group * sums * warpgroup_lanes + warpgroup_lane() * 4;
}

// Returns when `sharers` warpgroups have called it, and sees what they wrote before.  All of them run at a time.
IMBREX_INLINE void meet_sharers(int32_t *word, int32_t sharers, int32_t group) {
  const int32_t shift = 10 * group;
  meet_warpgroup(group);
  if (warpgroup_lane() == 0) {
    add_released(word, 1 << shift);
    while ((take_acquired(word) >> shift & 1023) < sharers) {
    }
  }
  meet_warpgroup(group);
}

// Leaves those who have met: the last one leaves the word as it was.
IMBREX_INLINE void leave_sharers(int32_t *word, int32_t sharers, int32_t group) {
  const int32_t shift = 10 * group;
  if (warpgroup_lane() > 0) return;
  const int32_t seen = take_and_add(word, 1 << shift);
  if ((seen >> shift & 1023) == 2 * sharers - 1) add_relaxed(word, -(2 * sharers << shift));
}

template <class S, int M, int N> IMBREX_INLINE void send(S *partial, const S (&d)[M][N], int32_t group) {
  static_assert(N % 4 == 0, "sums go four at a time");
  S *to = lane_partial(partial, group, M * N);
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int j = 0; j < N; j += 4)
      put_global(to + (i * N + j) * warpgroup_lanes, bits_of(d[i][j]), bits_of(d[i][j + 1]), bits_of(d[i][j + 2]),
                 bits_of(d[i][j + 3]));
}

template <class S> IMBREX_INLINE S from_bits(uint32_t x);
template <> __device__ __forceinline__ float from_bits<float>(uint32_t x) { return __uint_as_float(x); }
template <> __device__ __forceinline__ int32_t from_bits<int32_t>(uint32_t x) { return int32_t(x); }

// Four neighbours of a lane's sums, from the one at `first` on.
template <class S> IMBREX_INLINE void take(S (&x)[4], const S *from, int first) {
  uint32_t bits[4];
  take_global(bits, from + first * warpgroup_lanes);
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = from_bits<S>(bits[i]);
}

// Four neighbours of sums in shared memory.
template <class S> IMBREX_INLINE void take_shared(S (&x)[4], uint32_t from) {
  uint32_t bits[4];
  take_shared(bits[0], bits[1], bits[2], bits[3], from);
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = from_bits<S>(bits[i]);
}

template <class S, int M, int N>
IMBREX_INLINE void receive(S *partial, int32_t *flag, S (&d)[M][N], int32_t group) {
  await(flag, group);
  const S *from = lane_partial(partial, group, M * N);
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
