// Two or more products or sums in one register: VOP3P without the matrix instructions.
#include "operand.h"

static bool bit(i32 bits, int at) { return bits >> at & 1; }

// Of packed halves: which half of a source each result takes, and with which sign.
static void halves(Wave &w, const Instruction &i, int k, bool is_real, u16 *low, u16 *high) {
  const Operand &o = i.o[k];
  u32 r[64];
  if (o.kind == FLOAT && is_real) {
    const u32 h = half_bits(o.real);
    FOR_LANES r[l] = h;
  } else lanes32(w, i, k, r);
  const int from_low = bit(i.op_sel, k - 1) ? 16 : 0, from_high = bit(i.op_sel_hi, k - 1) ? 16 : 0;
  const u16 turn_low = bit(i.neg_lo, k - 1) ? 0x8000 : 0, turn_high = bit(i.neg_hi, k - 1) ? 0x8000 : 0;
  FOR_LANES low[l] = u16(r[l] >> from_low) ^ turn_low, high[l] = u16(r[l] >> from_high) ^ turn_high;
}
template <class T, class F> void on_halves(Wave &w, const Instruction &i, F f) {
  constexpr bool is_real = same<T, f16>;
  w.written = w.exec();
  u16 low[3][64], high[3][64];
  for (int k = 0; k < 3; ++k)
    if (k + 1 < i.operands) halves(w, i, k + 1, is_real, low[k], high[k]);
    else __builtin_memset(low[k], 0, sizeof low[k]), __builtin_memset(high[k], 0, sizeof high[k]);
  u32 d[64];
  FOR_LANES {
    T a = f(bit_cast<T>(low[0][l]), bit_cast<T>(low[1][l]), bit_cast<T>(low[2][l]));
    T b = f(bit_cast<T>(high[0][l]), bit_cast<T>(high[1][l]), bit_cast<T>(high[2][l]));
    if constexpr (is_real) a = modified<f16>(i, a), b = modified<f16>(i, b);
    d[l] = bit_cast<u16>(a) | u32(bit_cast<u16>(b)) << 16;
  }
  put32(w, i, 0, d);
}

// Of packed floats: two registers each; a constant is in both.
static void pair(Wave &w, const Instruction &i, int k, u32 *low, u32 *high) {
  const Operand &o = i.o[k];
  const bool has_two = o.kind == VECTOR || o.kind == SCALAR;
  const int from_low = has_two && bit(i.op_sel, k - 1), from_high = has_two && bit(i.op_sel_hi, k - 1);
  const u32 turn_low = bit(i.neg_lo, k - 1) ? 1u << 31 : 0, turn_high = bit(i.neg_hi, k - 1) ? 1u << 31 : 0;
  const u32 constant = has_two ? 0 : scalar32(w, o);
  const auto value = [&](int from, int l) {
    return o.kind == VECTOR ? w.v[o.index + from][l] : has_two ? w.s[o.index + from] : constant;
  };
  FOR_LANES low[l] = value(from_low, l) ^ turn_low, high[l] = value(from_high, l) ^ turn_high;
}
template <class F> void on_pairs(Wave &w, const Instruction &i, F f) {
  w.written = w.exec();
  u32 low[3][64] = {}, high[3][64] = {};
  for (int k = 1; k < i.operands; ++k) pair(w, i, k, low[k - 1], high[k - 1]);
  u64 d[64];
  FOR_LANES {
    const auto one = [&](u32(&x)[3][64]) {
      const f32 r = f(bit_cast<f32>(x[0][l]), bit_cast<f32>(x[1][l]), bit_cast<f32>(x[2][l]));
      return u64(bit_cast<u32>(modified<f32>(i, r)));
    };
    d[l] = one(low) | one(high) << 32;
  }
  put64(w, i, 0, d);
}
// The low result is of the first source, the high one of the second, each by its own bit of op_sel.
static void moved_pair(Wave &w, const Instruction &i) {
  w.written = w.exec();
  u32 low[2][64], high[2][64];
  pair(w, i, 1, low[0], high[0]), pair(w, i, 2, low[1], high[1]);
  u64 d[64];
  FOR_LANES d[l] = low[0][l] | u64(low[1][l]) << 32;
  put64(w, i, 0, d);
}
static f16 fused(f16 a, f16 b, f16 c) { return f64(f32(a)) * f64(f32(b)) + f64(f32(c)); }
static void added_halves(Wave &w, const Instruction &i) {
  w.written = w.exec();
  u32 a[64], b[64], d[64];
  lanes32(w, i, 1, a), lanes32(w, i, 2, b);
  FOR_LANES {
    const u32 c = w.v[i.o[0].index][l];
    const auto one = [&](int at) {
      return u32(
          fused(bit_cast<f16>(u16(a[l] >> at)), bit_cast<f16>(u16(b[l] >> at)), bit_cast<f16>(u16(c >> at))).bits);
    };
    d[l] = one(0) | one(16) << 16;
  }
  put32(w, i, 0, d);
}

