// A persistent product of tiles: one warpgroup produces, the others consume.
//
// The producer fills a ring of stages, each with the tiles of A and B of one step of K.  Of every stage there are two
// barriers: `full`, whose phase ends when the tiles are there, and `empty`, whose phase ends when every consumer that
// reads them, of every workgroup of the cluster that gets them, is done.  Both sides walk the same list of work, so
// that nothing but these barriers passes between them.
//
// Cooperative consumers share the rows of a tile.  Pingpong consumers have one tile each, in turn: a consumer may begin
// to multiply when the other has issued its last step, which keeps the matrix unit busy while one of them stores.
//
// P is a kernel: sizes, its list of work, how it loads and stores.  It is printed from maps and knows all layouts.
#pragma once
#include "barrier.h"
#include "cluster.h"
#include "collect.h"
#include "lanes.h"
#include "order.h"
#include "partial.h"
#include "places.h"
#include "ring.h"
#include "shared.h"
#include "stay.h"
#include "store.h"
#include "ptx/tensor_copy.h"
#include "warpgroup.h"
#include "work.h"

namespace imbrex {

// By one lane.  readers: arrivals by which all who read a stage say that they are done with it.
template <class P> IMBREX_INLINE void make_barriers(const places<P> &at, uint32_t readers) {
#pragma unroll
  for (int i = 0; i < P::stages; ++i) {
    make_barrier(at.full(i), (P::copies_boxes ? 1 : 0) + (P::has_lanes ? warpgroup_lanes : 0));
    make_barrier(at.empty(i), readers);
  }
  if constexpr (P::is_pingpong) {
    make_barrier(at.turn(0), warps_of_group);
    make_barrier(at.turn(1), warps_of_group);
  }
  if constexpr (P::b_stays) {
    make_barrier(at.b_there(), 1);
    make_barrier(at.b_left(), P::consumers);
  }
  if constexpr (P::parts > 1) {
    make_barrier(at.vacated(), P::parts * P::consumers);
#pragma unroll
    for (int i = 0; i < P::consumers; ++i) make_barrier(at.collected(i), 1);
  }
  barriers_made();
}

// Tells the copy engine to bring the tiles of a step, as one lane.
template <class P>
IMBREX_INLINE void copy_tiles(const P &p, const places<P> &at, int32_t stage, const work &w, int32_t step, int32_t rank) {
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
template <class P> IMBREX_INLINE void produce(const P &p, const places<P> &at, int32_t slot, int32_t rank) {
  typedef cluster_of<P> cluster;
  ring<P::stages> here;
  stay kept;
  const int32_t count = P::works(slot);
#pragma unroll 1
  for (int32_t i = 0; i < count; ++i) {
    const work w = P::work_of(slot, i, cluster::row(rank), cluster::column(rank));
    if constexpr (P::b_stays)
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
template <class P> IMBREX_INLINE void release(const places<P> &at, int32_t stage, int32_t rank) {
  typedef cluster_of<P> cluster;
  const int32_t lane = warpgroup_lane();
  if constexpr (cluster::size == 1) {
    if (lane == 0) arrive(at.empty(stage));
  } else {
    const bool shares = cluster::row(lane) == cluster::row(rank) || cluster::column(lane) == cluster::column(rank);
    if (lane < cluster::size && shares) arrive_at(at.empty(stage), cluster::first(rank) + lane);
  }
}

// Sums of the warpgroup's rows: blocks of 64.
template <class P> struct sums_of {
  static constexpr int blocks = P::rows / 64 / places<P>::groups, count = P::sums;
  typedef typename P::sum type[blocks][count];
};

// d = the product of 64 rows and a part of k, and + d where it `adds` or another part has come before: of all columns,
// or, where B is block diagonal, of those of the block.  part: of K, which goes into the columns of its phase.
template <class P, class S, int N>
IMBREX_INLINE void multiply_at(S (&d)[N], int k, int row, uint64_t a, uint64_t b, bool adds, int part = 0) {
  const int column = P::column_of(k);
  P::multiply(d + (P::first_of(part) + column) / 2, a + (P::a_start(k, row) >> 4), b + (P::b_start(k, column) >> 4),
              adds || !P::begins(k));
}

// d = the tile's product over the work's steps, which are those of one part of K after the other.
//
// Consumers that multiply side by side wait for each step's products: the matrix unit has those of the others to do
// meanwhile, and a stage is free early.  One that multiplies alone has the next step's on their way before it waits.
template <class P>
IMBREX_INLINE void multiply_tile(const places<P> &at, ring<P::stages> &here, typename sums_of<P>::type &d,
                                 const work &w, int32_t warpgroup, int32_t rank) {
  const int32_t group = P::is_pingpong ? 0 : warpgroup;
  constexpr int blocks = sums_of<P>::blocks, products = P::depth / P::instruction_depth;
  const uint64_t a_first = P::a_descriptor | start_of(at.a(0) + group * (P::a_start(0, blocks * 64) - P::a_start(0, 0)));
  const uint64_t b_first = P::b_descriptor | start_of(at.b(0));
  constexpr int in_flight = P::is_pingpong || P::consumers == 1 ? 1 : 0;
  int32_t step = w.first, before = 0; // steps: at least one
#pragma unroll
  for (int part = 0; part < P::k_parts; ++part) {
    const int32_t first = step, end = P::k_parts > 1 ? first + P::steps_of(w.batch) : w.end;
#pragma unroll 1
    do {
      const uint32_t stage = uint32_t(here.stage * (places<P>::stage_bytes >> 4));
      wait(at.full(here.stage), here.round);
      if constexpr (P::has_lanes) written_for_engines();
      pin(d);
      begin_products();
#pragma unroll
      for (int k = 0; k < products; ++k)
#pragma unroll
        for (int m = 0; m < blocks; ++m)
          multiply_at<P>(d[m], k * P::instruction_depth, m * 64, a_first + stage, b_first + (P::b_stays ? 0 : stage),
                         P::goes_on(part) || step > first, part);
      end_products();
      if constexpr (P::is_pingpong)
        if (step + 1 == w.end) arrive_as_warp(at.turn(1 - warpgroup));
      wait_products<in_flight>();
      if (in_flight == 0 || step > w.first) release(at, in_flight ? before : here.stage, rank);
      before = here.stage;
      here.next();
    } while (++step < end);
  }
  if constexpr (in_flight > 0) {
    wait_products<0>();
    release(at, before, rank);
  }
  pin(d);
}

// Partial sums of a shared tile: sent to the tile's owner, or added by it.  True where this consumer has the whole tile
// to store.  Where tiles are split evenly, all who share one wait for each other, and each stores a part of it.
template <class P>
IMBREX_INLINE bool share_tile(const P &p, typename sums_of<P>::type &d, const work &w, int32_t slot, int32_t rank,
                              int32_t group) {
  constexpr int size = cluster_of<P>::size;
  if constexpr (P::splits_evenly) {
    if (w.last - w.next == 1) return true;
    send(p.partial_of(slot * size + rank), d, group);
    meet_sharers(p.flag_of(w.next * size + rank), w.last - w.next, group);
    store_part(p, w, slot, size, rank, group);
    return false;
  }
  if (w.sends) {
    send(p.partial_of(slot * size + rank), d, group);
    signal(p.flag_of(slot * size + rank), group);
    return false;
  }
#pragma unroll 1
  for (int32_t other = w.next; other < w.last; ++other)
    receive(p.partial_of(other * size + rank), p.flag_of(other * size + rank), d, group);
  return true;
}

// What the epilogue of a tile reads beside the sums.
template <class P> using further_of = typename P::template further<sums_of<P>::blocks, part_of<P>::columns / 2>;

// Of a tile that a cluster shares: sends this part's sums, and stores the columns that are this workgroup's.  Each
// workgroup has one tile, so that the ring stays free.
template <class P>
IMBREX_INLINE void collect_tile(const P &p, const places<P> &at, staging &out, further_of<P> &more,
                                const typename sums_of<P>::type &d, const work &own, int32_t rank, int32_t group) {
  constexpr int size = cluster_of<P>::size, blocks = sums_of<P>::blocks;
  typedef collection<P, blocks> sums;
  static_assert(P::consumers * P::parts * sums::bytes <= places<P>::staging, "the ring has room for all sums");
  const int32_t part = rank / size, first = rank % size;
  const sums from = {at.memory + group * P::parts * sums::bytes};
  meet_warpgroup(group);
  if (warpgroup_lane() < P::parts) arrive_at(at.vacated(), first + warpgroup_lane() * size);
  wait(at.vacated(), 0);
  send_sums(from, at.collected(group), d, part, first, size);
  typename P::sum total[blocks][sums::sums];
  collect(from, at.collected(group), total);
  const part_of<P> narrow = {p};
#pragma unroll
  for (int m = 0; m < blocks; ++m) store_rows(narrow, out, more, m, total[m], own, (group * blocks + m) * 64);
}

template <class P>
IMBREX_INLINE void consume(const P &p, const places<P> &at, int32_t slot, int32_t rank, int32_t warpgroup) {
  typedef cluster_of<P> cluster;
  constexpr int blocks = sums_of<P>::blocks;
  const int32_t group = P::is_pingpong ? 0 : warpgroup;
  const int32_t count = P::works(slot);
  ring<P::stages> here;
  staging out = {at.pieces(warpgroup), warpgroup};
  typename sums_of<P>::type d;
  if constexpr (P::parts > 1)
    if (warpgroup_lane() == 0) expect_sums<P, blocks>(at.collected(group));
  uint32_t turn = warpgroup == 0; // the first consumer need not wait for its first turn
  stay kept;
#pragma unroll 1
  for (int32_t i = 0; i < count; ++i) {
    const work w = P::work_of(slot, i, cluster::row(rank), cluster::column(rank));
    if constexpr (P::b_stays)
      if (kept.moves(w)) {
        if (i > 0 && warpgroup_lane() == 0) arrive(at.b_left());
        wait(at.b_there(), kept.round);
      }
    if constexpr (P::is_pingpong) {
      if (i % 2 != warpgroup) {
        here.skip(w.end - w.first);
        continue;
      }
    }
    further_of<P> more;
    work own = w; // what it stores: of a tile that a cluster shares, the columns that are its own
    own.column_tile = w.column_tile * P::parts + (P::parts > 1 ? rank / cluster::size : 0);
    more.load_ahead(p, w.batch, w.row_tile * P::rows + group * blocks * 64, own.column_tile * part_of<P>::columns);
    if constexpr (P::is_pingpong) {
      wait(at.turn(warpgroup), turn);
      turn ^= 1;
    }
    multiply_tile<P>(at, here, d, w, warpgroup, rank);
    if constexpr (P::shares_tiles)
      if (!share_tile<P>(p, d, w, slot, rank, group)) continue;
    if constexpr (P::parts > 1) {
      collect_tile<P>(p, at, out, more, d, own, rank, group);
    } else {
#pragma unroll
      for (int m = 0; m < blocks; ++m) store_rows(p, out, more, m, d[m], w, (group * blocks + m) * 64);
    }
  }
  wait_pieces_read<P>();
}

// What a workgroup of a kernel does.
template <order Order = order::after_all, class P> IMBREX_INLINE void run(const P &p) {
  const places<P> at = {shared_address(shared_memory)};
  const int32_t number = warpgroup(), rank = cluster_of<P>::workgroups > 1 ? int32_t(cluster_rank()) : 0;
  const int32_t slot = P::slot_of(int32_t(blockIdx.x) / cluster_of<P>::size);
  constexpr int tellers = cluster_of<P>::rows + cluster_of<P>::columns - 1; // workgroups that read a stage's tiles
  if (threadIdx.x == 0) {
    make_barriers(at, tellers * places<P>::groups);
    p.prefetch_maps();
  }
  if constexpr (cluster_of<P>::workgroups > 1)
    meet_cluster();
  else
    __syncthreads();
  begin_in_order<Order>();
  if (number == P::consumers) {
    become_producer<P>();
    if (P::has_lanes || warpgroup_lane() == 0) produce(p, at, slot, rank);
  } else {
    become_consumer<P>();
    consume(p, at, slot, rank, number);
  }
  // Nobody leaves while others may still tell its barriers something.
  if constexpr (cluster_of<P>::workgroups > 1) meet_cluster();
  end_in_order<Order>();
}
} // namespace imbrex
