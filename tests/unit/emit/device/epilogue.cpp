// Functions of epilogues as C functions over arrays, by each target's arithmetic, or by the worst that is allowed.
#if defined(WORST)
#include <stdint.h>
#define IMBREX_INLINE static inline
namespace imbrex {
static int off; // whether what is approximated comes out too small, right or too large, by all that it may

static float allowed(double exact, double units) {
  const double found = exact * (1 + off * units * 0x1p-23);
  return __builtin_fabs(found) < 0x1p-126 ? 0.f : float(found);
}
IMBREX_INLINE float power_of_two(float x) { return allowed(__builtin_exp2(double(x)), 2 - 0.5); }
IMBREX_INLINE float reciprocal(float x) { return allowed(1 / double(x), 1 - 0.5); }
IMBREX_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
IMBREX_INLINE float with_sign(float size, float x) { return __builtin_copysignf(size, x); }
} // namespace imbrex
#include "device/common/epilogue.h"
#elif defined(HOPPER)
#include "device/cuda/epilogue.h"
#else
#include "device/cpu/epilogue.h"
#endif

using namespace imbrex;

#if defined(WORST)
extern "C" void be_off(int32_t by) { off = by; }
#endif

#define EXPORT(NAME, VALUE)                                                                                           \
  extern "C" void NAME(const float *from, float *to, int32_t count) {                                                 \
    for (int32_t i = 0; i < count; ++i) {                                                                             \
      const float x = from[i];                                                                                        \
      to[i] = VALUE;                                                                                                  \
    }                                                                                                                 \
  }
EXPORT(run_tanh, hyperbolic_tangent(x))
EXPORT(run_gelu, gelu<true>(x))
EXPORT(run_gelu_short, gelu<false>(x))
EXPORT(run_gelu_tanh, gelu_tanh(x))
EXPORT(run_hardswish, hardswish(x))
EXPORT(run_sigmoid, sigmoid<true>(x))
EXPORT(run_silu, silu<true>(x))
EXPORT(run_softplus, softplus<true>(x))
EXPORT(run_sigmoid_short, sigmoid<false>(x))
EXPORT(run_silu_short, silu<false>(x))
EXPORT(run_softplus_short, softplus<false>(x))
