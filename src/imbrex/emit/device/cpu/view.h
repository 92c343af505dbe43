// The addresses of a two-dimensional piece of a tensor whose index map is separable.
//
// Element (row i, lane j) lies at row(i).offset + lane(j).offset, and exists iff for every guard g
//     unsigned(row(i).guard[g] + lane(j).guard[g]) < size[g];
// one that does not exist reads as 0 and is never written, and nothing outside of [0, extent) is ever touched.  Lanes
// are the direction in which vectors run; they come in panels of L, a panel is V vectors, the last of them partly used
// when W does not divide L.  For one vector the lanes' offsets split into spans of stride 1 or 2 (a masked load or two
// each); a vector with too many spans is gathered.
//
// Rows whose guards admit the same lanes share a class: a guard that no lane of the view can violate counts as met, so
// a padded 3x3 window has 9 classes however large the image.  A mask is computed once a class, not once a row; with
// more than `max_classes` of them every mask is computed where it is used.
#pragma once
#include "vec.h"

namespace imbrex {

template <int G> struct place {
  int64_t offset;
  int32_t guard[G > 0 ? G : 1];
};

// Lane j of the span is at base + j * stride; `mask` says which lanes of the vector belong to it.
struct span {
  int64_t base;
  mask_t mask;
  int32_t stride;
};

constexpr int max_spans = 6, max_classes = 64;

template <class T, int L, int G, int Rows, int Lanes> struct view {
  static constexpr int W = width<T>, panel_lanes = L, most_rows = Rows, most_lanes = Lanes, V = (L + W - 1) / W;
  static constexpr int panels = (Lanes + L - 1) / L, vectors = panels * V;
  static constexpr int guards = G > 0 ? G : 1;
  static constexpr bool has_guards = G > 0;
  static constexpr int32_t met = INT32_MIN;

  int32_t size[guards];
  int64_t extent; // elements of the array, 0 when not known
  int32_t rows, lanes, classes;
  bool is_wild; // more classes than there is room for
  int32_t lane_low[guards], lane_high[guards];
  int64_t row_low, row_high; // least and greatest offset of the rows
  uint8_t span_count[vectors]; // 0: gather
  bool is_full[vectors];       // every row has every lane of the vector
  bool has_empty[vectors];     // some row has no lane of it
  uint16_t used[vectors];      // the lanes that there are
  span spans[vectors][max_spans];
  alignas(64) int64_t lane_offset[vectors * W];
  alignas(64) int32_t lane_guard[guards][vectors * W];
  int64_t row_offset[Rows];
  int32_t row_guard[guards][Rows];
  uint16_t row_class[Rows];
  uint16_t class_mask[vectors][max_classes];

  // lane(j) for j in [first, first + count); lanes past `count` do not exist.
  template <class Lane> void set_lanes(Lane lane, int64_t first, int count) {
    lanes = count;
    for (int g = 0; g < G; ++g) lane_low[g] = INT32_MAX, lane_high[g] = INT32_MIN;
    for (int v = 0; v < vectors; ++v) {
      const int begin = v / V * L + v % V * W, left = (L - v % V * W < count - begin ? L - v % V * W : count - begin);
      const int some = left < 0 ? 0 : left < W ? left : W;
      for (int j = 0; j < some; ++j) {
        const place<G> at = lane(first + begin + j);
        lane_offset[v * W + j] = at.offset;
        for (int g = 0; g < G; ++g) {
          const int32_t guard = at.guard[g];
          lane_guard[g][v * W + j] = guard;
          lane_low[g] = guard < lane_low[g] ? guard : lane_low[g];
          lane_high[g] = guard > lane_high[g] ? guard : lane_high[g];
        }
      }
      used[v] = uint16_t(first_lanes(some));
      set_spans(v, some);
    }
  }

  template <class Row> void set_rows(Row row, int64_t first, int count) {
    rows = count;
    row_low = INT64_MAX, row_high = INT64_MIN;
    for (int i = 0; i < count; ++i) {
      const place<G> at = row(first + i);
      row_offset[i] = at.offset;
      row_low = at.offset < row_low ? at.offset : row_low;
      row_high = at.offset > row_high ? at.offset : row_high;
      for (int g = 0; g < G; ++g) row_guard[g][i] = at.guard[g];
    }
  }

  // The same as by set_lanes where lane j is at base + j * step, and no guard is to be told: nothing is searched for.
  void set_lanes_evenly(int64_t base, int64_t step, int count) {
    static_assert(!has_guards, "lanes with guards are told one by one");
    lanes = count;
    for (int v = 0; v < vectors; ++v) {
      const int begin = v / V * L + v % V * W, left = (L - v % V * W < count - begin ? L - v % V * W : count - begin);
      const int some = left < 0 ? 0 : left < W ? left : W;
      const int64_t from = base + begin * step;
      for (int j = 0; j < W; ++j) lane_offset[v * W + j] = from + j * step;
      used[v] = uint16_t(first_lanes(some));
      if (some <= 1 || step == 1 || step == 2) {
        spans[v][0] = {from, first_lanes(some), some > 1 ? int32_t(step) : 1};
        span_count[v] = some > 0;
      } else {
        set_spans(v, some);
      }
    }
  }

  // And rows: at least one.
  void set_rows_evenly(int64_t base, int64_t step, int count) {
    static_assert(!has_guards, "rows with guards are told one by one");
    rows = count;
    const int64_t last = base + (count - 1) * step;
    row_low = base < last ? base : last, row_high = base < last ? last : base;
    for (int i = 0; i < count; ++i) row_offset[i] = base + i * step;
  }

  // Matches rows to classes; call it after rows or lanes have changed.  `elements`: of the array that
  // offsets count from the start of; with 0 nothing is known to lie in the array, and no panel is read in place.
  void meet(int64_t elements = 0) {
    extent = elements;
    if constexpr (G == 0) return meet_freely();
    int32_t key[max_classes][guards];
    int slot[2 * max_classes]; // open addressing: hash -> class, -1 where there is none
    for (int &c : slot) c = -1;
    classes = 0;
    is_wild = false;
    for (int i = 0; i < rows && !is_wild; ++i) {
      int32_t at[guards] = {};
      for (int g = 0; g < G; ++g) at[g] = canonical(g, row_guard[g][i]);
      if (i > 0 && is_same(key[row_class[i - 1]], at)) { // as mostly: neighbours, inside of an image
        row_class[i] = row_class[i - 1];
        continue;
      }
      uint32_t hash = 0;
      for (int g = 0; g < G; ++g) hash = ((hash >> 15 ^ hash) + uint32_t(at[g])) * 0x9e3779b1u;
      int h = int(hash >> 25);
      while (slot[h] >= 0 && !is_same(key[slot[h]], at)) h = (h + 1) % (2 * max_classes);
      is_wild = slot[h] < 0 && classes == max_classes;
      if (slot[h] < 0 && !is_wild) {
        for (int g = 0; g < G; ++g) key[classes][g] = at[g];
        for (int v = 0; v < vectors; ++v) class_mask[v][classes] = uint16_t(mask_at(v, at));
        slot[h] = classes++;
      }
      row_class[i] = uint16_t(slot[h]);
    }
    summarise();
  }

  // The lanes of vector v that exist in row r.
  mask_t mask_of(int v, int r) const {
    if (!is_wild) return class_mask[v][row_class[r]];
    int32_t at[guards] = {};
    for (int g = 0; g < G; ++g) at[g] = row_guard[g][r];
    return mask_at(v, at);
  }

  // Vectors [v, v + count) are one span of that stride each.
  bool is_plain(int v, int count, int stride = 1) const {
    for (int i = v; i < v + count; ++i)
      if (span_count[i] != 1 || spans[i][0].stride != stride) return false;
    return true;
  }

  // The lanes of vectors [v, v + count) are neighbours in memory.
  bool is_contiguous(int v, int count) const {
    if (!is_plain(v, count)) return false;
    for (int i = 1; i < count; ++i)
      if (spans[v + i][0].base != spans[v][0].base + i * W) return false;
    return true;
  }

  // All that vectors [v, v + count) cover, in every row, lies in the array, whether it exists or not.
  bool is_inside(int v, int count) const {
    for (int i = v; i < v + count; ++i)
      if (spans[i][0].base + row_low < 0 || spans[i][0].base + row_high + W * spans[i][0].stride > extent) return false;
    return true;
  }

  // The same of all spans of vector v.
  bool has_spans_inside(int v) const {
    for (int s = 0; s < span_count[v]; ++s) {
      const span &of = spans[v][s];
      if (of.base + row_low < 0 || of.base + row_high + W * of.stride > extent) return false;
    }
    return span_count[v] > 0;
  }

  // Is each lane of vector v, in every row, an element of the array, whether it exists or not?
  bool has_lanes_inside(int v) const {
    for (int j = 0; j < W; ++j)
      if (used[v] >> j & 1)
        if (lane_offset[v * W + j] + row_low < 0 || lane_offset[v * W + j] + row_high >= extent) return false;
    return used[v] != 0;
  }

private:
  static bool is_same(const int32_t *a, const int32_t *b) {
    for (int g = 0; g < G; ++g)
      if (a[g] != b[g]) return false;
    return true;
  }

  // Without guards there is one class.
  void meet_freely() {
    classes = 1;
    is_wild = false;
    for (int i = 0; i < rows; ++i) row_class[i] = 0;
    for (int v = 0; v < vectors; ++v) {
      class_mask[v][0] = used[v];
      is_full[v] = used[v] == all_lanes<T>;
      has_empty[v] = used[v] == 0;
    }
  }

  int32_t canonical(int g, int32_t at) const {
    return at + lane_low[g] >= 0 && at + lane_high[g] < size[g] ? met : at;
  }

  mask_t mask_at(int v, const int32_t *at) const {
    mask_t mask = used[v];
    for (int g = 0; g < G; ++g)
      if (at[g] != met) mask &= below<T>(lane_guard[g] + v * W, at[g], size[g]);
    return mask;
  }

  void summarise() {
    for (int v = 0; v < vectors; ++v) {
      mask_t every = all_lanes<T>, least = all_lanes<T>;
      for (int c = 0; c < classes; ++c) {
        every &= class_mask[v][c];
        least = class_mask[v][c] < least ? class_mask[v][c] : least;
      }
      is_full[v] = !is_wild && every == all_lanes<T>;
      has_empty[v] = is_wild || least == 0;
    }
  }

  void set_spans(int v, int count) {
    const int64_t *offset = lane_offset + v * W;
    const int64_t step = count > 1 ? offset[1] - offset[0] : 1;
    int64_t strays = count == 0 || (step != 1 && step != 2);
    for (int j = 0; j < count; ++j) strays |= offset[j] - offset[0] - j * step;
    if (strays == 0) { // what the search below would find, sooner
      spans[v][0] = {offset[0], first_lanes(count), int32_t(step)};
      span_count[v] = 1;
      return;
    }
    int found = 0;
    for (int j = 0; j < count && found <= max_spans;) {
      int64_t stride = j + 1 < count ? offset[j + 1] - offset[j] : 1;
      if (stride != 1 && stride != 2) stride = 1;
      int end = j + 1;
      while (end < count && offset[end] - offset[end - 1] == stride) ++end;
      if (found < max_spans)
        spans[v][found] = {offset[j] - j * stride, first_lanes(end) & ~first_lanes(j), int32_t(stride)};
      ++found, j = end;
    }
    span_count[v] = uint8_t(found <= max_spans ? found : 0);
  }
};
} // namespace imbrex
