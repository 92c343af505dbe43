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

// How many classes, and whether that were too many: for tests of the law that says so.
extern "C" int32_t classes(const table *rows, const table *lanes, const int32_t *size) {
  static view<float, width<float>, 2, most, most> view;
  fill(view, *rows, *lanes, size, 0);
  return view.is_wild ? -1 : view.classes;
}