// A multiply-add whose sources are floats or halves, by op_sel_hi.  Result: 0 a float, 1 the low half, 2 the high half.
static void mixed_source(Wave &w, const Instruction &i, int k, f32 *out) {
  const Operand &o = i.o[k];
  const bool is_half = bit(i.op_sel_hi, k - 1);
  const int from = bit(i.op_sel, k - 1) ? 16 : 0;
  u32 r[64];
  if (is_half && o.kind == FLOAT) {
    const u32 h = half_bits(o.real);
    FOR_LANES r[l] = h;
  } else lanes32(w, i, k, r);
  FOR_LANES {
    f32 x = is_half ? half_value(u16(r[l] >> from)) : bit_cast<f32>(r[l]);
    if (o.absolute) x = __builtin_fabsf(x);
    out[l] = o.negative ? -x : x;
  }
}
template <int Result> void mixed(Wave &w, const Instruction &i) {
  w.written = w.exec();
  f32 a[64], b[64], c[64];
  u32 d[64];
  mixed_source(w, i, 1, a), mixed_source(w, i, 2, b), mixed_source(w, i, 3, c);
  FOR_LANES {
    f32 r = __builtin_fmaf(a[l], b[l], c[l]);
    if (i.clamp) r = r > 0 ? r > 1 ? 1 : r : 0;
    const u32 h = half_bits(r), old = w.v[i.o[0].index][l];
    d[l] = Result == 0 ? bit_cast<u32>(r) : Result == 1 ? (old & 0xffff0000) | h : (old & 0xffff) | h << 16;
  }
  put32(w, i, 0, d);
}

// Sums of products of parts of a register.
enum Dot { F16, BF16, I16, U16, I8, U8, I4, U4 };
template <Dot D> u32 dot(u32 x, u32 y, u32 c, bool clamps) {
  constexpr int width = D <= U16 ? 16 : D <= U8 ? 8 : 4;
  if constexpr (D == F16 || D == BF16) {
    f64 sum = bit_cast<f32>(c);
    for (int at = 0; at < 32; at += 16) {
      const u16 p = u16(x >> at), q = u16(y >> at);
      sum += D == F16 ? f64(half_value(p)) * half_value(q) : f64(bf16_value(p)) * bf16_value(q);
    }
    return bit_cast<u32>(f32(sum));
  } else {
    constexpr bool is_signed = D == I16 || D == I8 || D == I4;
    i64 sum = is_signed ? i64(i32(c)) : i64(c);
    for (int at = 0; at < 32; at += width) {
      const u32 p = x << (32 - width - at), q = y << (32 - width - at);
      sum += is_signed ? i64(i32(p) >> (32 - width)) * (i32(q) >> (32 - width))
                       : i64(p >> (32 - width)) * (q >> (32 - width));
    }
    if (!clamps) return u32(sum);
    return is_signed ? u32(most<i64>(-2147483648ll, least<i64>(2147483647ll, sum)))
                     : u32(least<i64>(0xffffffffll, sum));
  }
}
template <Dot D, bool Adds> void dots(Wave &w, const Instruction &i) {
  w.written = w.exec();
  u32 x[64], y[64], c[64], d[64];
  lanes32(w, i, 1, x), lanes32(w, i, 2, y);
  if (Adds) __builtin_memcpy(c, w.v[i.o[0].index], sizeof c);
  else lanes32(w, i, 3, c);
  if (!Adds && D <= U16) {
    const auto turned = [&](int k, u32 r) {
      const u32 low = (bit(i.op_sel, k) ? r >> 16 : r & 0xffff) ^ (bit(i.neg_lo, k) ? 0x8000 : 0);
      const u32 high = (bit(i.op_sel_hi, k) ? r >> 16 : r & 0xffff) ^ (bit(i.neg_hi, k) ? 0x8000 : 0);
      return low | high << 16;
    };
    FOR_LANES x[l] = turned(0, x[l]), y[l] = turned(1, y[l]), c[l] ^= bit(i.neg_lo, 2) ? 1u << 31 : 0;
  }
  FOR_LANES d[l] = dot<D>(x[l], y[l], c[l], i.clamp);
  put32(w, i, 0, d);
}

