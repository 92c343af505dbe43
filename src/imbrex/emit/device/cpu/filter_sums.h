// The gradient of the filters of groups of few channels, of a workgroup: for each tap, channel d and lane
//   c[y][x][d][lane] = sum over images, rows and columns of output[image][row][column][lane] *
//                      window[image][row * SH + y * DH][column * SW + x * DW][d][lane / Shared].
// A lane is a filter, d counts the channels of its group, and `Shared` neighbouring lanes are of one group.
//
// Vectors run along filters where these fill them, else along pixels.  Along pixels F filters meet Q taps at a time, whose
// sums stay in registers, and whose lanes are added up at the end; only those lanes are read that are pixels, for a product
// with zero could be NaN.  Along filters each of Q taps is broadcast; or, where each filter has a channel of its `Own` and all
// lie side by side, they are a vector: lanes count as one group.
#pragma once
#include "filter_planes.h"

namespace imbrex {

// The lanes of each vector of a plane that are pixels, where it has as many rows as that takes.
template <class Sizes, int Out> struct pixel_masks {
  mask_t lanes[Sizes::vectors(Sizes::rows)];
  constexpr pixel_masks() : lanes() {
    for (int i = 0; i < Sizes::vectors(Sizes::rows) * Sizes::W; ++i)
      lanes[i / Sizes::W] |= mask_t(i % Sizes::pitch < Out) << i % Sizes::W;
  }
};

template <class T, int Lanes, class H, class X, int Depth, int Shared, int Images, bool Own = false>
struct filter_sums : filter_planes<filter_sums_sizes<T, Lanes, H, X, Depth, Shared, Images, Own>> {
  typedef filter_sums_sizes<T, Lanes, H, X, Depth, Shared, Images, Own> Sizes;
  typedef filter_planes<Sizes> Planes;
  using Sizes::W, Sizes::L, Sizes::V, Sizes::groups, Sizes::by_filters, Sizes::taps, Sizes::all, Sizes::pitch, Sizes::rows,
    Sizes::images, Sizes::F, Sizes::Q, Sizes::channels, Sizes::vectors_beside, Sizes::offset;
  using Planes::window_plane, Planes::output_plane, Planes::window_image, Planes::output_image;
  static constexpr pixel_masks<Sizes, X::out> pixels{};

  alignas(64) T sums[(by_filters ? groups * L : Lanes) * all + W]; // [lane][d][y][x], by filters [group][d][y][x][lane]

  template <class S, class D> void run(const grid<S> &output, const grid<S> &window, const grid<D> &c) {
    const int lanes = c.end[2] < Lanes ? c.end[2] : Lanes;
    for (T &sum : sums) sum = T(0);
    if constexpr (Own && is_same<S, const T> && taps <= most_in_place)
      if (lanes == L && window.step[2] == 1 && output.step[2] == 1 && stays_near<T>(window.step[1], H::taps, X::extent, X::taps)) {
        for (int image = 0; image < Images; ++image)
          for (int v = 0; v < V; ++v) add_in_place(output, window, image, v);
        return put(c, lanes);
      }
    for (int image = 0; image < Images; image += images)
      for (int row = 0; row < H::out; row += rows) {
        const int some_images = at_most(images, Images - image), some_rows = at_most(rows, H::out - row);
        for (int i = 0; i < some_images; ++i) {
          this->fetch_output(output, image + i, row, some_rows, lanes, this->outputs + i * output_image);
          this->fetch_window(window, image + i, row, some_rows, lanes, this->windows + i * window_image);
        }
        for (int lane = 0; lane < lanes; lane += Shared) {
          constexpr int beside = by_filters ? vectors_beside : F, many = by_filters ? V : Shared, whole = many / beside * beside;
          const auto met = met_by(output, image, row, some_rows, lane, lanes);
          for (int i = 0; i < whole; i += beside) add_channels<beside>(met, lane, i, some_images);
          if constexpr (whole < many) add_channels<many - whole>(met, lane, whole, some_images);
        }
      }
    put(c, lanes);
  }

private:
  // Taps whose distances stay in registers.
  static constexpr int most_in_place = 12;

