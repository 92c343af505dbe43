// The moves of vec.h in SVE's instructions, whose registers have a size that the compiler was told, and in NEON's.
// Included by vec.h; nothing here on another CPU.
#pragma once
#include "vec.h"

namespace imbrex {
#if defined(IMBREX_SVE)

typedef svint32_t fixed_lanes __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)));

// Bit j of the mask as lane j.
template <class T> IMBREX_INLINE svbool_t sve_lanes(mask_t mask) {
  if constexpr (sizeof(T) == 8) {
    const svuint64_t bit = svlsl_x(svptrue_b64(), svdup_u64(1), svindex_u64(0, 1));
    return svcmpne(svptrue_b64(), svand_x(svptrue_b64(), bit, uint64_t(mask)), uint64_t(0));
  } else {
    const svuint32_t bit = svlsl_x(svptrue_b32(), svdup_u32(1), svindex_u32(0, 1));
    return svcmpne(svptrue_b32(), svand_x(svptrue_b32(), bit, mask), uint32_t(0));
  }
}

// From and to registers of SVE's own types.
template <class T, class R> IMBREX_INLINE vec<T> of_sve(R r) {
  return (vec<T>)fixed_lanes(svreinterpret_s32(r));
}
template <class T> IMBREX_INLINE svint32_t to_sve(vec<T> v) { return (fixed_lanes)v; }

// Lanes of the mask from `got`, which is 0 elsewhere, the others from `other`.  As a selection it would become a load with
// other lanes, which clang 22 cannot compile.
IMBREX_INLINE svint32_t beside(svbool_t on, svint32_t got, svint32_t other) {
  return svorr_x(svptrue_b32(), got, svsel(on, svdup_s32(0), other));
}

