// Consumers of windows, line by line: each line of pixels comes into shared memory once, and is multiplied
// by all rows of the window at a time.
//
// A line gives something to as many lines of the result as a window has rows.  Their sums lie side by side in a
// consumer's registers, the `slots`, and the rows of the filter side by side in B's columns, such that one instruction
// adds to all of them.  Line r of the result has slot -r modulo `slots`; step s reads line s of those that a tile's
// windows want, and row s - r of the window belongs to line r.  So slot i wants row (s + i) modulo `slots`, which are
// neighbours in 2 * slots - 1 rows of the filter one after the other, from s modulo `slots` on.  Line s - slots + 1 is
// done after step s.
//
// All lines of all tiles with the same part of the filter are one row, which the consumers of the workgroups that keep
// that part cut into streams of one length: no consumer waits at the end for another.  A stream is a part of a tile, whole
// tiles, a part of a tile.  Each consumer has a ring of its own, which a warp of the producing warpgroup keeps filled.
// Lines that do not exist are neither loaded nor multiplied.  What is read behind a line is zero.
//
// Pingpong consumers multiply in turn, a line each: the matrix unit would give all that multiply at a time as much, so
// that they would end together, and leave it alone while they store.
//
// P is a kernel, as in pipeline.h.
#pragma once
#include "pipeline.h"
#include "store.h"