  // Outputs of which a tap meets pixels that exist.
  struct range {
    int begin, end;
  };
  static range met_by_tap(int begin, int end, int tap, int stride, int out) {
    const auto up = [&](int x) { return x < tap ? 0 : at_most((x - tap + stride - 1) / stride, out); };
    return {up(begin), up(end)};
  }

  // Vector v of channels of their own, whose arrays are read where they lie: all taps of what meets all of them, then taps of
  // a row or of a column of the window at the edges that others lie beyond, and single ones at the corners.
  __attribute__((noinline)) void add_in_place(const grid<const T> &output, const grid<const T> &window, int image, int v) {
    range rows[H::taps], columns[X::taps], inner{0, H::out}, middle{0, X::out};
    for (int y = 0; y < H::taps; ++y) {
      rows[y] = met_by_tap(window.begin[0], window.end[0], y * H::dilation, H::stride, H::out);
      inner = {rows[y].begin > inner.begin ? rows[y].begin : inner.begin, at_most(rows[y].end, inner.end)};
    }
    for (int x = 0; x < X::taps; ++x) {
      columns[x] = met_by_tap(window.begin[1], window.end[1], x * X::dilation, X::stride, X::out);
      middle = {columns[x].begin > middle.begin ? columns[x].begin : middle.begin, at_most(columns[x].end, middle.end)};
    }
    if (inner.begin >= inner.end) inner = {0, 0};
    if (middle.begin >= middle.end) middle = {0, 0};
    const in_place at{output.p + image * output.step[3] + v * W, window.p + image * window.step[4] + v * W, output, window, sums + v * W};
    add_all<0>(at, inner, middle);
    for (int y = 0; y < H::taps; ++y)
      for (int side = 0; side < 2; ++side) {
        const range outer = side == 0 ? range{rows[y].begin, inner.begin} : range{inner.end, rows[y].end};
        add_met<0, X::taps, 1>(at, y * X::taps, outer, middle);
        for (int x = 0; x < X::taps; ++x) {
          add_met<0, 1, 1>(at, y * X::taps + x, outer, {columns[x].begin, middle.begin});
          add_met<0, 1, 1>(at, y * X::taps + x, outer, {middle.end, columns[x].end});
        }
      }
    for (int x = 0; x < X::taps; ++x) {
      add_met<0, H::taps, X::taps>(at, x, inner, {columns[x].begin, middle.begin});
      add_met<0, H::taps, X::taps>(at, x, inner, {middle.end, columns[x].end});
    }
  }
  struct in_place {
    const T *dy, *x;
    const grid<const T> &output, &window;
    T *sums;
  };
  template <int First> static void add_all(const in_place &at, range rows, range columns) {
    constexpr int some = at_most(Q, taps - First);
    add_met<First, some, 1>(at, 0, rows, columns);
    if constexpr (First + some < taps) add_all<First + some>(at, rows, columns);
  }
  // Count taps from `from` + First on, Step apart, of some rows and columns of outputs.
  template <int First, int Count, int Step>
  static __attribute__((noinline)) void add_met(const in_place &at, int from, range rows, range columns) {
    if (rows.begin >= rows.end || columns.begin >= columns.end) return;
    vec<T> found[Count] = {};
    int64_t offset[Count];
    for (int i = 0; i < Count; ++i) {
      const int tap = from + First + i * Step;
      offset[i] = tap / X::taps * H::dilation * at.window.step[0] + tap % X::taps * X::dilation * at.window.step[1];
    }
    const int64_t dy_step = at.output.step[1], x_step = X::stride * at.window.step[1];
    for (int row = rows.begin; row < rows.end; ++row) {
      const T *dy = at.dy + row * at.output.step[0] + columns.begin * dy_step;
      const T *x = at.x + row * H::stride * at.window.step[0] + columns.begin * x_step;
      for (int column = columns.begin; column < columns.end; ++column, dy += dy_step, x += x_step) {
        const vec<T> met = load<T>(dy);
#pragma GCC unroll 32
        for (int i = 0; i < Count; ++i) {
          found[i] = load<T>(x + offset[i]) * met + found[i];
          IMBREX_PIN(found[i]);
        }
      }
    }
    for (int i = 0; i < Count; ++i) {
      T *const to = at.sums + (from + First + i * Step) * L;
      store<T>(to, load<T>(to) + found[i]);
    }
  }

