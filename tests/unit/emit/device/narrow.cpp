// Narrow floats by their number, as C functions over arrays.
#include "device/cpu/narrow.h"

using namespace imbrex;

template <class T> static void run(const uint8_t *bits, float *wide, int bit_count, const float *x, uint8_t *narrow, int count) {
  for (int i = 0; i < bit_count; ++i) wide[i] = widen(T{bits[i]});
  for (int i = 0; i < count; ++i) narrow[i] = narrow_to<T>::from(x[i]).bits;
}

#define EXPORT(T)                                                                                                     \
  extern "C" void T##_both(const uint8_t *bits, float *wide, int bit_count, const float *x, uint8_t *narrow, int n) { \
    run<T>(bits, wide, bit_count, x, narrow, n);                                                                      \
  }
EXPORT(f8e5m2)
EXPORT(f8e4m3fn)
EXPORT(f8e5m2fnuz)
EXPORT(f8e4m3fnuz)
EXPORT(f6e2m3fn)
EXPORT(f6e3m2fn)
EXPORT(f4e2m1fn)