#define IMBREX_SVE_IO(T, SUFFIX)                                                                                       \
  template <> struct lanes_io<T, T> {                                                                                  \
    IMBREX_INLINE vec<T> load(const T *p) { return *(const typename vector_of<T, vector_bytes>::loose *)p; }           \
    IMBREX_INLINE vec<T> load(const T *p, mask_t mask, vec<T> other) {                                                 \
      const svbool_t on = sve_lanes<T>(mask);                                                                          \
      return of_sve<T>(beside(on, svreinterpret_s32(svld1(on, p)), to_sve<T>(other)));                                 \
    }                                                                                                                  \
    IMBREX_INLINE void store(T *p, vec<T> v, mask_t mask) {                                                            \
      svst1(sve_lanes<T>(mask), p, svreinterpret_##SUFFIX(to_sve<T>(v)));                                              \
    }                                                                                                                  \
    IMBREX_INLINE void store(T *p, vec<T> v) { *(typename vector_of<T, vector_bytes>::loose *)p = v; }                 \
  };
IMBREX_SVE_IO(float, f32)
IMBREX_SVE_IO(double, f64)
IMBREX_SVE_IO(int32_t, s32)
#undef IMBREX_SVE_IO

// Elements of 16 or 8 bits, each in the low part of a lane of 32.
template <class T, class S, class Moves> struct sve_narrow_io {
  IMBREX_INLINE vec<T> load(const S *p) { return of_sve<T>(Moves::load(svptrue_b32(), p)); }
  IMBREX_INLINE vec<T> load(const S *p, mask_t mask, vec<T> other) {
    const svbool_t on = sve_lanes<T>(mask);
    return of_sve<T>(beside(on, svreinterpret_s32(Moves::load(on, p)), to_sve<T>(other)));
  }
  IMBREX_INLINE void store(S *p, vec<T> v, mask_t mask) { Moves::store(sve_lanes<T>(mask), p, to_sve<T>(v)); }
  IMBREX_INLINE void store(S *p, vec<T> v) { Moves::store(svptrue_b32(), p, to_sve<T>(v)); }
};
struct sve_f16 {
  IMBREX_INLINE svfloat32_t load(svbool_t on, const f16 *p) {
    return svcvt_f32_x(svptrue_b32(), svreinterpret_f16(svld1uh_u32(on, &p->bits)));
  }
  IMBREX_INLINE void store(svbool_t on, f16 *p, svint32_t v) {
    svst1h(on, &p->bits, svreinterpret_u32(svcvt_f16_x(svptrue_b32(), svreinterpret_f32(v))));
  }
};
struct sve_bf16 {
  IMBREX_INLINE svuint32_t load(svbool_t on, const bf16 *p) {
    return svlsl_x(svptrue_b32(), svld1uh_u32(on, &p->bits), 16);
  }
  IMBREX_INLINE void store(svbool_t on, bf16 *p, svint32_t v) {
    const svbool_t all = svptrue_b32();
    const svuint32_t u = svreinterpret_u32(v), high = svlsr_x(all, u, 16);
    const svfloat32_t x = svreinterpret_f32(v);
    const svuint32_t rounded = svlsr_x(all, svadd_x(all, svadd_x(all, u, 0x7fff), svand_x(all, high, 1)), 16);
    svst1h(on, &p->bits, svsel(svcmpuo(all, x, x), svorr_x(all, high, 0x40), rounded));
  }
};
struct sve_i8 {
  IMBREX_INLINE svint32_t load(svbool_t on, const int8_t *p) { return svld1sb_s32(on, p); }
  IMBREX_INLINE void store(svbool_t on, int8_t *p, svint32_t v) { svst1b(on, p, v); }
};
template <> struct lanes_io<float, f16> : sve_narrow_io<float, f16, sve_f16> {};
template <> struct lanes_io<float, bf16> : sve_narrow_io<float, bf16, sve_bf16> {};
template <> struct lanes_io<int32_t, int8_t> : sve_narrow_io<int32_t, int8_t, sve_i8> {};

#elif defined(__aarch64__)

// NEON has no masks: a vector of which some lanes do not exist moves lane by lane.
template <class S, class Moves> struct neon_narrow_io : Moves {
  using Moves::load, Moves::store;
  IMBREX_INLINE vec<float> load(const S *p, mask_t mask, vec<float> other) {
    for (int j = 0; j < width<float>; ++j)
      if (mask >> j & 1) other[j] = widen(p[j]);
    return other;
  }
  IMBREX_INLINE void store(S *p, vec<float> v, mask_t mask) {
    for (int j = 0; j < width<float>; ++j)
      if (mask >> j & 1) p[j] = narrow_to<S>::from(v[j]);
  }
};
struct neon_f16 {
  typedef __fp16 halves __attribute__((vector_size(8), aligned(1), may_alias));
  IMBREX_INLINE vec<float> load(const f16 *p) { return __builtin_convertvector(*(const halves *)p, vec<float>); }
  IMBREX_INLINE void store(f16 *p, vec<float> v) { *(halves *)p = __builtin_convertvector(v, halves); }
};
struct neon_bf16 {
  typedef uint16_t halves __attribute__((vector_size(8), aligned(1), may_alias));
  typedef vec<uint32_t> words;
  IMBREX_INLINE vec<float> load(const bf16 *p) {
    return (vec<float>)(__builtin_convertvector(*(const halves *)p, words) << 16);
  }
  IMBREX_INLINE void store(bf16 *p, vec<float> v) {
    const words u = (words)v, high = u >> 16, is_nan = (words)(v != v);
    const words rounded = (u + 0x7fff + (high & 1)) >> 16;
    *(halves *)p = __builtin_convertvector((is_nan & (high | 0x40)) | (~is_nan & rounded), halves);
  }
};
template <> struct lanes_io<float, f16> : neon_narrow_io<f16, neon_f16> {};
template <> struct lanes_io<float, bf16> : neon_narrow_io<bf16, neon_bf16> {};

#endif
} // namespace imbrex
