// A tile that workgroups of a cluster share: each has multiplied a part of K, and stores a part of the columns.
//
// Every consumer sends its sums to those that store them, from registers to shared memory: to the stages of the ring,
// which are free when all consumers of all parts are done.  Who stores adds up what all have sent, its own sums too, as
// a tree over the parts, (0 + 1) + (2 + 3), which is the same in every workgroup: a result does not depend on timing.
#pragma once
#include "barrier.h"
#include "cluster.h"
#include "store.h"

namespace imbrex {

// The kernel as one that stores the columns of one part: there are P::parts times as many tiles, each so much narrower.
template <class P> struct part_of : P {
  static constexpr int columns = P::columns / P::parts;
};

// What a consumer collects: groups of four neighbours of a lane's sums, of all lanes one after the other.
template <class P, int Blocks> struct collection {
  static constexpr int sums = part_of<P>::columns / 2; // of a lane and a block of 64 rows
  static constexpr int bytes = Blocks * sums * warpgroup_lanes * 4;
  static_assert(sums % 4 == 0, "sums go four at a time");

  uint32_t memory; // of this consumer

  IMBREX_MEMBER uint32_t address(int32_t part, int block, int sum) const {
    return memory + part * bytes + (block * sums + sum) * warpgroup_lanes * 4 + warpgroup_lane() * 16;
  }
};

// Begins what `collect` waits for: by one lane of each consumer, before anybody sends.
template <class P, int Blocks> IMBREX_INLINE void expect_sums(uint32_t collected) {
  arrive_expecting(collected, P::parts * collection<P, Blocks>::bytes);
}

// Sends the sums of part `part`, each to the part that stores it.  rank: of part 0 in the cluster; size: from one part
// to the next.  Each begins with itself, so that no workgroup gets from all others at a time.
template <class P, class S, int M, int N>
IMBREX_INLINE void send_sums(const collection<P, M> &at, uint32_t collected, const S (&d)[M][N], int32_t part,
                             int32_t rank, int32_t size) {
  constexpr int sums = collection<P, M>::sums;
#pragma unroll 1
  for (int32_t turn = 0; turn < P::parts; ++turn) {
    const int32_t to = part ^ turn, there = rank + to * size;
    const uint32_t address = in_cluster(at.address(part, 0, 0), there), barrier = in_cluster(collected, there);
#pragma unroll
    for (int owner = 0; owner < P::parts; ++owner) {
      if (owner != to) continue;
#pragma unroll
      for (int i = 0; i < M; ++i)
#pragma unroll
        for (int j = 0; j < sums; j += 4) {
          const S *x = d[i] + owner * sums + j;
          store_in_cluster(address + (i * sums + j) * warpgroup_lanes * 4, barrier,
                           {bits_of(x[0]), bits_of(x[1]), bits_of(x[2]), bits_of(x[3])});
        }
    }
  }
}

// total = the sums of all parts.
template <class P, class S, int M>
IMBREX_INLINE void collect(const collection<P, M> &at, uint32_t collected, S (&total)[M][collection<P, M>::sums]) {
  wait_in_cluster(collected, 0);
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int j = 0; j < collection<P, M>::sums; j += 4) {
      S x[P::parts][4];
#pragma unroll
      for (int part = 0; part < P::parts; ++part) take_shared(x[part], at.address(part, i, j));
#pragma unroll
      for (int apart = 1; apart < P::parts; apart *= 2)
#pragma unroll
        for (int part = 0; part < P::parts; part += 2 * apart)
#pragma unroll
          for (int k = 0; k < 4; ++k) x[part][k] += x[part + apart][k];
#pragma unroll
      for (int k = 0; k < 4; ++k) total[i][j + k] = x[0][k];
    }
}
} // namespace imbrex
