// What epilogues compute with on a GPU of AMD's: v_exp_f32 and v_rcp_f32, each to 1 unit in the last place.
#pragma once
#include "language.h"

namespace imbrex {

IMBREX_INLINE float power_of_two(float x) { return __builtin_amdgcn_exp2f(x); }
IMBREX_INLINE float reciprocal(float x) { return __builtin_amdgcn_rcpf(x); }
IMBREX_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
IMBREX_INLINE float magnitude(float x) { return __builtin_fabsf(x); }
IMBREX_INLINE float nearest(float x) { return __builtin_rintf(x); }
IMBREX_INLINE float with_sign(float size, float x) { return __builtin_copysignf(size, x); }
} // namespace imbrex
#include "../common/epilogue.h"
