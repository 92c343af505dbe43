// The same product as in split_steps.h, of arrays that lie plane by plane: pixels are neighbours in shared memory,
// a line of a plane in each row of it.
//
// What an instruction sums over may come in any order, if it is that of both operands: a lane has eight neighbouring
// pixels of a line in its registers, as they lie, and none are turned.  Pixels one to the left or to the right, which
// the other columns of a window want, are halves of registers of the lane and of the one beside it.
//
// P is a kernel, as in split_steps.h; its windows have three rows and columns, of which the middle ones are the pixel's own.
#pragma once
#include "split_steps.h"

namespace imbrex {

// The last pixel of `left` and the first one of `right`.
IMBREX_INLINE uint32_t pixels_between(uint32_t left, uint32_t right) { return __byte_perm(left, right, 0x5432); }

// Eight pixels as the columns of a window want them, given what lies on either side.
struct window_pixels {
  uint32_t column[3][4];

  IMBREX_MEMBER window_pixels(const uint32_t (&x)[4], uint32_t left, uint32_t right) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      column[0][i] = pixels_between(i > 0 ? x[i > 0 ? i - 1 : 0] : left, x[i]);
      column[1][i] = x[i];
      column[2][i] = pixels_between(x[i], i < 3 ? x[i < 3 ? i + 1 : 3] : right);
    }
  }
};

// Eight neighbours of a line from pixel k on, of a channel; those beyond the line's end are zeros.
template <class P> IMBREX_INLINE void take_piece(uint32_t (&x)[4], uint32_t from, int32_t k, int32_t d) {
  static_assert(P::piece == 8 || P::piece == 4, "lines begin at 16 bytes, or at 8");
  if constexpr (P::piece == 8) {
    take_shared(x[0], x[1], x[2], x[3], from + P::pixel_byte(k, d));
  } else {
    take_shared(x[0], x[1], from + P::pixel_byte(k, d));
    take_shared(x[2], x[3], from + P::pixel_byte(k + 4, d));
  }
  if constexpr (P::width < P::line) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (k % P::line + 2 * i >= P::width) x[i] = 0;
  }
}

// A line of pixels of a channel, which four lanes have, 8 in each part of the line.
template <class P> struct plane_line {
  static constexpr int pixels = 8, lanes = 4, parts = P::line / (lanes * pixels);
  static_assert(P::line == parts * lanes * pixels && P::width % 2 == 0, "four lanes have a line, in whole registers");
  uint32_t x[parts][4];

  IMBREX_MEMBER static int32_t own() { return int32_t(threadIdx.x) % lanes; }
  // The first pixel that this lane has of a part.
  IMBREX_MEMBER static int32_t first(int part) { return (part * lanes + own()) * pixels; }

  // With what the neighbours have: zeros beyond the line's ends.
  IMBREX_MEMBER window_pixels seen(int part) const {
    const int32_t row = int32_t(threadIdx.x) % 32 / lanes * lanes;
    const bool is_first = own() == 0, is_last = own() == lanes - 1;
    const uint32_t last = is_last && part > 0 ? x[part > 0 ? part - 1 : 0][3] : x[part][3];
    const uint32_t next = is_first && part + 1 < parts ? x[part + 1 < parts ? part + 1 : part][0] : x[part][0];
    const uint32_t left = __shfl_sync(0xffffffffu, last, row + (own() + lanes - 1) % lanes);
    const uint32_t right = __shfl_sync(0xffffffffu, next, row + (own() + 1) % lanes);
    return window_pixels(x[part], is_first && part == 0 ? 0 : left, is_last && part + 1 == parts ? 0 : right);
  }
};

// Lines of a channel, 16 of filters and 16 of channels, and the products of two of them.
template <class P> struct plane_products {
  typedef warp_product<typename P::operand> product;
  typedef typename diagonal_sums<P>::type sums;
  typedef plane_line<P> line_of;
  static constexpr int columns = 3, parts = line_of::parts, blocks = 2;
  static_assert(P::window_columns == columns, "a pixel and its neighbours");

  // Of 16 filters, a part of a line as two operands of an instruction.
  struct kept {
    uint32_t y[parts][2][4];
  };

  // The first filter and channel of this lane, of the warp's block.
  IMBREX_MEMBER static int32_t row() {
    return warpgroup_lane() / 32 * diagonal_block + int32_t(threadIdx.x) % 32 / line_of::lanes;
  }

  IMBREX_MEMBER static void take(kept &to, uint32_t a, int32_t line) {
#pragma unroll
    for (int part = 0; part < parts; ++part)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        uint32_t y[4];
        take_piece<P>(y, a, line * P::line + line_of::first(part), row() + i * 8);
#pragma unroll
        for (int j = 0; j < 4; ++j) to.y[part][j / 2][j % 2 * 2 + i] = y[j];
      }
  }

  IMBREX_MEMBER static void take(line_of &to, uint32_t b, int32_t line, int block) {
#pragma unroll
    for (int part = 0; part < parts; ++part)
      take_piece<P>(to.x[part], b, line * P::line + line_of::first(part), row() + block * 8);
  }

  // d += the products of a part of two lines, at the taps of row j of the window.
  IMBREX_MEMBER static void add(sums &d, const kept &y, const window_pixels &x, int part, int j, int block) {
#pragma unroll
    for (int i = 0; i < columns; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        product::add(d[j * columns + i] + block * 4, y.y[part][half], x.column[i][half * 2],
                     x.column[i][half * 2 + 1]);
  }
};

// A consumer has an image from its first line to its last, strip by strip, and keeps the line before of the input and of
// the output, which meet the next ones.
template <class P> struct by_streams {
  typedef plane_products<P> with;
  static_assert(P::window_rows == 3, "a line, and those on either side");
  typename with::kept y_before;
  typename with::line_of x_before[with::blocks];

  IMBREX_MEMBER void multiply(typename with::sums &d, uint32_t a, uint32_t b, int32_t step) {
    if (step / P::consumers % P::strips == 0) {
      y_before = {};
      x_before[0] = x_before[1] = {};
    }
#pragma unroll
    for (int q = 0; q < P::strip; ++q) {
      typename with::kept y;
      with::take(y, a, q);
#pragma unroll
      for (int block = 0; block < with::blocks; ++block) {
        typename with::line_of line;
        with::take(line, b, q, block);
#pragma unroll
        for (int part = 0; part < with::parts; ++part) {
          with::add(d, y, x_before[block].seen(part), part, 0, block);
          const window_pixels x = line.seen(part);
          with::add(d, y, x, part, 1, block);
          with::add(d, y_before, x, part, 2, block);
        }
        x_before[block] = line;
      }
      y_before = y;
    }
  }
};
} // namespace imbrex