  // Some rows of the outputs of a group: vectors of pixels, or pixels of vectors, of which `lanes` exist.
  template <class E> struct rows_met {
    const E *p;
    int64_t image, row, column;
    int rows, lanes;
  };
  template <class S> auto met_by(const grid<S> &output, int image, int row, int some, int lane, int lanes) const {
    if constexpr (Own)
      return rows_met<S>{output.at(row, 0, 0) + image * output.step[3], output.step[3], output.step[0], output.step[1], some, lanes};
    else
      return rows_met<T>{this->outputs + (by_filters ? lane / Shared : lane) * output_plane, output_image, X::out * L, L, some, L};
  }

  // The filters of a group from the first on, or vectors of them, stay in the nearest cache, and all channels pass.
  template <int Beside, class E> void add_channels(const rows_met<E> &met, int lane, int first, int some_images) {
    constexpr int whole = Depth / channels * channels;
    for (int d = 0; d < whole; d += channels) add_taps<Beside, 0, channels>(met, lane, first, d, some_images);
    if constexpr (whole < Depth) add_taps<Beside, 0, Depth - whole>(met, lane, first, whole, some_images);
  }
  template <int Beside, int First, int Channels, class E>
  void add_taps(const rows_met<E> &met, int lane, int first, int d, int some_images) {
    constexpr int some = Q >= taps ? Channels * taps : at_most(Q, taps - First);
    if constexpr (by_filters)
      add_filters<Beside, First, some>(met, lane, first, d, some_images);
    else
      add_pixels<Beside, First, some>(met, lane, first, d, some_images);
    if constexpr (First + some < taps) add_taps<Beside, First + some, Channels>(met, lane, first, d, some_images);
  }

  // Taps [First, First + Count) of a channel, or of several, each broadcast, by some vectors of filters of one group.
  template <int Vectors, int First, int Count, class E>
  __attribute__((noinline)) void add_filters(const rows_met<E> &by, int lane, int first, int d, int some_images) {
    vec<T> found[Count][Vectors] = {};
    const int group = lane / Shared;
    constexpr int step = Sizes::step;
    const mask_t lanes = some_lanes<W>(0, by.lanes - first * W); // of one vector, where not all exist
    for (int image = 0; image < some_images; ++image) {
      const T *x = this->windows + image * window_image + (group * Depth + d) * window_plane + (Own ? first * W : 0);
      for (int row = 0; row < by.rows; ++row, x += pitch * step) {
        const E *dy = by.p + image * by.image + row * by.row + first * W;
        for (int column = 0; column < X::out; ++column, dy += Own ? by.column : L) {
          vec<T> met[Vectors];
#pragma GCC unroll 4
          for (int v = 0; v < Vectors; ++v) met[v] = Own ? load<T>(dy, lanes) : load<T>(dy + v * W);
#pragma GCC unroll 32
          for (int i = 0; i < Count; ++i) {
            const T *const at = x + column * step + offset(First + i);
#pragma GCC unroll 4
            for (int v = 0; v < Vectors; ++v) {
              const vec<T> tap = Own ? load<T>(at) : splat(*at);
              found[i][v] = tap * met[v] + found[i][v];
              IMBREX_PIN(found[i][v]);
            }
          }
        }
      }
    }
    T *const to = sums + (group * all + d * taps + First) * L + first * W;
#pragma GCC unroll 32
    for (int i = 0; i < Count; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) store<T>(to + i * L + v * W, load<T>(to + i * L + v * W) + found[i][v]);
  }

  static IMBREX_INLINED vec<T> exists(const T *p, [[maybe_unused]] mask_t lanes, [[maybe_unused]] vec<T> bits) {
#if defined(IMBREX_AVX512) || defined(IMBREX_SVE)
    return load<T>(p, lanes);
#else
    return (vec<T>)((lane_bits)load<T>(p) & (lane_bits)bits);
#endif
  }

