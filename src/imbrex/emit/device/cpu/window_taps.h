// The taps of a workgroup's windows, widened, in the order in which windows.h meets them.
#pragma once
#include "window_sizes.h"

namespace imbrex {

template <class Sizes> struct window_taps : Sizes {
  typedef typename Sizes::T T;
  typedef typename Sizes::H H;
  typedef typename Sizes::X X;
  using Sizes::AlongLanes, Sizes::Lanes, Sizes::Depth, Sizes::Shared, Sizes::W, Sizes::vectors, Sizes::L,
    Sizes::F, Sizes::blocks, Sizes::is_side_by_side, Sizes::side, Sizes::step;

  // [y][x][d][lane], or, side by side, [lane / side][d][y][x][lane % side]
  alignas(64) T taps[H::taps * X::taps * Depth * round_up(is_side_by_side ? blocks * F : L, side)];

  template <class G> void hold(const grid<G> &filter) {
    T *to = taps;
    constexpr int all = H::taps * X::taps * Depth;
    if constexpr (AlongLanes && Depth * Shared == 1 && 2 * all >= W)
      if (filter.step[1] == 1 && filter.step[0] == X::taps) return hold_lanes(filter);
    if constexpr (AlongLanes && Depth > 1 && all >= W) {
      if (filter.step[3] == 1 && filter.step[4] == 0 && filter.step[1] == Depth && filter.step[0] == X::taps * Depth) return hold_lanes(filter);
      if (filter.step[1] == 1 && filter.step[4] == 0 && filter.step[0] == X::taps && filter.step[3] == H::taps * X::taps)
        return hold_lanes<true>(filter);
    }
    for (int y = 0; y < H::taps; ++y)
      for (int x = 0; x < X::taps; ++x)
        for (int i = 0; i < Depth * vectors; ++i, to += W) {
          const int v = Depth == 1 ? i : i % vectors;
          G *p = filter.at(y, x, v * W);
          if constexpr (Depth > 1) p += i / vectors * filter.step[3];
          const mask_t lanes = some_lanes<W>(0, filter.end[2] - v * W);
          if constexpr (Shared > 1)
            if (filter.step[4]) {
              for (int j = 0; j < W; ++j)
                to[j] = lanes >> j & 1 ? T(widen(p[j * filter.step[2] + (v * W + j) / Shared * filter.step[4]])) : T(0);
              continue;
            }
          store<T>(to, AlongLanes ? load_apart<T>(p, filter.step[2], lanes) : splat(T(widen(*p))));
        }
  }

  template <class G> void hold_side_by_side(const grid<G> &filter) {
    if (filter.step[1] == 1 && filter.step[0] == X::taps && filter.step[3] == H::taps * X::taps) return hold_lanes(filter);
    T *to = taps;
    for (int first = 0; first < Lanes; first += side)
      for (int d = 0; d < Depth; ++d)
        for (int y = 0; y < H::taps; ++y)
          for (int x = 0; x < X::taps; ++x, to += side) {
            const G *const p = filter.at(y, x, first) + d * filter.step[3];
            for (int j = 0; j < side; ++j) to[j] = first + j < Lanes ? T(widen(p[j * filter.step[2]])) : T(0);
          }
  }

  // All taps of a lane are neighbours, in the order in which they are held, or d before y and x: W are turned at a time.
  template <bool DepthFirst = false, class G> void hold_lanes(const grid<G> &filter) {
    constexpr int of_channel = H::taps * X::taps, all = of_channel * Depth;
    for (int first = 0; first < Lanes; first += side)
      for (int more = 0; more < side; more += W)
        for (int i = 0; i < all; i += W) {
          vec<T> rows[W];
#pragma GCC unroll 16
          for (int j = 0; j < W; ++j) {
            const int lane = first + more + j;
            rows[j] = load<T>(filter.at(0, 0, lane) + i, lane < filter.end[2] ? some_lanes<W>(0, all - i) : mask_t(0));
          }
          transpose<T>(rows);
          T *const to = taps + first * all + more;
#pragma GCC unroll 16
          for (int j = 0; j < W; ++j)
            if (const int tap = i + j; tap < all) {
              T *const one = to + (DepthFirst ? tap % of_channel * Depth + tap / of_channel : tap) * side;
              if (side - more >= W)
                store<T>(one, rows[j]);
              else
                store<T>(one, rows[j], first_lanes(side - more));
            }
        }
  }
};
} // namespace imbrex
