// Sources of B that read a view where it lies: no panel is packed.
//
// The view's rows are k, its lanes n, and each vector is one span of stride 1 (`is_plain`).  Every element that a
// vector covers must lie in the array (`is_inside`), whether it exists or not: those that do not are cleared by the bits
// of their row's class.  Masked loads would take issue slots from the multiply-adds, some 8 % of a 3x3 layer's time.
#pragma once
#include "micro.h"
#include "even_view.h"

namespace imbrex {

// How many panels of A meet one of B: many are as many as may copy it (`is_copied_as_met`), or a number that is not known.
enum class visits { many, few, one };
constexpr int least_copied_visits = 4, most_copied_bytes = 1 << 19, copied_rows_ahead = 8;
constexpr visits visits_of(int met) {
  return met == 1 ? visits::one : met > 0 && met < least_copied_visits ? visits::few : visits::many;
}

// NV vectors from `vector` on, row by row from the view's first; every element exists, or is of no interest.  Rows are
// too far apart for the hardware to foresee, so the next panel's elements are fetched ahead, see `again`; of a panel that one
// panel of A meets, and that is gone then, those of a later row: so many bytes of the panel later as memory takes to answer.
// A row mostly ends in a line in which no vector of it begins: few visits do not hide that it comes late.
constexpr int least_rows_ahead = 4, passed_bytes = 2048;
template <class T, int NV, visits Met = visits::many> struct b_view {
  static constexpr int row_bytes = NV * width<T> * int(sizeof(T));
  static constexpr int rows_ahead = passed_bytes / row_bytes < least_rows_ahead ? least_rows_ahead : passed_bytes / row_bytes;
  const T *p[NV];
  const int64_t *offset;
  int64_t ahead;
  template <class View> b_view(const T *src, const View &view, int vector) : offset(view.row_offset) {
    for (int v = 0; v < NV; ++v) p[v] = src + view.spans[vector + v][0].base;
    ahead = Met == visits::one && view.rows > 1 ? rows_ahead * (offset[1] - offset[0]) : NV * width<T>;
  }
  template <int Count = NV> void next(vec<T> (&row)[NV]) {
    const int64_t at = *offset++, later = at + (Met == visits::one ? ahead : NV * width<T>);
#pragma GCC unroll 16
    for (int v = 0; v < Count; ++v) {
      __builtin_prefetch(p[v] + later);
      row[v] = load<T>(p[v] + at);
    }
    if constexpr (Met != visits::many && Count > 0) __builtin_prefetch(p[Count - 1] + later + width<T> - 1);
  }
  void skip(int64_t rows) { offset += rows; }
};

// The same where another panel of A follows, before which nothing is fetched.
template <class T, int NV, visits Met> struct b_view_again : b_view<T, NV, Met> {
  void next(vec<T> (&row)[NV]) {
    const int64_t at = *this->offset++;
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) row[v] = load<T>(this->p[v] + at);
  }
};

// The same where only the last vector's `last` lanes lie in the array.
template <class T, int NV> struct b_cut_view {
  b_view<T, NV, visits::one> all;
  mask_t last;
  void next(vec<T> (&row)[NV]) {
    const T *end = all.p[NV - 1] + *all.offset;
    all.template next<NV - 1>(row);
    row[NV - 1] = load<T>(end, last);
  }
  void skip(int64_t rows) { all.skip(rows); }
};

// The same where many panels of A meet a panel: it is copied while the first of them does, so that the others load whole
// lines.  `copy` has room for all of its rows.
template <class T, int NV> struct b_view_to_copy : b_view<T, NV> {
  T *copy;
};
template <class T, int NV> struct b_copied_view : b_view_to_copy<T, NV> {
  int64_t later;
  explicit b_copied_view(const b_view_to_copy<T, NV> &rows, int64_t count) : b_view_to_copy<T, NV>(rows) {
    later = count > 1 ? copied_rows_ahead * (this->offset[1] - this->offset[0]) : 0;
  }
  void next(vec<T> (&row)[NV]) {
    const int64_t at = *this->offset++;
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) {
      __builtin_prefetch(this->p[v] + at + later);
      row[v] = load<T>(this->p[v] + at);
      store<T>(this->copy + v * width<T>, row[v]);
    }
    this->copy += NV * width<T>;
  }
};

