// Arithmetic of floats of 32 and 64 bits, and of halves.
#include "operand.h"

static f16 product(f16 a, f16 b) { return f32(a) * f32(b); }
static f16 fused(f16 a, f16 b, f16 c) { return f64(f32(a)) * f64(f32(b)) + f64(f32(c)); }
// Of two roundings.
static f16 multiplied_added(f16 a, f16 b, f16 c) { return f32(product(a, b)) + f32(c); }
static f32 middle(f32 a, f32 b, f32 c) {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return __builtin_fminf(__builtin_fminf(a, b), c);
  const f32 top = __builtin_fmaxf(__builtin_fmaxf(a, b), c);
  return top == a ? __builtin_fmaxf(b, c) : top == b ? __builtin_fmaxf(a, c) : __builtin_fmaxf(a, b);
}
constexpr f64 TURN = 6.283185307179586;

extern const Row FLOATS[];
const Row FLOATS[] = {
    V1("v_fract_f32", f32, f32, a - __builtin_floorf(a)),
    V1("v_trunc_f32", f32, f32, __builtin_truncf(a)),
    V1("v_ceil_f32", f32, f32, __builtin_ceilf(a)),
    V1("v_rndne_f32", f32, f32, __builtin_nearbyintf(a)),
    V1("v_floor_f32", f32, f32, __builtin_floorf(a)),
    V1("v_fract_f64", f64, f64, a - __builtin_floor(a)),
    V1("v_trunc_f64", f64, f64, __builtin_trunc(a)),
    V1("v_ceil_f64", f64, f64, __builtin_ceil(a)),
    V1("v_rndne_f64", f64, f64, __builtin_nearbyint(a)),
    V1("v_floor_f64", f64, f64, __builtin_floor(a)),
    V1("v_exp_f32", f32, f32, __builtin_exp2f(a)),
    V1("v_log_f32", f32, f32, __builtin_log2f(a)),
    V1("v_rcp_f32", f32, f32, 1.0f / a),
    V1("v_rcp_iflag_f32", f32, f32, 1.0f / a),
    V1("v_rsq_f32", f32, f32, (f32)(1.0 / __builtin_sqrt((f64)a))),
    V1("v_sqrt_f32", f32, f32, __builtin_sqrtf(a)),
    V1("v_sin_f32", f32, f32, (f32)__builtin_sin((f64)a *TURN)),
    V1("v_cos_f32", f32, f32, (f32)__builtin_cos((f64)a *TURN)),
    V1("v_rcp_f64", f64, f64, 1.0 / a),
    V1("v_rsq_f64", f64, f64, 1.0 / __builtin_sqrt(a)),
    V1("v_sqrt_f64", f64, f64, __builtin_sqrt(a)),
    V1("v_frexp_exp_i32_f32", i32, f32, ({
         int e = 0;
         if (is_finite(a) && a != 0) __builtin_frexpf(a, &e);
         e;
       })),
    V1("v_frexp_mant_f32", f32, f32, ({
         int e;
         is_finite(a) ? __builtin_frexpf(a, &e) : a;
       })),
    V1("v_frexp_exp_i32_f64", i32, f64, ({
         int e = 0;
         if (is_finite(a) && a != 0) __builtin_frexp(a, &e);
         e;
       })),
    V1("v_frexp_mant_f64", f64, f64, ({
         int e;
         is_finite(a) ? __builtin_frexp(a, &e) : a;
       })),
    V2("v_add_f32", f32, f32, f32, a + b),
    V2("v_sub_f32", f32, f32, f32, a - b),
    V2("v_subrev_f32", f32, f32, f32, b - a),
    V2("v_mul_f32", f32, f32, f32, a *b),
    V2("v_mul_legacy_f32", f32, f32, f32, (a == 0 || b == 0) ? 0.f : a *b),
    V2("v_min_f32", f32, f32, f32, __builtin_fminf(a, b)),
    V2("v_max_f32", f32, f32, f32, __builtin_fmaxf(a, b)),
    V3("v_fma_f32", f32, f32, f32, f32, __builtin_fmaf(a, b, c)),
    V3("v_mad_f32", f32, f32, f32, f32, a *b + c),
    V_ADDS("v_fmac_f32", f32, f32, f32, __builtin_fmaf(a, b, c)),
    V_ADDS("v_mac_f32", f32, f32, f32, a *b + c),
    V3("v_fmamk_f32", f32, f32, f32, f32, __builtin_fmaf(a, b, c)),
    V3("v_fmaak_f32", f32, f32, f32, f32, __builtin_fmaf(a, b, c)),
    V3("v_madmk_f32", f32, f32, f32, f32, a *b + c),
    V3("v_madak_f32", f32, f32, f32, f32, a *b + c),
    V3("v_min3_f32", f32, f32, f32, f32, __builtin_fminf(__builtin_fminf(a, b), c)),
    V3("v_max3_f32", f32, f32, f32, f32, __builtin_fmaxf(__builtin_fmaxf(a, b), c)),
    V3("v_med3_f32", f32, f32, f32, f32, middle(a, b, c)),
    V3("v_minimum3_f32", f32, f32, f32, f32,
       (is_nan(a) || is_nan(b) || is_nan(c)) ? NaN : __builtin_fminf(__builtin_fminf(a, b), c)),
    V3("v_maximum3_f32", f32, f32, f32, f32,
       (is_nan(a) || is_nan(b) || is_nan(c)) ? NaN : __builtin_fmaxf(__builtin_fmaxf(a, b), c)),
    V2("v_ldexp_f32", f32, f32, i32, __builtin_ldexpf(a, b)),
    V2("v_ldexp_f64", f64, f64, i32, __builtin_ldexp(a, b)),
    V2("v_add_f64", f64, f64, f64, a + b),
    V2("v_mul_f64", f64, f64, f64, a *b),
    V2("v_min_f64", f64, f64, f64, __builtin_fmin(a, b)),
    V2("v_max_f64", f64, f64, f64, __builtin_fmax(a, b)),
    V3("v_fma_f64", f64, f64, f64, f64, __builtin_fma(a, b, c)),
    V_ADDS("v_fmac_f64", f64, f64, f64, __builtin_fma(a, b, c)),
    V1("v_exp_legacy_f32", f32, f32, __builtin_exp2f(a)),
    V1("v_log_legacy_f32", f32, f32, __builtin_log2f(a)),
    V1("v_rcp_f16", f16, f16, (f16)(1.0f / (f32)a)),
    V1("v_rsq_f16", f16, f16, (f16)(1.0f / __builtin_sqrtf((f32)a))),
    V1("v_sqrt_f16", f16, f16, (f16)__builtin_sqrtf((f32)a)),
    V1("v_log_f16", f16, f16, (f16)__builtin_log2f((f32)a)),
    V1("v_exp_f16", f16, f16, (f16)__builtin_exp2f((f32)a)),
    V1("v_floor_f16", f16, f16, (f16)__builtin_floorf((f32)a)),
    V1("v_ceil_f16", f16, f16, (f16)__builtin_ceilf((f32)a)),
    V1("v_trunc_f16", f16, f16, (f16)__builtin_truncf((f32)a)),
    V1("v_rndne_f16", f16, f16, (f16)__builtin_nearbyintf((f32)a)),
    V1("v_fract_f16", f16, f16, (f16)((f32)a - __builtin_floorf((f32)a))),
    V1("v_frexp_exp_i16_f16", i16, f16, ({
         int e = 0;
         f32 x = a;
         if (is_finite(x) && x != 0) __builtin_frexpf(x, &e);
         e;
       })),
    V1("v_frexp_mant_f16", f16, f16, ({
         int e;
         f32 x = a;
         is_finite(x) ? (f16)__builtin_frexpf(x, &e) : a;
       })),
    V2("v_ldexp_f16", f16, f16, i16, (f16)__builtin_ldexpf((f32)a, b)),
    V2("v_add_f16", f16, f16, f16, (f32)a + (f32)b),
    V2("v_sub_f16", f16, f16, f16, (f32)a - (f32)b),
    V2("v_subrev_f16", f16, f16, f16, (f32)b - (f32)a),
    V2("v_mul_f16", f16, f16, f16, product(a, b)),
    V2("v_min_f16", f16, f16, f16, __builtin_fminf(a, b)),
    V2("v_max_f16", f16, f16, f16, __builtin_fmaxf(a, b)),
    V3_KEEPS("v_fma_f16", f16, f16, f16, f16, fused(a, b, c)),
    V3_KEEPS("v_mad_f16", f16, f16, f16, f16, multiplied_added(a, b, c)),
    V_ADDS("v_fmac_f16", f16, f16, f16, fused(a, b, c)),
    V_ADDS("v_mac_f16", f16, f16, f16, multiplied_added(a, b, c)),
    V3("v_madak_f16", f16, f16, f16, f16, multiplied_added(a, b, c)),
    V3("v_madmk_f16", f16, f16, f16, f16, multiplied_added(a, b, c)),
    V3("v_fmaak_f16", f16, f16, f16, f16, fused(a, b, c)),
    V3("v_fmamk_f16", f16, f16, f16, f16, fused(a, b, c)),
    V3_KEEPS("v_med3_f16", f16, f16, f16, f16, middle(a, b, c)),
    V3_KEEPS("v_min3_f16", f16, f16, f16, f16, __builtin_fminf(__builtin_fminf(a, b), c)),
    V3_KEEPS("v_max3_f16", f16, f16, f16, f16, __builtin_fmaxf(__builtin_fmaxf(a, b), c)),
    V1("v_sin_f16", f16, f16, (f16)__builtin_sin((f64)(f32)a *TURN)),
    V1("v_cos_f16", f16, f16, (f16)__builtin_cos((f64)(f32)a *TURN)),
    V2("v_pack_b32_f16", u32, u16, u16, (u32)a | ((u32)b << 16)),
    V3("v_mad_legacy_f16", f16, f16, f16, f16, multiplied_added(a, b, c)),
    V3("v_fma_legacy_f16", f16, f16, f16, f16, fused(a, b, c)),
    {nullptr, nullptr},
};
