// The planes of pixels that the gradients of filters are summed of, of a workgroup: see filter_sums.h.
//
// Some rows of both arrays are brought into planes, widened, a channel after the other, the rows of a plane `pitch` apart;
// what a stride parts stands apart, [row % SH][column % SW], so that what a tap meets is always as far from its pixel:
//   window                          [image][group][d][row % SH][column % SW][row / SH][column / SW]
//   output, of vectors of pixels    [image][lane][row][column]
//   output, of vectors of filters   [image][group][row][column][lane of the group]
//   window, of these where each filter has a channel of its own
//                                   [image][row % SH][column % SW][row / SH][column / SW][lane]
// Of these the output is read where it lies.
// So pixels are neighbours across the ends of rows, and vectors of them full where rows are short.
#pragma once
#include "grid.h"
#include "window_sizes.h"

namespace imbrex {

constexpr int planes_bytes = 131072; // that the planes of some rows may take, where several rows are taken at a time

template <class T_, int Lanes_, class H_, class X_, int Depth_, int Shared_, int Images, bool Own_> struct filter_sums_sizes {
  typedef T_ T;
  typedef H_ H;
  typedef X_ X;
  static constexpr int Lanes = Lanes_, Depth = Depth_, Shared = Shared_;
  static constexpr bool Own = Own_;
  static_assert(Lanes % Shared == 0, "a group would be cut");
  static_assert(!Own || (Depth == 1 && Shared == Lanes), "channels of their own are neighbours, as if of one group");
  static constexpr int W = width<T>, groups = Lanes / Shared, taps = H::taps * X::taps, all = Depth * taps;
  static constexpr bool by_filters = Own || Shared % W == 0 || Shared > 2 * W; // are vectors of filters, else of pixels
  static constexpr int L = round_up(Shared, W), V = L / W;                      // lanes and vectors of a group by filters
  static constexpr int step = Own ? L : 1;                                      // from a pixel of a window's plane to the next
  static constexpr int below = (H::taps - 1) * H::dilation / H::stride; // rows that a row's taps reach further
  static constexpr int pitch = X::out + (X::taps - 1) * X::dilation / X::stride;

  static constexpr int vectors(int rows) { return ((rows - 1) * pitch + X::out + W - 1) / W; }
  // A row is stored as whole vectors, whose ends the next row or nothing covers.
  static constexpr int part(int rows) { return Own ? (rows + below) * pitch * L : round_up((rows + below) * pitch, W) + W; }
  static constexpr int window_plane(int rows) { return H::stride * X::stride * part(rows); }
  // Of a lane, or by filters of a group.
  static constexpr int output_plane(int rows) {
    return Own ? 0 : by_filters ? rows * X::out * L : round_up(rows * pitch, W) + 2 * W;
  }
  static constexpr int64_t elements(int rows) {
    return int64_t(groups) * Depth * window_plane(rows) + int64_t(by_filters ? groups : Lanes) * output_plane(rows);
  }
  static constexpr int most_rows() {
    int rows = H::out;
    while (rows > 1 && elements(rows) * int64_t(sizeof(T)) > planes_bytes) --rows;
    return balanced(H::out, rows);
  }
  static constexpr int rows = most_rows();
  static constexpr int fitting = int(planes_bytes / (elements(rows) * int64_t(sizeof(T))));
  static constexpr int images = rows < H::out || fitting < 2 ? 1 : balanced(Images, at_most(Images, fitting));

  // Filters and taps at a time, with the least quarters of cycles of multiply-adds, or of loads, most of which straddle
  // lines: of several channels all taps, or of one some of them.
  struct block {
    int filters, taps;
  };
  static constexpr int taps_beside(int filters) {
    const int most = (vector_registers - 1 - filters) / filters;
    return most >= taps ? at_most(most / taps, Depth) * taps : most < 1 ? 0 : balanced(taps, most);
  }
  static constexpr int price(int filters, int some) {
    const int multiplied = 4 * filters * some, loaded = 7 * some + 4 * filters;
    return multiplied > loaded ? multiplied : loaded;
  }
  static constexpr block best() {
    block found{1, taps_beside(1)};
    int least = 0;
    for (int most = 1; most <= at_most(Shared, 12); ++most) {
      const int filters = balanced(Shared, most), some = taps_beside(filters), rest = Shared % filters;
      if (some < 1) continue;
      const int steps = some >= taps ? (Depth + some / taps - 1) / (some / taps) : Depth * ((taps + some - 1) / some);
      const int cost = steps * (Shared / filters * price(filters, some) + (rest > 0 ? price(rest, some) : 0));
      if (least == 0 || cost <= least) least = cost, found = {filters, some};
    }
    return found;
  }
  // By filters a tap is broadcast, and meets up to four vectors; or is one, of channels of their own.
  static constexpr int vectors_beside = by_filters && !Own ? balanced(V, 4) : 1;
  static constexpr int F = by_filters ? 1 : best().filters, Q = by_filters ? taps_beside(vectors_beside) : best().taps;
  static constexpr int channels = Q < taps ? 1 : Q / taps; // at a time

  // How far what a tap meets is from its pixel, taps of the next channels following.
  static constexpr int offset(int i) {
    const int y = i % taps / X::taps * H::dilation, x = i % X::taps * X::dilation;
    return i / taps * window_plane(rows) + (y % H::stride * X::stride + x % X::stride) * part(rows) + (y / H::stride * pitch + x / X::stride) * step;
  }
};

template <class Sizes> struct filter_planes : Sizes {
  typedef typename Sizes::T T;
  typedef typename Sizes::H H;
  typedef typename Sizes::X X;
  using Sizes::Shared, Sizes::Depth, Sizes::Own, Sizes::W, Sizes::L, Sizes::groups, Sizes::by_filters, Sizes::below, Sizes::pitch, Sizes::rows,
    Sizes::images;
  static constexpr int part = Sizes::part(rows), window_plane = Sizes::window_plane(rows), output_plane = Sizes::output_plane(rows);
  static constexpr int window_image = groups * Depth * window_plane;
  static constexpr int output_image = (by_filters ? groups : Sizes::Lanes) * output_plane;

  alignas(64) T windows[images * window_image];
  alignas(64) T outputs[Own ? 1 : images * output_image];

  // Some rows and columns of an array, as a part of each plane has them; those that exist.
  template <class S> struct box {
    const S *p;
    int64_t row, column;
    int rows, first_row, end_row, first_column, end_column;
  };

  // `count` channels that are `apart` to planes: pixel by pixel where these are neighbours, else turned.
  template <class S> static void fetch(const box<S> &from, int64_t apart, int count, T *to, int plane) {
    if (apart == 1 && from.column != 1) return fetch_turned(from, count, to, plane);
    for (int channel = 0; channel < count; ++channel)
      if (box<S> one = from; one.p += channel * apart, from.column == 1)
        fetch_by<1>(one, to + channel * plane);
      else if (from.column == 2)
        fetch_by<2>(one, to + channel * plane);
      else
        fetch_by<0>(one, to + channel * plane);
  }

  template <int Step, class S> static __attribute__((noinline)) void fetch_by(const box<S> &from, T *to) {
    const int64_t step = Step ? Step : from.column;
    mask_t exist[(pitch + W - 1) / W];
    for (int i = 0; i < pitch; i += W) exist[i / W] = some_lanes<W>(from.first_column - i, from.end_column - i);
    for (int r = 0; r < from.rows; ++r)
      if (const bool has = r >= from.first_row && r < from.end_row; has)
        for (int i = 0; i < pitch; i += W) store<T>(to + r * pitch + i, load_apart<T>(from.p + r * from.row + i * step, step, exist[i / W]));
      else
        for (int i = 0; i < pitch; i += W) store<T>(to + r * pitch + i, vec<T>{});
  }

  // W columns of W channels at a time, from the first that exists on.
  template <class S> static __attribute__((noinline)) void fetch_turned(const box<S> &from, int count, T *to, int plane) {
    const int begin = from.first_column < 0 ? 0 : at_most(from.first_column, pitch), end = at_most(from.end_column, pitch);
    for (int r = 0; r < from.rows; ++r, to += pitch) {
      const bool has = r >= from.first_row && r < from.end_row;
      for (int channel = 0; channel < count; ++channel)
        for (int i = 0; i < (has ? begin : pitch); i += W) store<T>(to + channel * plane + i, vec<T>{});
      for (int i = begin; has && i < pitch; i += W)
        for (int first = 0; first < count; first += W) {
          const S *const p = from.p + r * from.row + i * from.column + first;
          T *const at = to + first * plane + i;
          if (end - i >= W && count - first >= W)
            turn<true>(p, from.column, W, W, at, plane);
          else
            turn<false>(p, from.column, end - i, count - first, at, plane);
        }
    }
  }
  template <bool Whole, class S>
  static IMBREX_INLINED void turn(const S *p, int64_t step, int columns, int count, T *to, int plane) {
    const mask_t some = some_lanes<W>(0, count);
    vec<T> turned[W];
#pragma GCC unroll 16
    for (int j = 0; j < W; ++j)
      turned[j] = Whole ? load<T>(p + j * step) : j < columns ? load<T>(p + j * step, some) : vec<T>{};
    transpose<T>(turned);
#pragma GCC unroll 16
    for (int j = 0; j < W; ++j)
      if (Whole || j < count) store<T>(to + j * plane, turned[j]);
  }

  // By filters: vectors of W lanes of a group for each pixel, turned where pixels are neighbours.
  template <class S> static __attribute__((noinline)) void fetch_filters(const box<S> &from, int64_t apart, int count, T *to) {
    for (int r = 0; r < from.rows; ++r)
      for (int first = 0; first < L; first += W) {
        const mask_t some = some_lanes<W>(0, count - first);
        const S *const p = from.p + r * from.row + first * apart;
        T *const at = to + r * X::out * L + first;
        if (from.column != 1 || apart == 1) {
          for (int i = 0; i < X::out; ++i) store<T>(at + i * L, load_apart<T>(p + i * from.column, apart, some));
          continue;
        }
        for (int i = 0; i < X::out; i += W) {
          const mask_t columns = some_lanes<W>(0, X::out - i);
          vec<T> turned[W];
#pragma GCC unroll 16
          for (int j = 0; j < W; ++j) turned[j] = load<T>(p + (first + j < count ? j : 0) * apart + i, first + j < count ? columns : mask_t(0));
          transpose<T>(turned);
#pragma GCC unroll 16
          for (int j = 0; j < W; ++j)
            if (i + j < X::out) store<T>(at + (i + j) * L, turned[j]);
        }
      }
  }

  // Vectors of channels of their own, which are neighbours, of each pixel, with zeros where there are none.
  template <class S> static __attribute__((noinline)) void fetch_own(const box<S> &from, int count, T *to) {
    const int begin = from.first_column < 0 ? 0 : at_most(from.first_column, pitch);
    const int end = from.end_column < begin ? begin : at_most(from.end_column, pitch);
    for (int r = 0; r < from.rows; ++r, to += pitch * L) {
      const bool has = r >= from.first_row && r < from.end_row;
      for (int i = 0; i < (has ? begin : pitch) * L; i += W) store<T>(to + i, vec<T>{});
      if (has && count >= L) {
        const S *p = from.p + r * from.row + begin * from.column;
        for (int i = begin; i < end; ++i, p += from.column)
#pragma GCC unroll 4
          for (int first = 0; first < L; first += W) store<T>(to + i * L + first, load<T>(p + first));
      } else
        for (int i = begin; has && i < end; ++i)
          for (int first = 0; first < L; first += W)
            store<T>(to + i * L + first, load_apart<T>(from.p + r * from.row + i * from.column + first, 1, some_lanes<W>(0, count - first)));
      for (int i = end * L; has && i < pitch * L; i += W) store<T>(to + i, vec<T>{});
    }
  }

  // Behind the last row of pixels there are zeros, too: a plane's last vector may go beyond it.
  template <class S> static void fetch_output(const grid<S> &output, int image, int row, int some, int lanes, T *to) {
    if constexpr (Own) return;
    const int count = by_filters || output.step[4] ? Shared : lanes;
    for (int lane = 0; lane < lanes; lane += count) {
      const S *const p = output.at(row, 0, lane) + image * output.step[3] + lane / Shared * output.step[4];
      const box<S> from{p, output.step[0], output.step[1], some, 0, some, 0, X::out};
      if constexpr (by_filters)
        fetch_filters(from, output.step[2], count, to + lane / Shared * output_plane);
      else
        fetch(from, output.step[2], count, to + lane * output_plane, output_plane);
    }
    for (int lane = 0; !by_filters && lane < lanes; ++lane) store<T>(to + lane * output_plane + some * pitch, vec<T>{});
  }

  template <class S> static void fetch_window(const grid<S> &window, int image, int row, int some, int lanes, T *to) {
    const int many = lanes / Shared * Depth, count = window.step[2] == Depth * window.step[3] ? many : Depth;
    const auto up = [](int index, int stride) { return (index + stride - 1) / stride; };
    for (int y = 0; y < H::stride; ++y)
      for (int x = 0; x < X::stride; ++x, to += part) {
        const int top = row * H::stride + y;
        box<S> from{nullptr, H::stride * window.step[0], X::stride * window.step[1], some + below, up(window.begin[0] - top, H::stride),
                    up(window.end[0] - top, H::stride), up(window.begin[1] - x, X::stride), up(window.end[1] - x, X::stride)};
        if constexpr (Own) {
          from.p = window.at(top, x, 0) + image * window.step[4];
          fetch_own(from, lanes, to);
          continue;
        }
        for (int channel = 0; channel < many; channel += count) {
          from.p = window.at(top, x, channel / Depth) + image * window.step[4];
          fetch(from, window.step[3], count, to + channel * window_plane, window_plane);
        }
      }
  }
};
} // namespace imbrex
