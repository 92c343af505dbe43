// Consumers of a tile: all of them read every stage.
//
// Cooperative consumers share the rows of a tile, or its columns: where these are the taps of a window, all of them read
// one raster of pixels, from rows that begin anywhere, and an instruction reads several taps out of it, which lie as far
// apart as its descriptor says.  Pingpong consumers have one tile each, in turn: a consumer may begin to multiply when the
// other has issued its last step, which keeps the matrix unit busy while one of them stores.
#pragma once
#include "collect.h"
#include "consumer.h"
#include "held_tile.h"
#include "partial.h"
#include "pipeline.h"
#include "store.h"

namespace imbrex {

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
IMBREX_INLINE void multiply_tile(const addresses<P> &at, ring<P::stages> &here, typename sums_of<P>::type &d,
                                 const work &w, int32_t warpgroup, int32_t rank) {
  constexpr int blocks = sums_of<P>::blocks, products = P::depth / P::instruction_depth;
  const uint32_t own_rows = row_group<P>(warpgroup) * (P::a_start(0, blocks * 64) - P::a_start(0, 0));
  const uint32_t own_columns = column_group<P>(warpgroup) * (P::b_start(0, P::columns) - P::b_start(0, 0));
  const uint64_t a_first = P::a_descriptor | start_of(at.a(0) + own_rows);
  const uint64_t b_first = P::b_descriptor | start_of(at.b(0) + own_columns);
  constexpr int in_flight = P::is_pingpong || P::consumers == 1 ? 1 : 0;
  int32_t step = w.first, before = 0; // steps: at least one
#pragma unroll
  for (int part = 0; part < P::k_parts; ++part) {
    const int32_t first = step, end = P::k_parts > 1 ? first + P::steps_of(w.batch) : w.end;
#pragma unroll 1
    do {
      const uint32_t stage = uint32_t(here.stage * (P::stage_bytes >> 4));
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
// to store.  Where each has one such tile, all who share it wait for each other, and each stores a part of it.
template <class P>
IMBREX_INLINE bool share_tile(const P &p, typename sums_of<P>::type &d, const work &w, int32_t slot, int32_t rank,
                              int32_t group) {
  constexpr int size = cluster_of<P>::size;
  if constexpr (P::sharers > 1) {
    int32_t *flag = p.flag_of(w.next * size + rank);
    send(p.partial_of(slot * size + rank), d, group);
    meet_sharers(flag, P::sharers, group);
    store_part(p, w, slot, size, rank, group);
    leave_sharers(flag, P::sharers, group);
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
IMBREX_INLINE void collect_tile(const P &p, const addresses<P> &at, staging &out, further_of<P> &more,
                                const typename sums_of<P>::type &d, const work &own, int32_t rank, int32_t group) {
  constexpr int size = cluster_of<P>::size, blocks = sums_of<P>::blocks;
  typedef collection<P, blocks> sums;
  static_assert(P::consumers * P::parts * sums::bytes <= P::pieces_offset, "the ring has room for all sums");
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
IMBREX_INLINE void consume_tiles(const P &p, const addresses<P> &at, int32_t slot, int32_t rank, int32_t warpgroup) {
  typedef cluster_of<P> cluster;
  constexpr int blocks = sums_of<P>::blocks;
  const int32_t group = row_group<P>(warpgroup);
  const int32_t count = p.works(slot);
  ring<P::stages> here;
  staging out = {at.pieces(warpgroup), warpgroup};
  typename sums_of<P>::type d;
  if constexpr (P::parts > 1)
    if (warpgroup_lane() == 0) expect_sums<P, blocks>(at.collected(group));
  uint32_t turn = warpgroup == 0; // the first consumer need not wait for its first turn
  stay kept;
#pragma unroll 1
  for (int32_t i = 0; i < count; ++i) {
    const work w = p.work_of(slot, i, cluster::row(rank), cluster::column(rank));
    if constexpr (P::b_leaves)
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
    work own = w; // what it stores: of a tile that a cluster or consumers share, the columns that are its own
    if constexpr (P::parts > 1) own.column_tile = w.column_tile * P::parts + rank / cluster::size;
    if constexpr (P::splits_columns) own.column_tile = w.column_tile * P::consumers + warpgroup;
    more.load_ahead(p, w.batch, w.row_tile * P::rows + group * blocks * 64, own.column_tile * part_of<P>::columns);
    if constexpr (P::is_pingpong) {
      wait(at.turn(warpgroup), turn);
      turn ^= 1;
    }
    if constexpr (P::is_a_held)
      multiply_held_tile<P>(at, here, d, w, warpgroup, rank);
    else
      multiply_tile<P>(at, here, d, w, warpgroup, rank);
    if constexpr (P::shares_tiles)
      if (!share_tile<P>(p, d, w, slot, rank, group)) continue;
    if constexpr (P::parts > 1) {
      collect_tile<P>(p, at, out, more, d, own, rank, group);
    } else {
#pragma unroll
      for (int m = 0; m < blocks; ++m) store_rows(p, out, more, m, d[m], own, (group * blocks + m) * 64);
    }
  }
  wait_pieces_read<P>();
}

template <class P> struct split_tile {
  IMBREX_INLINE void produce(const P &p, const addresses<P> &at, int32_t slot, int32_t rank) { fill_ring(p, at, slot, rank); }
  IMBREX_INLINE void consume(const P &p, const addresses<P> &at, int32_t slot, int32_t rank, int32_t warpgroup) {
    consume_tiles(p, at, slot, rank, warpgroup);
  }
};
} // namespace imbrex