#define P(name, T, ...)                                                                                                \
  Row {                                                                                                                \
    name, [](Wave &w, const Instruction &i) {                                                                          \
      on_halves<T>(w, i, [](T a, T b, T c) -> T { return (void)c, (T)(__VA_ARGS__); });                                \
    }                                                                                                                  \
  }
#define P32(name, ...)                                                                                                 \
  Row {                                                                                                                \
    name, [](Wave &w, const Instruction &i) {                                                                          \
      on_pairs(w, i, [](f32 a, f32 b, f32 c) -> f32 { return (void)c, (__VA_ARGS__); });                               \
    }                                                                                                                  \
  }
static f16 least3(f16 a, f16 b, f16 c) {
  return is_nan(a) || is_nan(b) || is_nan(c) ? NaN : __builtin_fminf(__builtin_fminf(a, b), c);
}
static f16 most3(f16 a, f16 b, f16 c) {
  return is_nan(a) || is_nan(b) || is_nan(c) ? NaN : __builtin_fmaxf(__builtin_fmaxf(a, b), c);
}

extern const Row PACKED[];
const Row PACKED[] = {
    P("v_pk_add_f16", f16, f32(a) + f32(b)),
    P("v_pk_mul_f16", f16, f32(a) * f32(b)),
    P("v_pk_min_f16", f16, __builtin_fminf(a, b)),
    P("v_pk_max_f16", f16, __builtin_fmaxf(a, b)),
    P("v_pk_fma_f16", f16, fused(a, b, c)),
    P("v_pk_minimum3_f16", f16, least3(a, b, c)),
    P("v_pk_maximum3_f16", f16, most3(a, b, c)),
    {"v_pk_fmac_f16", added_halves},
    P("v_pk_add_u16", u16, a + b),
    P("v_pk_sub_u16", u16, a - b),
    P("v_pk_add_i16", i16, a + b),
    P("v_pk_sub_i16", i16, a - b),
    P("v_pk_mul_lo_u16", u16, u32(a) * b),
    P("v_pk_lshlrev_b16", u16, b << (a & 15)),
    P("v_pk_lshrrev_b16", u16, b >> (a & 15)),
    P("v_pk_ashrrev_i16", i16, b >> (a & 15)),
    P("v_pk_max_i16", i16, most(a, b)),
    P("v_pk_min_i16", i16, least(a, b)),
    P("v_pk_max_u16", u16, most(a, b)),
    P("v_pk_min_u16", u16, least(a, b)),
    P("v_pk_mad_u16", u16, u32(a) * b + c),
    P("v_pk_mad_i16", i16, i32(a) * b + c),
    P32("v_pk_add_f32", a + b),
    P32("v_pk_mul_f32", a *b),
    P32("v_pk_fma_f32", __builtin_fmaf(a, b, c)),
    {"v_pk_mov_b32", moved_pair},
    {"v_fma_mix_f32", mixed<0>},
    {"v_fma_mixlo_f16", mixed<1>},
    {"v_fma_mixhi_f16", mixed<2>},
    {"v_dot2_f32_f16", dots<F16, false>},
    {"v_dot2c_f32_f16", dots<F16, true>},
    {"v_dot2_f32_bf16", dots<BF16, false>},
    {"v_dot2c_f32_bf16", dots<BF16, true>},
    {"v_dot2_i32_i16", dots<I16, false>},
    {"v_dot2c_i32_i16", dots<I16, true>},
    {"v_dot2_u32_u16", dots<U16, false>},
    {"v_dot4_i32_i8", dots<I8, false>},
    {"v_dot4c_i32_i8", dots<I8, true>},
    {"v_dot4_u32_u8", dots<U8, false>},
    {"v_dot8_i32_i4", dots<I4, false>},
    {"v_dot8c_i32_i4", dots<I4, true>},
    {"v_dot8_u32_u4", dots<U4, false>},
    {nullptr, nullptr},
};
