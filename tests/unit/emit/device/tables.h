// What Python hands over: an index map as tables, one entry a row or lane.
#pragma once
#include "device/cpu/operand.h"

struct table {
  const int64_t *offset;
  const int32_t *guard; // two an entry
  int32_t count;
};

template <int G> auto places(const table &t) {
  return [t](int64_t i) {
    imbrex::place<G> at{};
    at.offset = t.offset[i];
    for (int g = 0; g < G; ++g) at.guard[g] = t.guard[2 * i + g];
    return at;
  };
}

template <class View>
void fill(View &view, const table &rows, const table &lanes, const int32_t *size, int64_t elements) {
  constexpr int G = View::has_guards ? 2 : 0;
  for (int g = 0; g < G; ++g) view.size[g] = size[g];
  view.set_rows(places<G>(rows), 0, rows.count);
  view.set_lanes(places<G>(lanes), 0, lanes.count);
  view.meet(elements);
}
