// A persistent product over pixels, whose columns are the taps of a window.
//
// Consumers share columns: each has all rows of a tile, and some of the taps.  All of them read one raster of pixels,
// from rows that begin anywhere; an instruction reads several taps out of it, which lie as far apart as its descriptor
// says.  What is read behind the last pixel that a copy brings is multiplied by zeros, and is zero itself, as what lies
// there by chance might be no number.
//
// P is a kernel, as in warpgroup_gemm.h; its columns are those of one consumer.
#pragma once
#include "warpgroup_gemm.h"

namespace imbrex {

// Zeros, of all lanes, where stages end that copies do not fill.
template <class P> IMBREX_INLINE void clear_tails(const places<P> &at) {
  if constexpr (P::b_tail_bytes > 0) {
    constexpr int32_t first = P::b_bytes - P::b_tail_bytes;
    for (int32_t i = int32_t(threadIdx.x) * 8; i < P::stages * P::b_tail_bytes; i += int32_t(blockDim.x) * 8)
      put_shared(at.b(i / P::b_tail_bytes) + first + i % P::b_tail_bytes, 0, 0);
    written_for_engines();
  }
}

// d = the product of all rows and of the consumer's taps over the work's steps.
template <class P, class S, int M, int N>
IMBREX_INLINE void multiply_taps(const places<P> &at, ring<P::stages> &here, S (&d)[M][N], const work &w,
                                 int32_t group) {
  const uint32_t own = uint32_t(group) * (P::b_start(0, P::columns) - P::b_start(0, 0));
  const uint64_t a = P::a_descriptor | start_of(at.a(0)), b = P::b_descriptor | start_of(at.b(0) + own);
#pragma unroll 1
  for (int32_t step = w.first; step < w.end; ++step) {
    const uint32_t stage = uint32_t(here.stage * (places<P>::stage_bytes >> 4));
    wait(at.full(here.stage), here.round);
    pin(d);
    begin_products();
#pragma unroll
    for (int k = 0; k < P::depth; k += P::instruction_depth)
#pragma unroll
      for (int m = 0; m < M; ++m)
        P::multiply(d[m], a + stage + (P::a_start(k, m * 64) >> 4), b + stage + (P::b_start(k, 0) >> 4),
                    k > 0 || step > w.first);
    end_products();
    wait_products<0>();
    if (warpgroup_lane() == 0) arrive(at.empty(here.stage));
    pin(d);
    here.next();
  }
}

template <class P> IMBREX_INLINE void consume_taps(const P &p, const places<P> &at, int32_t slot, int32_t group) {
  constexpr int blocks = P::rows / 64;
  const int32_t count = P::works(slot);
  ring<P::stages> here;
  staging out = {at.pieces(group), group};
  typename P::sum d[blocks][P::columns / 2];
#pragma unroll 1
  for (int32_t i = 0; i < count; ++i) {
    const work w = P::work_of(slot, i, 0, 0);
    multiply_taps(at, here, d, w, group);
    work own = w;
    own.column_tile = w.column_tile * P::consumers + group;
#pragma unroll
    for (int m = 0; m < blocks; ++m) store_rows(p, out, d[m], own, m * 64);
  }
  wait_pieces_read<P>();
}

// What a workgroup does that has whole tiles to itself.  readers: of a stage, as in make_barriers.
// consume: what a consumer does, of places, a slot and its number.
template <order Order, class P, class Consume>
IMBREX_INLINE void run_alone(const P &p, uint32_t readers, Consume consume) {
  static_assert(cluster_of<P>::workgroups == 1 && !P::is_pingpong && !P::b_stays && !P::shares_tiles, "whole tiles");
  const places<P> at = {shared_address(shared_memory)};
  const int32_t number = warpgroup(), slot = P::slot_of(int32_t(blockIdx.x));
  clear_tails(at);
  if (threadIdx.x == 0) {
    make_barriers(at, readers);
    p.prefetch_maps();
  }
  __syncthreads();
  begin_in_order<Order>();
  if (number == P::consumers) {
    become_producer<P>();
    if (warpgroup_lane() == 0) produce(p, at, slot, 0);
  } else {
    become_consumer<P>();
    consume(at, slot, number);
  }
  end_in_order<Order>();
}

// What a workgroup of a kernel does.
template <order Order = order::after_all, class P> IMBREX_INLINE void run_taps(const P &p) {
  run_alone<Order>(p, P::consumers, [&](const places<P> &at, int32_t slot, int32_t group) {
    consume_taps(p, at, slot, group); // who reads all stages
  });
}
} // namespace imbrex
