// Short runs of neighbours along k as operands of product.h: windows of images of few channels that come last.
//
// K is cut into runs of Run elements which lie together in each row of A: a row of taps of a window, of all channels.  A
// run is whole words, whose last ends with less than a word of it; so K counts `padded_run` for each, and B's panel has
// zeros there.  A is read where it lies where the rows of a panel are evenly apart, as pixels of an image's row are, and
// exist whole; else its runs are copied.
#pragma once
#include "operand.h"

namespace imbrex {

template <class U, int Run> constexpr int words_of_run = (Run + unit<U>::together - 1) / unit<U>::together;
template <class U, int Run> constexpr int padded_run = words_of_run<U, Run> * unit<U>::together;

// A(k, m) = p[m * step + offset[k / padded_run] + k % padded_run].  One more offset stands behind the last.
template <class U, int Run> struct a_short_runs {
  const element_of_unit<U> *p;
  int64_t step;
  const int64_t *offset;
};
template <class U, int MR, int Run> struct a_short_run_cursor {
  typedef element_of_unit<U> E;
  static constexpr int chunk = words_of_run<U, Run>, bases = (MR + 4) / 5, at_once = passed_at_once<MR>;
  const E *base[bases];
  int64_t step;
  const int64_t *offset;
  explicit a_short_run_cursor(a_short_runs<U, Run> a) : step(a.step), offset(a.offset) {
#pragma GCC unroll 16
    for (int i = 0; i < bases; ++i) {
      base[i] = a.p + 5 * i * step + *offset;
      asm("" : "+r"(base[i])); // as of a_row_cursor
    }
  }
  const E *at(int m, int u) const { return base[m / 5] + m % 5 * step + u * unit<U>::together; }
  void advance(int) {
    const int64_t on = offset[1] - offset[0];
    ++offset;
#pragma GCC unroll 16
    for (int i = 0; i < bases; ++i) base[i] += on;
  }
};
template <int MR, class U, int Run> IMBREX_INLINE a_short_run_cursor<U, MR, Run> cursor(a_short_runs<U, Run> a) {
  return a_short_run_cursor<U, MR, Run>(a);
}

// Of floating numbers: whatever stands there, it is multiplied by zeros, which integers do not mind.
template <class U, int MR, int Run>
constexpr int cut_word<a_short_run_cursor<U, MR, Run>> = is_same<sum_of_unit<U>, float> ? Run % unit<U>::together : 0;

// Room for offsets, here and in copies, and for a copied panel of MR rows.
template <class U, int Run, int Runs, int MR> struct short_runs_room {
  int64_t offset[Runs + 1], copied_offset[Runs + 1];
  bool is_whole[max_classes];
  alignas(64) element_of_unit<U> rows[MR * Runs * padded_run<U, Run>];
};

// A view whose rows are m and whose lanes are k, in that way.
template <class U, class View, int Run, int Runs, int MR> struct a_short_runs_in_place {
  typedef element_of_unit<U> E;
  static constexpr int W = width<sum_of_unit<U>>, padded = padded_run<U, Run>;
  static_assert(View::W == W && View::V == 1 && Run <= 64, "lanes are k, one vector a panel");
  const E *src;
  const View &view;
  short_runs_room<U, Run, Runs, MR> &room;
  int64_t farthest = 0;
  a_short_runs_in_place(const E *src, const View &view, short_runs_room<U, Run, Runs, MR> &room)
      : src(src), view(view), room(room) {
    for (int i = 0; i < Runs; ++i) {
      room.offset[i] = view.lane_offset[i * Run], room.copied_offset[i] = i * padded;
      farthest = room.offset[i] > farthest ? room.offset[i] : farthest;
    }
    room.offset[Runs] = room.copied_offset[Runs] = 0;
    find_whole(view, room.is_whole);
  }

  template <int R, class Body> void visit(int row, const Body &body) {
    const int64_t step = R > 1 ? view.row_offset[row + 1] - view.row_offset[row] : 0;
    if (!lies_evenly<R>(row, step)) {
      copy<R>(row);
      return body(a_short_runs<U, Run>{room.rows, Runs * padded, room.copied_offset});
    }
    body(a_short_runs<U, Run>{src + view.row_offset[row], step, room.offset});
  }

private:
  // Are the rows whole and evenly apart, and lies in the array what the last word of a run reads beyond it?
  template <int R> bool lies_evenly(int row, int64_t step) const {
    if (view.is_wild) return false;
    int64_t strays = 0;
    bool is_whole = true;
    for (int m = 0; m < R; ++m) {
      strays |= view.row_offset[row + m] - view.row_offset[row] - m * step;
      is_whole &= room.is_whole[view.row_class[row + m]];
    }
    const int64_t end = view.row_offset[row] + (step > 0 ? (R - 1) * step : 0) + farthest + padded;
    return strays == 0 && is_whole && (padded == Run || end <= view.extent);
  }

  template <int R> __attribute__((noinline)) void copy(int row) {
    E *to = room.rows;
    for (int m = row; m < row + R; ++m)
      for (int i = 0; i < Runs; ++i, to += padded) {
        const uint64_t all = ~uint64_t(0) >> (64 - Run), some = lanes_of_row(view, m, i * Run, Run);
        const E *from = src + view.row_offset[m] + room.offset[i];
        if (some == all) {
          __builtin_memcpy(to, from, Run * sizeof(E));
          for (int j = Run; j < padded; ++j) to[j] = E{};
        } else {
          for (int j = 0; j < padded; ++j) to[j] = E{};
          for (uint64_t left = some; left; left &= left - 1) to[__builtin_ctzll(left)] = from[__builtin_ctzll(left)];
        }
      }
  }
};

// The B that such an A meets, whose runs are no whole words: IsRows, a view whose rows are n and whose lanes are k, else
// the other way round.  Packed word by word; it is small.
template <class U, int L, class S, class View, int Run, int Runs, bool IsRows> struct b_short_runs {
  typedef element_of_unit<U> E;
  static constexpr int together = unit<U>::together, k_padded = Runs * padded_run<U, Run>;
  const S *src;
  const View &view;
  E *buffer;
  template <int V, int Met = 0, class Body> void visit(int panel, const Body &body) {
    constexpr int lanes = V * width<sum_of_unit<U>>;
    pack(buffer, lanes, panel * L);
    body(b_panel<U, V>{buffer, lanes});
  }
  // The first `count` panels, `step` apart.
  void pack_all(E *panels, int64_t step, int count) {
    for (int j = 0; j < count; ++j) pack(panels + j * step, L, j * L);
  }
  const E *columns(int, int) { return nullptr; } // none are summed along k

private:
  void pack(E *dst, int lanes, int first) {
    __builtin_memset(dst, 0, int64_t(k_padded) * lanes * sizeof(E));
    const int left = (IsRows ? view.rows : view.lanes) - first, count = left < lanes ? left : lanes;
    for (int n = 0; n < count; ++n)
      for (int i = 0; i < Runs; ++i)
        for (int j = 0; j < Run; ++j) {
          const int k = i * padded_run<U, Run> + j;
          dst[(k / together * lanes + n) * together + k % together] = element(i * Run + j, first + n);
        }
  }
  E element(int k, int n) const {
    const int row = IsRows ? n : k, lane = IsRows ? k : n;
    const int v = lane / View::panel_lanes * View::V + lane % View::panel_lanes / View::W;
    const int j = lane % View::panel_lanes % View::W;
    if (!(view.mask_of(v, row) >> j & 1)) return E{};
    return src[view.row_offset[row] + view.lane_offset[v * View::W + j]];
  }
};
} // namespace imbrex
