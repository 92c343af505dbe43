// A persistent product over pixels of groups of few channels: of each tap of a window, the blocks on the diagonal.
//
// A warp has as many filters as channels, BLOCK of either, and multiplies them at all taps with instructions of its own,
// whose operands it takes from shared memory turned.  Down a column of the image a line of the input is taken once, for
// all rows of the window: what it meets there are the last lines of the output, which the warp still has.
//
// Consumers have stages in turn, as many each, so that one consumer alone waits for a stage, and for all of its phases:
// who waits knows no more of a phase than its parity.
//
// When all steps are done, the sums of all consumers are added up in their order, where stages were.
//
// P is a kernel, as in pipeline.h; each workgroup has one tile.
#pragma once
#include "element.h"
#include "partial.h"
#include "pipeline.h"

namespace imbrex {

constexpr int diagonal_block = 16;

// Sums of a lane: of each tap, two blocks of 8 channels.
template <class P> struct diagonal_sums {
  static constexpr int taps = P::window_rows * P::window_columns, each = 8;
  typedef float type[taps][each];
  static constexpr int bytes = taps * each * warpgroup_lanes * 4;
};

// d += the products of 16 columns of the strip whose first pixel is `first`.
template <class P>
IMBREX_INLINE void multiply_columns(typename diagonal_sums<P>::type &d, uint32_t a, uint32_t b, int32_t first) {
  typedef warp_product<typename P::operand> product;
  constexpr int lines = P::strip, rows = P::window_rows, columns = P::window_columns;
  const int32_t row = int32_t(threadIdx.x) % 8, matrix = int32_t(threadIdx.x) / 8 % 4;
  const int32_t block = warpgroup_lane() / 32 * diagonal_block;
  const int32_t a_pixel = first + matrix / 2 * 8 + row, a_filter = block + matrix % 2 * 8;
  const int32_t b_pixel = first + matrix % 2 * 8 + row, b_channel = block + matrix / 2 * 8;
  uint32_t y[rows][4];
#pragma unroll
  for (int q = 0; q < lines + rows - 1; ++q) {
    const int line = q < lines ? q : lines - 1;
    uint32_t x[columns][4];
    if (q < lines) take_turned(y[q % rows], a + P::a_byte(a_pixel + q * P::line, a_filter));
#pragma unroll
    for (int i = 0; i < columns; ++i)
      take_turned(x[i], b + P::b_byte(b_pixel + line * P::line, (q - line) * columns + i, b_channel));
#pragma unroll
    for (int j = 0; j < rows; ++j)
      if (q - j >= 0 && q - j < lines)
#pragma unroll
        for (int i = 0; i < columns; ++i) {
          product::add(d[j * columns + i], y[(q - j) % rows], x[i][0], x[i][1]);
          product::add(d[j * columns + i] + 4, y[(q - j) % rows], x[i][2], x[i][3]);
        }
  }
}

// All lanes of all consumers.
template <class P> IMBREX_INLINE void meet_consumers() { meet_lanes<P::consumers * warpgroup_lanes>(1); }

// The first consumer's d = the sums of all.
template <class P>
IMBREX_INLINE void add_consumers(uint32_t memory, typename diagonal_sums<P>::type &d, int32_t group) {
  typedef diagonal_sums<P> sums;
  static_assert((P::consumers - 1) * sums::bytes <= P::pieces_offset, "the ring has room for all sums");
  const uint32_t own = memory + warpgroup_lane() * 8;
  meet_consumers<P>();
  if (group > 0)
#pragma unroll
    for (int i = 0; i < sums::taps; ++i)
#pragma unroll
      for (int j = 0; j < sums::each; j += 2)
        put_shared(own + (group - 1) * sums::bytes + (i * sums::each + j) * warpgroup_lanes * 4, bits_of(d[i][j]),
                   bits_of(d[i][j + 1]));
  meet_consumers<P>();
  if (group > 0) return;
#pragma unroll 1
  for (int other = 0; other < P::consumers - 1; ++other)
#pragma unroll
    for (int i = 0; i < sums::taps; ++i)
#pragma unroll
      for (int j = 0; j < sums::each; j += 2) {
        uint32_t x, y;
        take_shared(x, y, own + other * sums::bytes + (i * sums::each + j) * warpgroup_lanes * 4);
        d[i][j] += from_bits<float>(x), d[i][j + 1] += from_bits<float>(y);
      }
}

template <class P>
IMBREX_INLINE void store_diagonal(const P &p, const typename diagonal_sums<P>::type &d, const work &w) {
  typedef diagonal_sums<P> sums;
  const int32_t lane = warpgroup_lane(), block = lane / 32 * diagonal_block;
#pragma unroll
  for (int i = 0; i < sums::taps; ++i)
#pragma unroll
    for (int j = 0; j < sums::each; ++j) {
      const int32_t row = w.row_tile * P::rows + P::sum_row(lane, j);
      const int32_t column = i * P::channels + block + P::sum_column(lane, j);
      if (p.c_exists(w.batch, row, column)) *p.c_at(w.batch, row, column) = d[i][j];
    }
}

// Products of a stage's pixels, 16 columns after the other.
template <class P> struct by_columns {
  IMBREX_MEMBER void multiply(typename diagonal_sums<P>::type &d, uint32_t a, uint32_t b, int32_t) {
#pragma unroll 1
    for (int32_t first = 0; first < P::line; first += 16) multiply_columns<P>(d, a, b, first);
  }
};

template <class Pixels, class P>
IMBREX_INLINE void consume_steps(const P &p, const addresses<P> &at, int32_t slot, int32_t group) {
  static_assert(P::stages % P::consumers == 0, "a stage is always the same consumer's");
  typename diagonal_sums<P>::type d = {};
  Pixels pixels;
  const work w = P::work_of(slot, 0, 0, 0);
  ring<P::stages> here;
  here.skip(group);
#pragma unroll 1
  for (int32_t step = w.first + group; step < w.end; step += P::consumers) {
    uint32_t a = at.a(here.stage), b = at.b(here.stage);
    wait(at.full(here.stage), here.round);
    pixels.multiply(d, a, b, step);
    __syncwarp();
    arrive_as_warp(at.empty(here.stage));
    here.skip(P::consumers);
  }
  add_consumers<P>(at.memory, d, group);
  if (group == 0) store_diagonal(p, d, w);
}

// Pixels: how those of a step are multiplied, by_columns or one of planes.h.
template <class P, class Pixels> struct split_steps {
  IMBREX_INLINE void produce(const P &p, const addresses<P> &at, int32_t slot, int32_t rank) { fill_ring(p, at, slot, rank); }
  IMBREX_INLINE void consume(const P &p, const addresses<P> &at, int32_t slot, int32_t, int32_t group) {
    consume_steps<Pixels>(p, at, slot, group);
  }
};
} // namespace imbrex
