#include "device/cpu/ceiling.h"
#include "device/cpu/transpose.h"
using namespace imbrex;

extern "C" void widths(int32_t *of) { of[0] = width<float>, of[1] = width<double>, of[2] = width<int32_t>; }

template <class T, class S> static void move(T *wide, S *narrow, int64_t count, bool widens) {
  for (int64_t i = 0; i < count; i += width<T>)
    widens ? store<T>(wide + i, load<T>(narrow + i)) : store<T>(narrow + i, load<T>(wide + i));
}
extern "C" void move_f16(float *wide, f16 *narrow, int64_t count, bool widens) { move(wide, narrow, count, widens); }
extern "C" void move_bf16(float *wide, bf16 *narrow, int64_t count, bool widens) { move(wide, narrow, count, widens); }
extern "C" void move_i8(int32_t *wide, int8_t *narrow, int64_t count, bool widens) { move(wide, narrow, count, widens); }
extern "C" void scalar_f16(float *wide, f16 *narrow, int64_t count, bool widens) {
  for (int64_t i = 0; i < count; ++i)
    if (widens)
      wide[i] = widen(narrow[i]);
    else
      narrow[i] = narrow_to<f16>::from(wide[i]);
}
extern "C" void scalar_bf16(float *wide, bf16 *narrow, int64_t count, bool widens) {
  for (int64_t i = 0; i < count; ++i)
    if (widens)
      wide[i] = widen(narrow[i]);
    else
      narrow[i] = narrow_to<bf16>::from(wide[i]);
}

// to[lanes of mask] = from; `kept` gets what the load leaves in the other lanes of a vector of ones.
template <class T, class S> static void masked(S *to, const S *from, T *kept, uint32_t mask) {
  store<T>(to, load<T>(from, mask), mask);
  store<T>(kept, load<T>(from, mask, splat(T(1))));
}
extern "C" void masked_f32(float *to, const float *from, float *kept, uint32_t mask) { masked(to, from, kept, mask); }
extern "C" void masked_f64(double *to, const double *from, double *kept, uint32_t mask) { masked(to, from, kept, mask); }
extern "C" void masked_i32(int32_t *to, const int32_t *from, int32_t *kept, uint32_t mask) { masked(to, from, kept, mask); }
extern "C" void masked_f16(f16 *to, const f16 *from, float *kept, uint32_t mask) { masked(to, from, kept, mask); }
extern "C" void masked_bf16(bf16 *to, const bf16 *from, float *kept, uint32_t mask) { masked(to, from, kept, mask); }
extern "C" void masked_i8(int8_t *to, const int8_t *from, int32_t *kept, uint32_t mask) { masked(to, from, kept, mask); }

extern "C" void first_f32(float *to, const float *from, uint32_t mask) { store_first<float>(to, load<float>(from), mask); }
extern "C" void first_f64(double *to, const double *from, uint32_t mask) { store_first<double>(to, load<double>(from), mask); }
extern "C" void first_i32(int32_t *to, const int32_t *from, uint32_t mask) { store_first<int32_t>(to, load<int32_t>(from), mask); }

template <class T> static void square(T *p) {
  vec<T> rows[width<T>];
  for (int i = 0; i < width<T>; ++i) rows[i] = load<T>(p + i * width<T>);
  transpose<T>(rows);
  for (int i = 0; i < width<T>; ++i) store<T>(p + i * width<T>, rows[i]);
}
extern "C" void square_f32(float *p) { square(p); }
extern "C" void square_f64(double *p) { square(p); }
extern "C" void square_i32(int32_t *p) { square(p); }

extern "C" void bits_f32(uint32_t mask, uint32_t *out) {
  vec<float> v = lanes_of<float>(mask);
  __builtin_memcpy(out, &v, sizeof(v));
}
extern "C" void bits_f64(uint32_t mask, uint64_t *out) {
  vec<double> v = lanes_of<double>(mask);
  __builtin_memcpy(out, &v, sizeof(v));
}
extern "C" uint32_t below_f32(const int32_t *lane, int32_t row, int32_t size) { return below<float>(lane, row, size); }
extern "C" uint32_t below_f64(const int32_t *lane, int32_t row, int32_t size) { return below<double>(lane, row, size); }

extern "C" int32_t probed(int64_t rounds) { return probe<int32_t>::run(rounds); }
extern "C" int64_t multiply_adds() { return probe<int32_t>::multiply_adds; }
extern "C" int32_t chains() { return probe_chains; }
