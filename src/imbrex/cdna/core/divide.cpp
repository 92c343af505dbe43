// Division: the steps of which the compiler makes a quotient.
#include "operand.h"

template <class T> T scaled(T x, int by) {
  return sizeof(T) == 4 ? T(__builtin_ldexpf(f32(x), by)) : T(__builtin_ldexp(f64(x), by));
}

// v_div_scale: moves numerator and denominator to where a quotient neither overflows nor becomes subnormal; VCC says
// for which lanes v_div_fmas must move it back.  As AMD's documents give it in pseudocode, but for a denominator whose
// inverse is subnormal, as is the quotient: it gets smaller here, and would be infinite there.
template <class T> void div_scale(Wave &w, const Instruction &i) {
  constexpr bool is_f32 = sizeof(T) == 4;
  constexpr int by = is_f32 ? 64 : 128, far = is_f32 ? 96 : 768, low = is_f32 ? 23 : 53;
  constexpr T smallest = is_f32 ? T(1.17549435e-38f) : T(2.2250738585072014e-308);
  const auto exponent = [](T x) -> int {
    if constexpr (sizeof(T) == 4) return bit_cast<u32>(x) >> 23 & 0xff;
    else return int(bit_cast<u64>(x) >> 52 & 0x7ff);
  };
  const auto is_subnormal = [&](T x) { return x != 0 && __builtin_fabs(f64(x)) < smallest; };
  const auto quotient_is_subnormal = [&](T n, T d) {
    const long double q = __builtin_fabsl((long double)n / (long double)d);
    return q != 0 && q < (long double)smallest;
  };
  w.written = w.exec();
  T a[64], b[64], c[64], d[64];
  fetch<T>(w, i, 2, a), fetch<T>(w, i, 3, b), fetch<T>(w, i, 4, c);
  u64 moved = 0;
  FOR_LANES {
    const T s0 = a[l], s1 = b[l], s2 = c[l];
    const bool is_second = __builtin_memcmp(&s0, &s1, sizeof s0) == 0,
               is_third = __builtin_memcmp(&s0, &s2, sizeof s0) == 0;
    T r = s0;
    bool flag = false;
    if (s2 == 0 || s1 == 0) r = T(NaN);
    else if (exponent(s2) - exponent(s1) >= far) {
      flag = true;
      if (is_second) r = scaled(s0, by);
    } else if (is_subnormal(s1)) r = scaled(s0, by);
    else if (quotient_is_subnormal(1, s1) && quotient_is_subnormal(s2, s1)) {
      flag = true;
      if (is_second) r = scaled(s0, -by);
    } else if (quotient_is_subnormal(1, s1)) r = scaled(s0, -by);
    else if (quotient_is_subnormal(s2, s1)) {
      flag = true;
      if (is_third) r = scaled(s0, by);
    } else if (exponent(s2) <= low) r = scaled(s0, by);
    d[l] = r;
    if (flag && (w.written >> l & 1)) moved |= 1ull << l;
  }
  put<T>(w, i, 0, d);
  set64(w, i.o[1], moved);
}

// v_div_fixup: the quotient a of c by b, with its sign and its special cases.  Where a is no number though c and b are,
// it has met infinity on its way, and is infinite: without this, which AMD's text leaves out, division is not IEEE's.
template <class T> T fixed(T a, T b, T c) {
  const f64 x = f64(b), y = f64(c);
  const bool sign = sign_of(x) != sign_of(y);
  if (is_nan(y)) return c;
  if (is_nan(x)) return b;
  if ((x == 0 && y == 0) || (is_inf(x) && is_inf(y))) return T(NaN);
  if (x == 0 || is_inf(y)) return T(sign ? -INFINITE : INFINITE);
  if (is_inf(x) || y == 0) return T(sign ? -0.f : 0.f);
  const f64 r = is_nan(f64(a)) ? INFINITE : __builtin_fabs(f64(a));
  return T(sign ? -r : r);
}

extern const Row DIVIDE[];
const Row DIVIDE[] = {
    {"v_div_scale_f32", div_scale<f32>},
    {"v_div_scale_f64", div_scale<f64>},
    DO("v_div_fmas_f32",
       {
         w.written = w.exec();
         f32 a[64], b[64], c[64], d[64];
         fetch<f32>(w, i, 1, a);
         fetch<f32>(w, i, 2, b);
         fetch<f32>(w, i, 3, c);
         const u64 vc = w.vcc();
         FOR_LANES {
           d[l] = __builtin_fmaf(a[l], b[l], c[l]);
           if ((vc >> l) & 1) {
             int e = (bit_cast<u32>(c[l]) >> 23) & 0xff;
             d[l] = __builtin_ldexpf(d[l], e > 127 ? 64 : -64);
           }
         }
         put<f32>(w, i, 0, d);
       }),
    V3("v_div_fixup_f32", f32, f32, f32, f32, ({
         u32 so = (bit_cast<u32>(b) ^ bit_cast<u32>(c)) & 0x80000000;
         f32 r;
         if (is_nan(c)) r = c;
         else if (is_nan(b)) r = b;
         else if ((b == 0 && c == 0) || (is_inf(b) && is_inf(c))) r = NaN;
         else if (b == 0 || is_inf(c)) r = bit_cast<f32>(so | 0x7f800000u);
         else if (is_inf(b) || c == 0) r = bit_cast<f32>(so);
         else {
           int e1 = (bit_cast<u32>(b) >> 23) & 0xff, e2 = (bit_cast<u32>(c) >> 23) & 0xff;
           if (e2 - e1 < -150) r = bit_cast<f32>(so);
           else if (e1 == 255 || is_nan(a)) r = bit_cast<f32>(so | 0x7f800000u);
           else r = bit_cast<f32>((bit_cast<u32>(a) & 0x7fffffff) | so);
         }
         r;
       })),
    DO("v_div_fmas_f64",
       {
         w.written = w.exec();
         f64 a[64], b[64], c[64], d[64];
         fetch<f64>(w, i, 1, a);
         fetch<f64>(w, i, 2, b);
         fetch<f64>(w, i, 3, c);
         const u64 vc = w.vcc();
         FOR_LANES {
           d[l] = __builtin_fma(a[l], b[l], c[l]);
           if ((vc >> l) & 1) {
             int e = (bit_cast<u64>(c[l]) >> 52) & 0x7ff;
             d[l] = __builtin_ldexp(d[l], e > 1023 ? 128 : -128);
           }
         }
         put<f64>(w, i, 0, d);
       }),
    V3("v_div_fixup_f64", f64, f64, f64, f64, fixed<f64>(a, b, c)),
    V3("v_div_fixup_legacy_f16", f16, f16, f16, f16, fixed<f16>(a, b, c)),
    V3_KEEPS("v_div_fixup_f16", f16, f16, f16, f16, fixed<f16>(a, b, c)),
    {nullptr, nullptr},
};
