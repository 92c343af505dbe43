#include "tables.h"
#include "device/cpu/threads.h"
using namespace imbrex;

constexpr int most = 64;

template <class T, class S, int G>
static void put(int form, S *dst, const T *tile, int64_t step, table rows, table lanes, const int32_t *size, double alpha,
                double beta) {
  view<T, width<T>, G, most, most> view;
  fill(view, rows, lanes, size, 0);
  const scaling<T> by{T(alpha), T(beta)};
  if (form == 0) store_lanes(dst, tile, step, view, by);
  if (form == 1) store_transposed(dst, tile, step, view, by);
  if constexpr (sizeof(T) == sizeof(S)) {
    if (form == 2) add_lanes(dst, tile, step, view, by);
    if (form == 3) add_transposed(dst, tile, step, view, by);
  }
}

#define PUT(NAME, T, S, G)                                                                                             \
  extern "C" void NAME(int form, S *dst, const T *tile, int64_t step, const table *rows, const table *lanes,           \
                       const int32_t *size, double alpha, double beta) {                                               \
    put<T, S, G>(form, dst, tile, step, *rows, *lanes, size, alpha, beta);                                             \
  }
PUT(put_f32, float, float, 2)
PUT(put_f64, double, double, 0)
PUT(put_i32, int32_t, int32_t, 2)
PUT(put_f16, float, f16, 0)
PUT(put_bf16, float, bf16, 2)

struct small {
  int64_t seen;
};
struct huge {
  char bytes[int64_t(1) << 50];
};

// visits[workgroup] += 1; then adds to sums[workgroup % 4] atomically.
extern "C" int32_t visit(int64_t count, int32_t threads, int32_t *visits, float *sums) {
  return for_each_workgroup<small>(count, threads, [&](int64_t workgroup, small &scratch) {
    scratch.seen = workgroup;
    __atomic_fetch_add(visits + scratch.seen, 1, __ATOMIC_RELAXED);
    atomic_add(sums + workgroup % 4, 1.0f);
  });
}
extern "C" int32_t visit_huge(int64_t count, int32_t threads, int32_t *visits) {
  return for_each_workgroup<huge>(count, threads, [&](int64_t workgroup, huge &scratch) {
    asm volatile("" : : "r"(&scratch) : "memory"); // or a compiler drops memory that nobody uses
    visits[workgroup] += 1;
  });
}
extern "C" int32_t cpus() { return online_cpus(); }
