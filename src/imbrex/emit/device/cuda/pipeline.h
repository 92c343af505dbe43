// A persistent product of tiles: one warpgroup produces, the others consume.
//
// The producer fills a ring of stages, each with the tiles of A and B of one step of K.  Of every stage there are two
// barriers: `full`, whose phase ends when the tiles are there, and `empty`, whose phase ends when every consumer that
// reads them, of every workgroup of the cluster that gets them, is done.  Both sides walk the same list of work, so
// that nothing but these barriers passes between them.
//
// P is a kernel: sizes, its list of work, how it loads and stores.  It is printed from maps and knows all layouts, of
// shared memory too.  P::team says what its warpgroups do: the way it splits tiles, steps or lines, each with a header of
// its own, which has `produce` and `consume`.
#pragma once
#include "barrier.h"
#include "cluster.h"
#include "lanes.h"
#include "launch_overlap.h"
#include "addresses.h"
#include "ring.h"
#include "shared.h"
#include "stay.h"
#include "ptx/tensor_copy.h"
#include "warpgroup.h"
#include "work.h"

namespace imbrex {

// By one lane.  readers: arrivals by which all who read a stage say that they are done with it.
template <class P> IMBREX_INLINE void make_barriers(const addresses<P> &at, uint32_t readers) {
#pragma unroll
  for (int i = 0; i < P::all_stages; ++i) {
    make_barrier(at.full(i), (P::copies_boxes ? 1 : 0) + (P::has_lanes ? warpgroup_lanes : 0));
    make_barrier(at.empty(i), readers);
  }
  if constexpr (P::is_pingpong) {
#pragma unroll
    for (int i = 0; i < P::consumers; ++i) make_barrier(at.turn(i), warps_of_group);
  }
  if constexpr (P::b_stays) make_barrier(at.b_there(), 1);
  if constexpr (P::b_leaves) make_barrier(at.b_left(), P::consumers);
  if constexpr (P::parts > 1) {
    make_barrier(at.vacated(), P::parts * P::consumers);
#pragma unroll
    for (int i = 0; i < P::consumers; ++i) make_barrier(at.collected(i), 1);
  }
  barriers_made();
}

// Zeros, of all lanes, where instructions read what copies do not fill: gaps of one size in every stage.
template <class P> IMBREX_INLINE void clear_gaps(const addresses<P> &at) {
  if constexpr (P::gap_bytes > 0) {
    for (int32_t i = int32_t(threadIdx.x) * 8; i < P::all_stages * P::gaps * P::gap_bytes; i += int32_t(blockDim.x) * 8) {
      const int32_t gap = i / P::gap_bytes;
      put_shared(at.a(gap / P::gaps) + P::gap_offset(gap % P::gaps) + i % P::gap_bytes, 0, 0);
    }
    written_for_engines();
  }
}

// Tells the copy engine to bring the tiles of a step, as one lane.
template <class P>
IMBREX_INLINE void copy_tiles(const P &p, const addresses<P> &at, int32_t stage, const work &w, int32_t step, int32_t rank) {
  typedef cluster_of<P> cluster;
  const uint32_t full = at.full(stage);
  arrive_expecting(full, P::copied_bytes);
  p.load_a(at.a(stage), full, w.batch, w.row_tile, step, cluster::column(rank), cluster::same_row(rank));
  if constexpr (!P::b_stays)
    p.load_b(at.b(stage), full, w.batch, w.column_tile, step, cluster::row(rank), cluster::same_column(rank));
}

// The step of K that is a tile's n-th: of each part of K the first ones, as many as the tile's batch has.
template <class P> IMBREX_INLINE int32_t step_at(const work &w, int32_t number) {
  if constexpr (P::k_parts == 1) return number;
  const int32_t each = P::steps_of(w.batch);
  return number / each * P::part_steps + number % each;
}

// Fills the ring: by one lane where the copy engine brings all, else by all lanes of the warpgroup, which leave to the
// copy engine what it can bring.
template <class P> IMBREX_INLINE void fill_ring(const P &p, const addresses<P> &at, int32_t slot, int32_t rank) {
  typedef cluster_of<P> cluster;
  if (!P::has_lanes && warpgroup_lane() != 0) return;
  ring<P::stages> here;
  stay kept;
  const int32_t count = p.works(slot);
#pragma unroll 1
  for (int32_t i = 0; i < count; ++i) {
    const work w = p.work_of(slot, i, cluster::row(rank), cluster::column(rank));
    if constexpr (P::b_leaves)
      if (kept.moves(w)) {
        wait(at.b_left(), kept.round ^ 1);
        arrive_expecting(at.b_there(), P::b_copied_bytes);
        p.load_b(at.b(0), at.b_there(), w.batch, w.column_tile, w.first, 0, 0);
      }
#pragma unroll 1
    for (int32_t number = w.first; number < w.end; ++number) {
      const int32_t step = step_at<P>(w, number);
      wait(at.empty(here.stage), here.round ^ 1);
      if constexpr (P::copies_boxes)
        if (!P::has_lanes || warpgroup_lane() == 0) copy_tiles(p, at, here.stage, w, step, rank);
      if constexpr (P::has_lanes) {
        p.fill_a(at.a(here.stage), w.batch, w.row_tile, step);
        p.fill_b(at.b(here.stage), w.batch, w.column_tile, step);
        arrive_after_copies(at.full(here.stage));
      }
      here.next();
    }
  }
}

// Tells those who filled the stage that this consumer is done with it: one lane for each of them.
template <class P> IMBREX_INLINE void release(const addresses<P> &at, int32_t stage, int32_t rank) {
  typedef cluster_of<P> cluster;
  const int32_t lane = warpgroup_lane();
  if constexpr (cluster::readers == 1) {
    if (lane == 0) arrive(at.empty(stage));
  } else {
    const bool shares = (shares_a<P> && cluster::row(lane) == cluster::row(rank)) ||
                        (shares_b<P> && cluster::column(lane) == cluster::column(rank));
    if (lane < cluster::size && shares) arrive_at(at.empty(stage), cluster::first(rank) + lane);
  }
}

// What a workgroup of a kernel does.
template <launch_order Order = launch_order::after_all, class P> IMBREX_INLINE void run(const P &p) {
  typedef typename P::team team;
  const addresses<P> at = {shared_address(shared_memory)};
  const int32_t number = warpgroup(), rank = cluster_of<P>::workgroups > 1 ? int32_t(cluster_rank()) : 0;
  const int32_t slot = P::slot_of(int32_t(blockIdx.x) / cluster_of<P>::size);
  clear_gaps(at);
  if (threadIdx.x == 0) {
    make_barriers(at, cluster_of<P>::readers * P::readers);
    p.prefetch_maps();
  }
  if constexpr (cluster_of<P>::workgroups > 1)
    meet_cluster();
  else
    __syncthreads();
  begin_in_order<Order>();
  if (number == P::consumers) {
    become_producer<P>();
    team::produce(p, at, slot, rank);
  } else {
    become_consumer<P>();
    team::consume(p, at, slot, rank, number);
  }
  // Nobody leaves while others may still tell its barriers something.
  if constexpr (cluster_of<P>::workgroups > 1) meet_cluster();
  end_in_order<Order>();
}
} // namespace imbrex
