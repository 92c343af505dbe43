// Numbers as the registers hold them: integers of a width, halves, bfloat16, and floats of 8, 6 and 4 bits.
//
// Nothing is included: the compiler that comes with the package has no C library; what is called here the
// process has.
#pragma once

using u8 = unsigned char;
using i8 = signed char;
using u16 = unsigned short;
using i16 = short;
using u32 = unsigned;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;
using f32 = float;
using f64 = double;

#define FOR_LANES for (int l = 0; l < 64; ++l)

template <class To, class From> inline To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

template <class T> inline T least(T a, T b) { return b < a ? b : a; }
template <class T> inline T most(T a, T b) { return a < b ? b : a; }
template <class T> inline void swap(T &a, T &b) {
  const T t = a;
  a = b;
  b = t;
}
template <class T, class U> constexpr bool same = false;
template <class T> constexpr bool same<T, T> = true;

inline bool is_nan(f64 x) { return __builtin_isnan(x); }
inline bool is_inf(f64 x) { return __builtin_isinf(x); }
inline bool is_finite(f64 x) { return __builtin_isfinite(x); }
inline bool sign_of(f64 x) { return __builtin_signbit(x); }
constexpr f32 NaN = __builtin_nanf(""), INFINITE = __builtin_inff();

// IEEE binary16.  Rounding of what is wider is to the nearest even.
inline f32 half_value(u16 h) {
#ifdef __F16C__
  return f32(bit_cast<_Float16>(h));
#else
  const u32 sign = u32(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023;
  if (e == 31) return bit_cast<f32>(sign | 0x7f800000u | m << 13);
  if (e) return bit_cast<f32>(sign | (e + 112) << 23 | m << 13);
  const f32 small = f32(m) * 0x1p-24f;
  return sign ? -small : small;
#endif
}

inline u16 half_bits(f64 x) {
  const u64 u = bit_cast<u64>(x);
  const u16 sign = u16(u >> 48 & 0x8000);
  const int e = int(u >> 52 & 0x7ff) - 1023;
  if (e == 1024) return u16(sign | 0x7c00 | (u << 12 ? 0x200 | (u >> 42 & 0x3ff) : 0));
  if (e > 15) return u16(sign | 0x7c00);
  if (e < -25) return sign;
  const u64 m = (u & 0xfffffffffffffull) | 1ull << 52;
  const int drop = e < -14 ? 42 + (-14 - e) : 42;
  const u64 rest = m & ((1ull << drop) - 1), half = 1ull << (drop - 1);
  u64 kept = m >> drop;
  kept += rest > half || (rest == half && (kept & 1));
  return u16(sign | (e < -14 ? kept : kept + (u64(e + 14) << 10)));
}

struct f16 {
  u16 bits;
  f16() = default;
  f16(f32 x) {
#ifdef __F16C__
    bits = bit_cast<u16>(_Float16(x));
#else
    bits = half_bits(x);
#endif
  }
  f16(f64 x) : bits(half_bits(x)) {}
  f16(i32 x) : f16(f32(x)) {}
  operator f32() const { return half_value(bits); }
};

inline f32 bf16_value(u16 b) { return bit_cast<f32>(u32(b) << 16); }
inline u16 bf16_bits(f32 x) {
  const u32 u = bit_cast<u32>(x);
  if ((u & 0x7fffffff) > 0x7f800000) return u16(u >> 16 | 0x40);
  return u16((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

// 8-bit floats of e exponent and m fraction bits.  is_fnuz: AMD's, with one zero, no infinity and a bias of one more.
inline f32 narrow_value(u8 b, int e_bits, int m_bits, bool is_fnuz) {
  const int bias = (1 << (e_bits - 1)) - 1 + is_fnuz, e = b >> m_bits & ((1 << e_bits) - 1),
            m = b & ((1 << m_bits) - 1);
  const bool sign = b >> 7;
  if (is_fnuz && b == 0x80) return NaN;
  if (!is_fnuz && e_bits == 5 && e == 31) return m ? NaN : sign ? -INFINITE : INFINITE;
  if (!is_fnuz && e_bits == 4 && e == 15 && m == 7) return NaN;
  const f32 v = e == 0 ? __builtin_ldexpf(f32(m), 1 - bias - m_bits)
                       : __builtin_ldexpf(f32(m + (1 << m_bits)), e - bias - m_bits);
  return sign ? -v : v;
}

// saturates: what is too large becomes the largest number, and not infinity or NaN.
inline u8 narrow_bits(f32 x, int e_bits, int m_bits, bool is_fnuz, bool saturates) {
  const u8 sign = __builtin_signbit(x) ? 0x80 : 0;
  const f32 a = __builtin_fabsf(x), largest = e_bits == 4 ? (is_fnuz ? 240.f : 448.f) : 57344.f;
  const u8 beyond = is_fnuz ? 0x80 : u8(e_bits == 5 ? (sign | 0x7c) : (sign | 0x7f));
  if (is_nan(x)) return is_fnuz ? 0x80 : u8(sign | 0x7f);
  if (is_inf(x) && !saturates) return beyond;
  if (a == 0) return is_fnuz ? 0 : sign;
  const int bias = (1 << (e_bits - 1)) - 1 + is_fnuz;
  int exponent;
  __builtin_frexpf(a, &exponent);
  exponent = most(exponent - 1, 1 - bias);
  f64 value = __builtin_ldexp(__builtin_nearbyint(__builtin_ldexp(f64(a), m_bits - exponent)), exponent - m_bits);
  if (value > largest) {
    if (!saturates) return beyond;
    value = largest;
  }
  if (value == 0) return is_fnuz ? 0 : sign;
  __builtin_frexp(value, &exponent);
  --exponent;
  if (exponent < 1 - bias) return u8(sign | int(__builtin_ldexp(value, m_bits - (1 - bias))));
  return u8(sign | (exponent + bias) << m_bits | (int(__builtin_ldexp(value, m_bits - exponent)) - (1 << m_bits)));
}

// e3m2 where is_wide, else e2m3.
inline f32 six_bits_value(u32 b, bool is_wide) {
  const int e_bits = is_wide ? 3 : 2, m_bits = is_wide ? 2 : 3, bias = is_wide ? 3 : 1;
  const int e = b >> m_bits & ((1 << e_bits) - 1), m = b & ((1 << m_bits) - 1);
  const f32 v = e == 0 ? __builtin_ldexpf(f32(m), 1 - bias - m_bits)
                       : __builtin_ldexpf(f32(m + (1 << m_bits)), e - bias - m_bits);
  return b >> 5 & 1 ? -v : v;
}
inline f32 four_bits_value(u32 b) {
  constexpr f32 values[8] = {0, .5f, 1, 1.5f, 2, 3, 4, 6};
  return b & 8 ? -values[b & 7] : values[b & 7];
}

// Conversions to integers: NaN is 0, and what is too large the nearest.
inline i32 to_i32(f64 x) {
  return is_nan(x) ? 0 : x >= 2147483647. ? 0x7fffffff : x <= -2147483648. ? i32(0x80000000) : i32(x);
}
inline u32 to_u32(f64 x) { return is_nan(x) || x <= 0 ? 0 : x >= 4294967295. ? 0xffffffffu : u32(x); }