  // Taps [First, First + Count) of a channel, or of several, by some filters of one group.
  template <int Filters, int First, int Count, class E>
  __attribute__((noinline)) void add_pixels(const rows_met<E> &by, int lane, int filter, int d, int some_images) {
    const int vectors = Sizes::vectors(by.rows);
    vec<T> found[round_up(Filters * Count, W)] = {};
    const T *x = this->windows + (lane / Shared * Depth + d) * window_plane, *dy = by.p + filter * output_plane;
    for (int image = 0; image < some_images; ++image, x += window_image, dy += output_image)
      for (int v = 0; v < vectors; ++v) {
        const mask_t lanes = pixels.lanes[v] & some_lanes<W>(0, by.rows * pitch - v * W);
        const vec<T> bits = lanes_of<T>(lanes);
        vec<T> met[Filters];
#pragma GCC unroll 16
        for (int f = 0; f < Filters; ++f) met[f] = load<T>(dy + f * output_plane + v * W);
#pragma GCC unroll 32
        for (int i = 0; i < Count; ++i) {
          const vec<T> tap = exists(x + v * W + offset(First + i), lanes, bits);
#pragma GCC unroll 16
          for (int f = 0; f < Filters; ++f) {
            found[f * Count + i] = tap * met[f] + found[f * Count + i];
            IMBREX_PIN(found[f * Count + i]);
          }
        }
      }
    T totals[round_up(Filters * Count, W)];
#pragma GCC unroll 32
    for (int i = 0; i < Filters * Count; i += W) store<T>(totals + i, lane_totals(found + i));
    for (int f = 0; f < Filters; ++f)
      for (int i = 0; i < Count; ++i) sums[(lane + filter + f) * all + d * taps + First + i] += totals[f * Count + i];
  }

  // Lane j is the sum of the lanes of vector j.
  template <int S = W / 2> static IMBREX_INLINED vec<T> lane_totals(vec<T> *x) {
#pragma GCC unroll 8
    for (int i = 0; i < S; ++i) swap_blocks<T, S>(x[i], x[i + S]), x[i] += x[i + S];
    if constexpr (S > 1) return lane_totals<S / 2>(x);
    return x[0];
  }

  template <class D> __attribute__((noinline)) void put(const grid<D> &c, int lanes) {
    const bool is_in_order = c.step[1] == 1 && c.step[0] == X::taps && c.step[3] == taps;
    constexpr int tap_step = by_filters ? L : 1;
    for (int lane = 0; lane < lanes; ++lane) {
      const int group = lane / Shared;
      D *const p = c.at(0, 0, lane) + group * c.step[4];
      const T *const from = by_filters ? sums + group * all * L + lane % Shared : sums + lane * all;
      if (is_in_order && by_filters) {
        if (lane % Shared % W == 0) put_turned(p, c.step[2], from, at_most(Shared - lane % Shared, W));
        continue;
      }
      if (is_in_order) {
        for (int i = 0; i < all; i += W) store<T>(p + i, load<T>(from + i), some_lanes<W>(0, all - i));
        continue;
      }
      for (int y = 0; y < H::taps; ++y)
        for (int x = 0; x < X::taps; ++x)
          for (int d = 0; d < Depth; ++d)
            p[y * c.step[0] + x * c.step[1] + d * c.step[3]] = narrow_to<D>::from(from[(d * taps + y * X::taps + x) * tap_step]);
    }
  }

  // All sums of up to W filters of a group, which follow one another, W of each at a time.
  template <class D> static void put_turned(D *p, int64_t step, const T *from, int count) {
    for (int i = 0; i < all; i += W) {
      vec<T> turned[W];
#pragma GCC unroll 16
      for (int j = 0; j < W; ++j) turned[j] = load<T>(from + (i + j < all ? i + j : 0) * L);
      transpose<T>(turned);
#pragma GCC unroll 16
      for (int j = 0; j < W; ++j)
        if (j < count) store<T>(p + j * step + i, turned[j], some_lanes<W>(0, all - i));
    }
  }
};
} // namespace imbrex
