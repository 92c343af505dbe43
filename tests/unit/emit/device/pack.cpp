#include "tables.h"
using namespace imbrex;

constexpr int most = 128;

// form: 0 lanes, 1 blocked, 2 transposed, 3 panels, 4 columns.  L lanes a panel, MR rows a panel.
template <class T, class S, int L, int MR, int G>
static void pack(int form, T *dst, const S *src, table rows, table lanes, const int32_t *size, int64_t elements, int at,
                 int count) {
  if (form == 0 || form == 3 || form == 4) {
    static view<T, L, G, most, most> view;
    fill(view, rows, lanes, size, elements);
    if (form == 0)
      pack_lanes(dst, src, view, at);
    else if (form == 3)
      pack_panels(dst, rows.count * L, src, view, at, count);
    else
      pack_columns(dst, round_up(rows.count, width<T>), src, view, at, count);
  } else {
    static view<T, width<T>, G, most, most> view;
    fill(view, rows, lanes, size, elements);
    if (form == 1)
      pack_blocked<MR>(dst, src, view, at);
    else
      pack_transposed<L>(dst, src, view, at);
  }
}

#define PACK(NAME, T, S, L, MR, G)                                                                                     \
  extern "C" void NAME(int form, T *dst, const S *src, const table *rows, const table *lanes, const int32_t *size,     \
                       int64_t elements, int at, int count) {                                                          \
    pack<T, S, L, MR, G>(form, dst, src, *rows, *lanes, size, elements, at, count);                                    \
  }
PACK(pack_f32, float, float, 2 * width<float>, 7, 2)
PACK(pack_f32_narrow, float, float, width<float> + width<float> / 2 + 1, 3, 0)
PACK(pack_f64, double, double, width<double>, 5, 2)
PACK(pack_f16, float, f16, width<float>, 4, 2)
PACK(pack_bf16, float, bf16, width<float>, 4, 0)
PACK(pack_i8, int32_t, int8_t, width<int32_t>, 4, 2)

// Units without an instruction, of which word panels can be had on every machine.
struct pairs_of_bf16;
struct fours_of_i8;
struct pairs_of_i8;
namespace imbrex {
template <> struct unit<pairs_of_bf16> : narrow_unit<float, bf16> {};
template <> struct unit<fours_of_i8> : narrow_unit<int32_t, int8_t> {};
template <> struct unit<pairs_of_i8> : narrow_unit<int32_t, int16_t> {};
} // namespace imbrex

// The same forms of words.
template <class U, int L, int MR, int G, class E, class S>
static void pack_words(int form, E *dst, const S *src, table rows, table lanes, const int32_t *size, int at, int count) {
  typedef word_panels<U> panels;
  typedef sum_of_unit<U> T;
  if (form == 0 || form == 3 || form == 4) {
    static view<T, L, G, most, most> view;
    fill(view, rows, lanes, size, 0);
    if (form == 0)
      panels::lanes(dst, src, view, at);
    else if (form == 3)
      panels::panels(dst, round_up(rows.count, panels::K) * L, src, view, at, count);
    else
      panels::columns(dst, round_up(rows.count, k_width<U>), src, view, at, count);
  } else {
    static view<T, width<T>, G, most, most> view;
    fill(view, rows, lanes, size, 0);
    if (form == 1)
      panels::template blocked<MR>(dst, src, view, at);
    else
      panels::template transposed<L>(dst, src, view, at);
  }
}
#define PACK_WORDS(NAME, U, S, L, MR, G)                                                                               \
  extern "C" void NAME(int form, element_of_unit<U> *dst, const S *src, const table *rows, const table *lanes,         \
                       const int32_t *size, int at, int count) {                                                       \
    pack_words<U, L, MR, G>(form, dst, src, *rows, *lanes, size, at, count);                                           \
  }
PACK_WORDS(pack_words_bf16, pairs_of_bf16, bf16, 2 * width<float>, 7, 2)
PACK_WORDS(pack_words_i8, fours_of_i8, int8_t, width<int32_t> + width<int32_t> / 2 + 1, 4, 0)
PACK_WORDS(pack_words_i16, pairs_of_i8, int8_t, 2 * width<int32_t>, 7, 2)

// How many classes, and whether that were too many: for tests of the law that says so.
extern "C" int32_t classes(const table *rows, const table *lanes, const int32_t *size) {
  static view<float, width<float>, 2, most, most> view;
  fill(view, *rows, *lanes, size, 0);
  return view.is_wild ? -1 : view.classes;
}

// Do both ways of telling an axis that is even come to the same view?
extern "C" bool even_is_the_same(const table *rows, const table *lanes, int64_t row_step, int64_t lane_step) {
  constexpr int L = width<float> + width<float> / 2 + 1;
  typedef view<float, L, 0, most, most> kind;
  static kind each, even;
  fill(each, *rows, *lanes, nullptr, 0);
  even.set_rows_evenly(rows->offset[0], row_step, rows->count);
  even.set_lanes_evenly(lanes->offset[0], lane_step, lanes->count);
  even.meet();
  bool same = each.row_low == even.row_low && each.row_high == even.row_high && each.rows == even.rows &&
              each.lanes == even.lanes && each.classes == even.classes && each.is_wild == even.is_wild;
  for (int i = 0; i < rows->count; ++i)
    same = same && each.row_offset[i] == even.row_offset[i] && each.row_class[i] == even.row_class[i];
  for (int v = 0; v < kind::vectors; ++v) {
    same = same && each.used[v] == even.used[v] && each.is_full[v] == even.is_full[v] &&
           each.has_empty[v] == even.has_empty[v] && each.span_count[v] == even.span_count[v] &&
           each.class_mask[v][0] == even.class_mask[v][0];
    for (int s = 0; same && s < each.span_count[v]; ++s)
      same = each.spans[v][s].base == even.spans[v][s].base && each.spans[v][s].mask == even.spans[v][s].mask &&
             each.spans[v][s].stride == even.spans[v][s].stride;
    for (int j = 0; same && j < kind::W; ++j)
      same = !(each.used[v] >> j & 1) || each.lane_offset[v * kind::W + j] == even.lane_offset[v * kind::W + j];
  }
  return same;
}