namespace imbrex {

// Sums of a lane: of each block of 64 pixels of a line, of each block of a diagonal filter, the slots.
template <class P> struct line_sums {
  static constexpr int blocks = P::line_rows / 64, each = P::columns / P::diagonal / 2;
  typedef typename P::sum type[blocks * P::diagonal][P::slots * each];
};

// The lines of a stream, tile by tile: those of the result from `first` on, `count` of them, of which windows want
// slots - 1 more.
template <class P> struct line_stream {
  int32_t slot, line, end; // of all tiles
  work w = {};
  int32_t first = 0, count = 0;

  IMBREX_MEMBER line_stream(int32_t slot, int32_t group)
      : slot(slot), line(P::first_line(slot, group)), end(P::first_line(slot, group + 1)) {}
  // Goes on to the next tile, if there is one.
  IMBREX_MEMBER bool next() {
    if (line >= end) return false;
    w = P::tile_of(P::unit_of(slot, line / P::tile_lines), 0, 0);
    first = line % P::tile_lines;
    count = P::tile_lines - first < end - line ? P::tile_lines - first : end - line;
    line += count;
    return true;
  }
  IMBREX_MEMBER int32_t steps_end() const { return first + count + P::slots - 1; }
  // Is the line of a step to be read, and that of the result the stream's own?
  IMBREX_MEMBER bool wants(int32_t step) const {
    return step >= first && step < steps_end() && P::line_exists(w.batch, w.row_tile, step);
  }
  IMBREX_MEMBER bool owns(int32_t line) const { return line >= first && line < first + count; }
};

// Brings the filter, as one lane.
template <class P> IMBREX_INLINE void produce_filter(const P &p, const addresses<P> &at, int32_t slot) {
  const work w = P::tile_of(P::unit_of(slot, 0), 0, 0);
  arrive_expecting(at.b_there(), P::b_copied_bytes);
  p.load_b(at.b(0), at.b_there(), w.batch, w.column_tile, 0, 0, 0);
}

// Fills the ring of a consumer, as one lane.
template <class P> IMBREX_INLINE void produce_lines(const P &p, const addresses<P> &at, int32_t slot, int32_t group) {
  const addresses<P> own = at.of_ring(group);
  ring<P::stages> here;
  line_stream<P> stream(slot, group);
#pragma unroll 1
  while (stream.next()) {
    const work &w = stream.w;
#pragma unroll 1
    for (int32_t step = stream.first; step < stream.steps_end(); ++step) {
      if (!stream.wants(step)) continue;
      wait(own.empty(here.stage), here.round ^ 1);
      arrive_expecting(own.full(here.stage), P::copied_bytes);
      p.load_a(own.a(here.stage), own.full(here.stage), w.batch, w.row_tile, step, 0, 0);
      here.next();
    }
  }
}

// d += the product of a line, of a step whose number is `Phase` modulo `slots`.
template <class P, int Phase>
IMBREX_INLINE void multiply_line(typename line_sums<P>::type &d, uint64_t a, uint64_t b) {
  constexpr int products = P::depth / P::instruction_depth;
#pragma unroll
  for (int i = 0; i < products; ++i)
#pragma unroll
    for (int m = 0; m < line_sums<P>::blocks; ++m) {
      const int k = i * P::instruction_depth, block = P::block_of(k);
      P::multiply(d[m * P::diagonal + block], a + (P::a_start(k, m * 64) >> 4),
                  b + (P::b_start(P::b_row(k), P::b_column(block, Phase)) >> 4), true);
    }
}

// The line of the result whose sums are complete goes to memory, if it is the stream's, and its slot begins anew.
template <class P>
IMBREX_INLINE void finish_line(const P &p, staging &out, typename line_sums<P>::type &d, const work &w, int32_t line,
                               int slot, bool is_own) {
  constexpr int each = line_sums<P>::each;
#pragma unroll
  for (int m = 0; m < line_sums<P>::blocks; ++m) {
    typename P::sum x[P::columns / 2];
#pragma unroll
    for (int i = 0; i < P::columns / 2; ++i) {
      typename P::sum &from = d[m * P::diagonal + i / each][slot * each + i % each];
      x[i] = from;
      from = 0;
    }
    if (is_own) store_rows(p, out, x, w, line * P::line_rows + m * 64);
  }
}

// Where a consumer is: its ring, its pieces, and which turn it is at.
template <class P> struct line_consumer {
  int32_t group;
  staging out;
  uint32_t turn;
  ring<P::stages> here;

  IMBREX_MEMBER void wait_for_turn(const addresses<P> &at) {
    if constexpr (P::is_pingpong) wait(at.turn(group), turn & 1);
    ++turn;
  }
  IMBREX_MEMBER void pass_turn(const addresses<P> &at) const {
    if constexpr (P::is_pingpong) arrive_as_warp(at.turn(group + 1 < P::consumers ? group + 1 : 0));
  }
};

template <class P, int Phase>
IMBREX_INLINE void consume_line(const P &p, const addresses<P> &at, line_consumer<P> &c,
                                typename line_sums<P>::type &d, const line_stream<P> &stream, int32_t step) {
  if (stream.wants(step)) {
    const addresses<P> own = at.of_ring(c.group);
    const uint64_t a = P::a_descriptor | start_of(own.a(c.here.stage)), b = P::b_descriptor | start_of(at.b(0));
    wait(own.full(c.here.stage), c.here.round);
    c.wait_for_turn(at);
    pin(d);
    begin_products();
    multiply_line<P, Phase>(d, a, b);
    end_products();
    c.pass_turn(at);
    wait_products<0>();
    if (warpgroup_lane() == 0) arrive(own.empty(c.here.stage));
    pin(d);
    c.here.next();
  }
  const int32_t line = step - (P::slots - 1);
  finish_line(p, c.out, d, stream.w, line, P::slots - 1 - Phase, stream.owns(line));
}

// The steps from `Phase` on, of as many as there are slots.  All are gone through, wanted or not: where paths part on
// which sums have changed, the compiler moves sums from register to register.
template <class P, int Phase>
IMBREX_INLINE void consume_lines(const P &p, const addresses<P> &at, line_consumer<P> &c,
                                 typename line_sums<P>::type &d, const line_stream<P> &stream, int32_t step) {
  if constexpr (Phase < P::slots) {
    consume_line<P, Phase>(p, at, c, d, stream, step);
    consume_lines<P, Phase + 1>(p, at, c, d, stream, step + 1);
  }
}

template <class P>
IMBREX_INLINE void consume_stream(const P &p, const addresses<P> &at, int32_t slot, int32_t group) {
  line_consumer<P> c = {group, {at.pieces(group), group}, group == 0}; // the first need not wait for its first turn
  line_stream<P> stream(slot, group);
  typename line_sums<P>::type d;
  wait(at.b_there(), 0);
#pragma unroll 1
  while (stream.next()) {
#pragma unroll
    for (int m = 0; m < line_sums<P>::blocks * P::diagonal; ++m)
#pragma unroll
      for (int j = 0; j < P::slots * line_sums<P>::each; ++j) d[m][j] = 0;
#pragma unroll 1
    for (int32_t step = stream.first / P::slots * P::slots; step < stream.steps_end(); step += P::slots)
      consume_lines<P, 0>(p, at, c, d, stream, step);
  }
  if constexpr (P::is_pingpong) {
#pragma unroll 1
    while (c.turn < P::most_turns + (group == 0)) { // others may have more lines
      c.wait_for_turn(at);
      __syncwarp(); // else a lane that lags could miss its turn: no product holds the others back
      c.pass_turn(at);
    }
  }
  wait_pieces_read<P>();
}

template <class P> struct streams {
  IMBREX_INLINE void produce(const P &p, const addresses<P> &at, int32_t slot, int32_t) {
    const int32_t group = warpgroup_lane() / 32;
    static_assert(P::consumers < 4, "a warp for each consumer, and one for the filter");
    if (warpgroup_lane() % 32 != 0) return;
    if (group < P::consumers) produce_lines(p, at, slot, group);
    if (group == P::consumers) produce_filter(p, at, slot);
  }
  IMBREX_INLINE void consume(const P &p, const addresses<P> &at, int32_t slot, int32_t, int32_t group) {
    consume_stream(p, at, slot, group);
  }
};
} // namespace imbrex
