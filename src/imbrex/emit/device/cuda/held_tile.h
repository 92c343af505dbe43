// Consumers that have A in registers: where its rows lie together in shared memory, and the matrix unit, which reads elements
// of that size along k only, would not have them from there.
//
// Lanes take a step in two halves.  The matrix unit reads registers until its products are done, so that it multiplies one
// half while the other is taken, and what a lane takes goes where products that it has waited for had theirs.
#pragma once
#include "consumer.h"
#include "pipeline.h"
#include "ptx/shared.h"

namespace imbrex {

// d = the tile's product over the work's steps, as `multiply_tile` has it.
template <class P>
IMBREX_INLINE void multiply_held_tile(const addresses<P> &at, ring<P::stages> &here, typename sums_of<P>::type &d,
                                      const work &w, int32_t warpgroup, int32_t rank) {
  constexpr int blocks = sums_of<P>::blocks, products = P::depth / P::instruction_depth;
  constexpr int halves = products > 1 ? 2 : 1, each = products / halves;
  const uint32_t own_rows = row_group<P>(warpgroup) * P::a_start(0, blocks * 64);
  const uint64_t b_first = P::b_descriptor | start_of(at.b(0));
  uint32_t from[P::held], a[products][blocks][P::held];
#pragma unroll
  for (int i = 0; i < P::held; ++i) from[i] = at.a(0) + own_rows + P::held_byte(warpgroup_lane(), i);
  int32_t step = w.first, before = 0; // steps: at least one
#pragma unroll
  for (int part = 0; part < P::k_parts; ++part) {
    const int32_t first = step, end = P::k_parts > 1 ? first + P::steps_of(w.batch) : w.end;
#pragma unroll 1
    do {
      const uint32_t stage = uint32_t(here.stage * P::stage_bytes);
      wait(at.full(here.stage), here.round);
      if constexpr (P::has_lanes) written_for_engines();
#pragma unroll
      for (int half = 0; half < halves; ++half) {
        wait_products<halves - 1>();
        if (half == halves - 1 && step > w.first) release(at, before, rank);
#pragma unroll
        for (int k = half * each; k < (half + 1) * each; ++k) {
          pin(a[k]); // the matrix unit has had them until here
#pragma unroll
          for (int m = 0; m < blocks; ++m)
#pragma unroll
            for (int i = 0; i < P::held; ++i)
              take_shared(a[k][m][i], from[i] + stage + P::a_start(k * P::instruction_depth, m * 64));
        }
        pin(d);
        begin_products();
#pragma unroll
        for (int k = half * each; k < (half + 1) * each; ++k)
#pragma unroll
          for (int m = 0; m < blocks; ++m)
            P::multiply(d[m] + P::first_of(part) / 2, a[k][m],
                        b_first + ((stage + P::b_start(k * P::instruction_depth, 0)) >> 4),
                        k > 0 || P::goes_on(part) || step > first);
        end_products();
      }
      if constexpr (P::is_pingpong)
        if (step + 1 == w.end) arrive_as_warp(at.turn(1 - warpgroup));
      before = here.stage;
      here.next();
    } while (++step < end);
  }
  wait_products<0>();
#pragma unroll
  for (int k = 0; k < products; ++k) pin(a[k]);
  release(at, before, rank);
  pin(d);
}
} // namespace imbrex