// The copy, in each visit but the first of `Visits`.  They share the lines of the next panel, which they fetch into the
// second cache: a row's begin somewhere in the first of one more than it fills.
template <class T, int NV, int Visits> struct b_copy {
  static constexpr int row_bytes = NV * width<T> * int(sizeof(T)), line = 64 / int(sizeof(T)), lines = row_bytes / 64 + 1;
  static constexpr int fetched = (lines + Visits - 2) / (Visits - 1);
  const T *from, *next_panel;
  const int64_t *offset;
  b_copy(const b_view_to_copy<T, NV> &rows, int visit) : from(rows.copy), offset(rows.offset) {
    const int first = (visit - 1) * fetched, last = lines - fetched;
    next_panel = rows.p[0] + NV * width<T> + (first < last ? first : last) * line;
  }
  void next(vec<T> (&row)[NV]) {
    const int64_t at = *offset++;
#pragma GCC unroll 4
    for (int i = 0; i < fetched; ++i) __builtin_prefetch(next_panel + at + i * line, 0, 2);
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) row[v] = load<T>(from + v * width<T>);
    from += NV * width<T>;
  }
  void skip(int64_t rows) { offset += rows, from += rows * NV * width<T>; }
};

// Is a panel copied as it is met by so many panels of A?  Where vectors are lines, as they mostly lie across two, and are
// visited often enough to repay it.
template <class T, class View, int Met>
constexpr bool is_copied_as_met = sizeof(vec<T>) == 64 && Met >= least_copied_visits &&
                                  int64_t(View::most_rows) * View::panel_lanes * int(sizeof(T)) <= most_copied_bytes;

template <class B> constexpr bool is_to_be_copied = false;
template <class T, int NV> constexpr bool is_to_be_copied<b_view_to_copy<T, NV>> = true;
template <class B> constexpr bool is_to_be_copied<const B &> = is_to_be_copied<B>;

// For every class of the view, the bits that its vectors keep.
template <class T, int NV> struct class_bits {
  vec<T> lanes[max_classes][NV];
  template <class View> class_bits(const View &view, int vector) {
    for (int c = 0; c < view.classes; ++c)
      for (int v = 0; v < NV; ++v) lanes[c][v] = lanes_of<T>(view.class_mask[vector + v][c]);
  }
};

template <class T, int NV, visits Met, class Rows = b_view<T, NV, Met>> struct b_cleared_view {
  Rows all;
  const uint16_t *index;
  const class_bits<T, NV> &bits;
  void next(vec<T> (&row)[NV]) {
    all.next(row);
    const vec<T> *lanes = bits.lanes[*index++];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) row[v] = (vec<T>)((lane_bits)row[v] & (lane_bits)lanes[v]);
  }
  void skip(int64_t rows) { all.skip(rows), index += rows; }
};

// Windows whose rows are cleared and copied at once.
template <class T, int NV> struct b_copied_windows {
  b_cleared_view<T, NV, visits::many, b_view_again<T, NV, visits::many>> all;
  T *copy;
  void next(vec<T> (&row)[NV]) {
    all.next(row);
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) store<T>(copy + v * width<T>, row[v]);
    copy += NV * width<T>;
  }
};
template <class T, int NV> constexpr bool is_to_be_copied<b_copied_windows<T, NV>> = true;

// What the first of the panels of A meets of a panel that is to be copied, and what the others do.
template <class T, int NV> IMBREX_INLINE b_copied_view<T, NV> copied(const b_view_to_copy<T, NV> &b, int64_t rows) {
  return b_copied_view<T, NV>(b, rows);
}
template <int Visits, class T, int NV> IMBREX_INLINE b_copy<T, NV, Visits> copy_of(const b_view_to_copy<T, NV> &b, int visit) {
  return b_copy<T, NV, Visits>(b, visit);
}
template <class T, int NV> IMBREX_INLINE const b_copied_windows<T, NV> &copied(const b_copied_windows<T, NV> &b, int64_t) {
  return b;
}
template <int Visits, class T, int NV> IMBREX_INLINE b_panel<T, NV> copy_of(const b_copied_windows<T, NV> &b, int) {
  return {b.copy, NV * width<T>};
}

// The source of a panel of B that several panels of A meet, for each of these but the last.
template <class B> IMBREX_INLINE const B &again(const B &b) { return b; }
template <class T, int NV, visits Met> IMBREX_INLINE b_view_again<T, NV, Met> again(const b_view<T, NV, Met> &b) { return {b}; }
template <class T, int NV, visits Met>
IMBREX_INLINE b_cleared_view<T, NV, Met, b_view_again<T, NV, Met>> again(const b_cleared_view<T, NV, Met> &b) {
  return {{b.all}, b.index, b.bits};
}
} // namespace imbrex
