// A convolution of groups of few channels: for each row, column and lane of the sums
//   c[row][column][lane] = sum over y, x and d of
//                          filter[y][x][d][lane] * window[row * SH + y * DH][column * SW + x * DW][d][lane / Shared].
// Where `Up` of an axis is not 1, it meets the row (row * SH + y * DH + shift) / Up, where that is whole: a gradient of images
// under strides, of which neighbouring rows and columns, up to Up of them, meet different taps: their phases.
// A lane is a channel that is written, d counts the channels of its group that are read, and `Shared` neighbouring lanes
// are of one group.  Depthwise, both are 1.
//
// Vectors run along lanes, channels that come last, or along columns, of one lane or of several that read the same: then
// F of them are summed side by side, by what is loaded once for all.  The rows of the window that some rows of sums need
// stand in a ring, widened to the type of the sums, with zeros for what does not exist; along columns a stride's columns
// stand apart, those of one remainder together, so that what a tap multiplies are always neighbours:
//   along lanes                  ring[row][column][lane], of groups of several channels turned for each d when it is read
//   or, where nothing turns it   ring[row][column][d][lane], a channel once for each lane that reads it
//   where all are of one group   ring[row][column][d]
//   along columns                ring[row][d][column % SW][column / SW]
// Either way a tap of a vector is one load at a distance that is known when this is compiled.
//
// Vectors along lanes of arrays whose columns are neighbours, `Planes`, are turned, W columns of W channels at a time, on
// their way into the ring and out of the sums: small images, whose rows would fill no vector.
#pragma once
#include "extent.h"
#include "grid.h"

namespace imbrex {

// An axis of windows: `out` of them, `stride` apart, with taps `dilation` apart.  -Up < shift <= 0.
template <int Out, int Taps, int Stride, int Dilation, int Up = 1, int Shift = 0> struct slide {
  static constexpr int out = Out, taps = Taps, stride = Stride, dilation = Dilation, up = Up, shift = Shift;
  static_assert(Up == 1 || Stride == 1, "phases are of neighbours");
  // Up to the last element that so many sums, from the first one of a phase on, meet.
  static constexpr int extent_of(int sums) { return ((sums - 1) * Stride + (Taps - 1) * Dilation + Shift) / Up + 1; }
  static constexpr int extent = extent_of(Out);
  // The element that tap x of sum p meets, where it meets one.
  static constexpr bool meets(int p, int x) { return Up == 1 || (p * Stride + x * Dilation + Shift) % Up == 0; }
  static constexpr int met(int p, int x) { return (p * Stride + x * Dilation + Shift) / Up; }
  // The tap by which sum p meets element i, or -1.
  static constexpr int tap(int p, int i) {
    const int from = i * Up - p * Stride - Shift;
    return from >= 0 && from % Dilation == 0 && from / Dilation < Taps ? from / Dilation : -1;
  }
  // The first element that sum p meets, or one before it; and one behind the last.
  static constexpr int first(int p) { return (p * Stride + Shift + Up - 1) / Up; }
  static constexpr int end(int p) { return (p * Stride + (Taps - 1) * Dilation + Shift) / Up + 1; }
};

template <class T_, bool AlongLanes_, int Lanes_, class H_, class X_, int Depth_, int Shared_, bool Planes_, bool InPlace_>
struct window_sizes {
  typedef T_ T;
  typedef H_ H;
  typedef X_ X;
  static constexpr bool AlongLanes = AlongLanes_, Planes = Planes_;
  static constexpr int Lanes = Lanes_, Depth = Depth_, Shared = Shared_;
  static_assert(AlongLanes || !Planes, "along columns nothing is turned");
  static_assert(AlongLanes || Shared == Lanes, "lanes of several groups read different columns");
  static_assert(Shared == Lanes || Lanes % Shared == 0, "a group would be cut");
  static constexpr int W = width<T>, registers = vector_bytes == 32 ? 10 : 24;
  static constexpr bool is_one_group = AlongLanes && Shared == Lanes;
  static constexpr bool is_several = AlongLanes && !is_one_group && Depth * Shared > 1; // groups in a vector
  static constexpr int read_lanes = W / Shared * Depth;                                 // of one vector
  static constexpr bool is_whole = W % Shared == 0 && read_lanes <= W;                  // all out of one
  static constexpr bool is_turned = is_several && is_whole && turns_lanes<T>, is_spread = is_several && !is_turned;
  static constexpr int vectors = (Lanes + W - 1) / W, L = vectors * W;       // of lanes
  static constexpr int run = AlongLanes ? X::up : W * X::up; // sums of a row, as whole phases
  static constexpr int along = AlongLanes ? X::out : (X::out + run - 1) / run * X::up; // vectors of a row of sums
  static constexpr int F = AlongLanes ? 1 : balanced(Lanes, vector_bytes == 32 ? 4 : 8); // lanes that columns meet at a time
  static constexpr int blocks = (Lanes + F - 1) / F; // of F lanes
  static constexpr bool is_side_by_side = !AlongLanes && Lanes > 1;
  static constexpr int side = is_side_by_side ? F * at_most(W > F ? W / F : 1, blocks) : L; // lanes whose taps lie together
  static constexpr int P = whole_units(along, AlongLanes ? registers / 2 + 2 : at_most(registers / F, 4), X::up); // of these at a time
  static constexpr bool is_written_out = H::taps * X::taps <= 64;
  static constexpr int by_code = 640 / (P * H::taps * X::taps); // rows of which the code stays short
  static constexpr int most_rows = registers / P < by_code ? registers / P : by_code;
  static constexpr int rows_at_once = is_side_by_side ? registers / (P * F) : AlongLanes || !is_written_out ? 1 : most_rows;
  static constexpr bool is_row_by_row = rows_at_once < (H::up > 1 ? H::up : 2) || (is_side_by_side && H::up > 1);
  static constexpr int row_unit = is_row_by_row ? 1 : H::up, R = is_row_by_row ? 1 : whole_units(H::out, rows_at_once, H::up);
  static constexpr bool is_shared_along = AlongLanes && is_written_out && P + X::taps < (vector_bytes == 32 ? 15 : 30);
  static constexpr bool has_no_ring = InPlace_ && is_shared_along && Lanes % W == 0;
  static constexpr int reach = X::up == 1 ? (X::taps - 1) * X::dilation / X::stride : X::extent_of(X::up) - 1; // of a vector
  static constexpr int apart = round_up(along / X::up * W + reach, W); // of one remainder
  static constexpr int fetched = round_up((X::extent + X::stride - 1) / X::stride, W); // of these, that some sum meets
  static constexpr int deep = is_one_group ? 1 : AlongLanes ? L : X::stride * apart;             // from d to the next
  static constexpr int column_size = is_turned ? L : Depth * deep;                               // along lanes
  static constexpr int step = AlongLanes ? X::stride * column_size : W; // from a vector of sums of one phase to the next
  static constexpr int row_size = round_up(AlongLanes ? X::extent * column_size : Depth * deep, W);
  static constexpr int ring_rows = ((R - 1) * H::stride + (H::taps - 1) * H::dilation) / H::up + 1;

  // Where tap x meets vector p of a row of sums, in a row of the ring; -1 where it does not.
  static constexpr int place(int p, int x) {
    const int column = x * X::dilation, phase = p % X::up;
    if (!X::meets(phase, x)) return -1;
    if (AlongLanes) return X::met(p, x) * column_size;
    return X::up > 1 ? X::met(phase, x) + p / X::up * W : column % X::stride * apart + column / X::stride + p * W;
  }
};
} // namespace imbrex
