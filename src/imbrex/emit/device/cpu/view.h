// The addresses of a two-dimensional piece of a tensor whose index map is separable.
//
// Element (row i, lane j) lies at row(i).offset + lane(j).offset, and exists iff for every guard g
//     unsigned(row(i).guard[g] + lane(j).guard[g]) < size[g];
// one that does not exist reads as 0, is never written and its address is never touched.  Lanes are the direction in
// which vectors run; they come in panels of L, a panel is V vectors, the last of them partly used when W does not
// divide L.  For one vector the lanes' offsets split into spans of stride 1 or 2 (a masked load or two each).
//
// Rows whose guards admit the same lanes share a class: a guard that no lane of the view can violate counts as met, so
// a padded 3x3 window has 9 classes however large the image.  The masks are computed once a class, not once a row.
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

constexpr int max_spans = 6;

template <class T, int L, int G, int Rows, int Lanes> struct view {
  static constexpr int W = width<T>, V = (L + W - 1) / W, panels = (Lanes + L - 1) / L, vectors = panels * V;
  static constexpr int guards = G > 0 ? G : 1;
  static constexpr int32_t met = INT32_MIN;

  int32_t size[guards];
  int32_t rows, lanes, classes;
  int32_t lane_low[guards], lane_high[guards];
  int32_t span_count[vectors]; // 0: gather
  span spans[vectors][max_spans];
  alignas(64) int64_t lane_offset[vectors * W];
  alignas(64) int32_t lane_guard[guards][vectors * W];
  int64_t row_offset[Rows];
  int32_t row_guard[guards][Rows];
  uint32_t row_class[Rows]; // index of its class's first mask
  uint16_t class_mask[Rows * vectors];
  bool is_full[vectors]; // every row has every lane of the vector

  // lane(j) for j in [first, first + count); lanes past `count` do not exist.
  template <class Lane> void set_lanes(Lane lane, int64_t first, int count) {
    lanes = count;
    for (int p = 0, j = 0; j < count; ++p)
      for (int i = 0; i < L && j < count; ++i, ++j) {
        place<G> at = lane(first + j);
        lane_offset[p * V * W + i] = at.offset;
        for (int g = 0; g < G; ++g) lane_guard[g][p * V * W + i] = at.guard[g];
      }
    for (int g = 0; g < G; ++g) lane_low[g] = INT32_MAX, lane_high[g] = INT32_MIN;
    for (int v = 0; v < vectors; ++v) set_spans(v);
  }

  template <class Row> void set_rows(Row row, int64_t first, int count) {
    rows = count;
    for (int i = 0; i < count; ++i) {
      place<G> at = row(first + i);
      row_offset[i] = at.offset;
      for (int g = 0; g < G; ++g) row_guard[g][i] = at.guard[g];
    }
  }

  // How many lanes of vector v there are.
  int used(int v) const {
    int panel = v / V, left = lanes - panel * L;
    left = (left < L ? left : L) - v % V * W;
    return left < 0 ? 0 : left < W ? left : W;
  }

  // Matches rows to classes; call it after set_rows or set_lanes has changed anything.
  void meet() {
    int32_t key[64][guards];
    int16_t slot[64];
    for (int h = 0; h < 64; ++h) slot[h] = -1;
    classes = 0;
    for (int i = 0; i < rows; ++i) {
      int32_t at[guards] = {};
      uint32_t hash = 0;
      for (int g = 0; g < G; ++g) {
        at[g] = canonical(g, row_guard[g][i]);
        hash = (hash ^ uint32_t(at[g])) * 0x9e3779b1u;
      }
      hash >>= 26;
      bool is_known = slot[hash] >= 0;
      for (int g = 0; g < G; ++g) is_known = is_known && key[hash][g] == at[g];
      if (!is_known) {
        for (int g = 0; g < G; ++g) key[hash][g] = at[g];
        set_masks(classes, at);
        slot[hash] = int16_t(classes++);
      }
      row_class[i] = uint32_t(slot[hash] * vectors);
    }
    for (int v = 0; v < vectors; ++v) {
      is_full[v] = true;
      for (int c = 0; c < classes; ++c) is_full[v] = is_full[v] && class_mask[c * vectors + v] == all_lanes<T>;
    }
  }

private:
  int32_t canonical(int g, int32_t at) const {
    return at + lane_low[g] >= 0 && at + lane_high[g] < size[g] ? met : at;
  }

  void set_spans(int v) {
    const int count = used(v);
    const int64_t *offset = lane_offset + v * W;
    for (int g = 0; g < G; ++g)
      for (int j = 0; j < count; ++j) {
        int32_t at = lane_guard[g][v * W + j];
        lane_low[g] = at < lane_low[g] ? at : lane_low[g];
        lane_high[g] = at > lane_high[g] ? at : lane_high[g];
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
    span_count[v] = found <= max_spans ? found : 0;
  }

  void set_masks(int c, const int32_t *at) {
    for (int v = 0; v < vectors; ++v) {
      mask_t mask = first_lanes(used(v));
      for (int g = 0; g < G; ++g)
        if (at[g] != met)
          mask &= below<T>(lane_guard[g] + v * W, at[g], size[g]);
      class_mask[c * vectors + v] = uint16_t(mask);
    }
  }
};
} // namespace imbrex
