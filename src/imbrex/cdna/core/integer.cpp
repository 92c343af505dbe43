// Arithmetic and logic of integers.
#include "operand.h"

template <class T> T middle(T a, T b, T c) { return most(least(a, b), least(most(a, b), c)); }
static i32 low24(i32 x) { return i32(u32(x) << 8) >> 8; }
template <class T> T bounded(i64 x) {
  constexpr i64 low = sizeof(T) == 4 ? -2147483648ll : -32768ll;
  return T(most(low, least(-1 - low, x)));
}

// The bytes of b and a, lowest first, and the signs of their halves, chosen by the bytes of c.
static u32 permuted(u32 a, u32 b, u32 c) {
  const u64 from = u64(a) << 32 | b;
  u32 result = 0;
  for (int q = 0; q < 4; ++q) {
    const u32 which = c >> (8 * q) & 0xff;
    u32 byte = 0xff;
    if (which < 8) byte = u32(from >> (8 * which) & 0xff);
    else if (which < 12) byte = from >> ((which - 8) * 16 + 15) & 1 ? 0xff : 0;
    else if (which == 12) byte = 0;
    result |= byte << (8 * q);
  }
  return result;
}
static u32 byte_differences(u32 a, u32 b, u32 c) {
  for (int q = 0; q < 4; ++q) {
    const int x = a >> (8 * q) & 0xff, y = b >> (8 * q) & 0xff;
    c += u32(x > y ? x - y : y - x);
  }
  return c;
}
// Any function of three bits, by its table.
template <class T> void truth_table(Wave &w, const Instruction &i) {
  w.written = w.exec();
  T a[64], b[64], c[64], d[64];
  fetch<T>(w, i, 1, a), fetch<T>(w, i, 2, b), fetch<T>(w, i, 3, c);
  FOR_LANES {
    u32 r = 0;
    for (int q = 0; q < 8; ++q)
      if (i.bitop3 >> q & 1) r |= (q & 4 ? a[l] : ~a[l]) & (q & 2 ? b[l] : ~b[l]) & (q & 1 ? c[l] : ~c[l]);
    d[l] = T(r);
  }
  put<T>(w, i, 0, d);
}
// Two shifted numbers, kept within a byte each.
template <bool IsUnsigned> void shifted_pair(Wave &w, const Instruction &i) {
  w.written = w.exec();
  i32 a[64], b[64];
  u32 c[64], d[64];
  fetch<i32>(w, i, 1, a), fetch<i32>(w, i, 2, b), fetch<u32>(w, i, 3, c);
  FOR_LANES {
    const auto one = [&](i32 x) -> u32 {
      const i32 y = x >> (c[l] & 31);
      return IsUnsigned ? u8(most(0, least(255, y))) : u8(i8(most(-128, least(127, y))));
    };
    const u32 r = one(a[l]) | one(b[l]) << 8, old = w.v[i.o[0].index][l];
    d[l] = i.op_sel >> 3 & 1 ? (old & 0xffff) | r << 16 : (old & 0xffff0000) | r;
  }
  put32(w, i, 0, d);
}
// Results beside a carry.  Step: 0 adds, 1 subtracts, 2 subtracts the first from the second.
template <int Step, bool TakesCarry> void carried(Wave &w, const Instruction &i) {
  w.written = w.exec();
  u32 a[64], b[64], d[64];
  lanes32(w, i, 2, a), lanes32(w, i, 3, b);
  const u64 in = TakesCarry ? scalar64(w, i.o[4]) : 0;
  u64 out = 0;
  FOR_LANES {
    const u64 c = in >> l & 1, from = Step == 2 ? b[l] : a[l], other = Step == 2 ? a[l] : b[l];
    const u64 r = Step == 0 ? from + other + c : from - other - c;
    const bool carry = Step == 0 ? r >> 32 : other + c > from;
    d[l] = i.clamp && carry ? (Step ? 0 : ~0u) : u32(r);
    if (carry && (w.written >> l & 1)) out |= 1ull << l;
  }
  put32(w, i, 0, d);
  set64(w, i.o[1], out);
}
template <bool IsSigned> void wide_multiplied_added(Wave &w, const Instruction &i) {
  w.written = w.exec();
  u32 a[64], b[64];
  u64 c[64], d[64], out = 0;
  lanes32(w, i, 2, a), lanes32(w, i, 3, b);
  fetch<u64>(w, i, 4, c);
  FOR_LANES {
    d[l] = (IsSigned ? u64(i64(i32(a[l])) * i32(b[l])) : u64(a[l]) * b[l]) + c[l];
    if (!IsSigned && d[l] < c[l] && (w.written >> l & 1)) out |= 1ull << l;
  }
  put<u64>(w, i, 0, d);
  set64(w, i.o[1], out);
}
// Sums that may be kept within their type.
template <class T, int Step> void summed(Wave &w, const Instruction &i) {
  constexpr bool is_signed = T(-1) < T(0);
  constexpr i64 top = is_signed ? 0 : sizeof(T) == 4 ? 0xffffffffll : 0xffff;
  const bool clamps = i.clamp;
  binary<T, T, T>(w, i, [clamps](T a, T b) -> T {
    const i64 x = Step == 2 ? b : a, y = Step == 2 ? a : b, r = Step == 0 ? x + y : x - y;
    if (!clamps) return T(r);
    if constexpr (is_signed) return bounded<T>(r);
    else return T(most<i64>(0, least(top, r)));
  });
}

extern const Row INTEGERS[];
const Row INTEGERS[] = {
    V3("v_perm_b32", u32, u32, u32, u32, permuted(a, b, c)),
    V3("v_sad_u8", u32, u32, u32, u32, byte_differences(a, b, c)),
    {"v_bitop3_b32", truth_table<u32>},
    {"v_bitop3_b16", truth_table<u16>},
    {"v_mad_u64_u32", wide_multiplied_added<false>},
    {"v_mad_i64_i32", wide_multiplied_added<true>},
    {"v_add_u32", summed<u32, 0>},
    {"v_add_i32", summed<i32, 0>},
    {"v_add_u16", summed<u16, 0>},
    {"v_add_i16", summed<i16, 0>},
    {"v_sub_u32", summed<u32, 1>},
    {"v_sub_i32", summed<i32, 1>},
    {"v_sub_u16", summed<u16, 1>},
    {"v_sub_i16", summed<i16, 1>},
    {"v_subrev_u32", summed<u32, 2>},
    {"v_subrev_u16", summed<u16, 2>},
    {"v_add_co_u32", carried<0, false>},
    {"v_sub_co_u32", carried<1, false>},
    {"v_subrev_co_u32", carried<2, false>},
    {"v_addc_co_u32", carried<0, true>},
    {"v_subb_co_u32", carried<1, true>},
    {"v_subbrev_co_u32", carried<2, true>},
    {"v_ashr_pk_i8_i32", shifted_pair<false>},
    {"v_ashr_pk_u8_i32", shifted_pair<true>},
    V1("v_not_b32", u32, u32, ~a),
    V1("v_bfrev_b32", u32, u32, __builtin_bitreverse32(a)),
    V1("v_ffbh_u32", u32, u32, a ? __builtin_clz(a) : ~0u),
    V1("v_ffbl_b32", u32, u32, a ? __builtin_ctz(a) : ~0u),
    V1("v_ffbh_i32", u32, i32, ({
         u32 x = a < 0 ? ~a : a;
         x ? (u32)__builtin_clz(x) : ~0u;
       })),
    V1("v_prng_b32", u32, u32, ((a << 1) ^ ((a & 0x80000000) ? 197u : 0u))),
    V2("v_bcnt_u32_b32", u32, u32, u32, (u32)__builtin_popcount(a) + b),
    V2("v_bfm_b32", u32, u32, u32, ((1u << (a & 31)) - 1) << (b & 31)),
    V2("v_mul_i32_i24", i32, i32, i32, (i64)low24(a) * low24(b)),
    V2("v_mul_u32_u24", u32, u32, u32, (a & 0xffffff) * (b & 0xffffff)),
    V2("v_mul_hi_u32_u24", u32, u32, u32, ((u64)(a & 0xffffff) * (b & 0xffffff)) >> 32),
    V2("v_mul_hi_i32_i24", i32, i32, i32, ((i64)low24(a) * low24(b)) >> 32),
    V2("v_mul_lo_u32", u32, u32, u32, a *b),
    V2("v_mul_hi_u32", u32, u32, u32, ((u64)a * b) >> 32),
    V2("v_mul_hi_i32", i32, i32, i32, ((i64)a * b) >> 32),
    V2("v_min_i32", i32, i32, i32, least(a, b)),
    V2("v_max_i32", i32, i32, i32, most(a, b)),
    V2("v_min_u32", u32, u32, u32, least(a, b)),
    V2("v_max_u32", u32, u32, u32, most(a, b)),
    V2("v_lshrrev_b32", u32, u32, u32, b >> (a & 31)),
    V2("v_ashrrev_i32", i32, u32, i32, b >> (a & 31)),
    V2("v_lshlrev_b32", u32, u32, u32, b << (a & 31)),
    V2("v_lshlrev_b64", u64, u32, u64, b << (a & 63)),
    V2("v_lshrrev_b64", u64, u32, u64, b >> (a & 63)),
    V2("v_ashrrev_i64", i64, u32, i64, b >> (a & 63)),
    V2("v_and_b32", u32, u32, u32, a &b),
    V2("v_or_b32", u32, u32, u32, a | b),
    V2("v_xor_b32", u32, u32, u32, a ^ b),
    V2("v_xnor_b32", u32, u32, u32, ~(a ^ b)),
    V3("v_mad_i32_i24", i32, i32, i32, i32, (u32)((i64)low24(a) * low24(b)) + (u32)c),
    V3("v_mad_u32_u24", u32, u32, u32, u32, (a & 0xffffff) * (b & 0xffffff) + c),
    V3("v_bfe_u32", u32, u32, u32, u32, (a >> (b & 31)) & ((1u << (c & 31)) - 1)),
    V3("v_bfe_i32", i32, i32, u32, u32,
       (c & 31) == 0 ? 0 : (i32)((u32)(a >> (b & 31)) << (32 - (c & 31))) >> (32 - (c & 31))),
    V3("v_bfi_b32", u32, u32, u32, u32, (a & b) | (~a & c)),
    V3("v_alignbit_b32", u32, u32, u32, u32, (u32)((((u64)a << 32) | b) >> (c & 31))),
    V3("v_alignbyte_b32", u32, u32, u32, u32, (u32)((((u64)a << 32) | b) >> (8 * (c & 3)))),
    V3("v_min3_i32", i32, i32, i32, i32, least(least(a, b), c)),
    V3("v_max3_i32", i32, i32, i32, i32, most(most(a, b), c)),
    V3("v_min3_u32", u32, u32, u32, u32, least(least(a, b), c)),
    V3("v_max3_u32", u32, u32, u32, u32, most(most(a, b), c)),
    V3("v_med3_i32", i32, i32, i32, i32, middle(a, b, c)),
    V3("v_med3_u32", u32, u32, u32, u32, middle(a, b, c)),
    V3("v_sad_u32", u32, u32, u32, u32, (a > b ? a - b : b - a) + c),
    V3("v_add3_u32", u32, u32, u32, u32, a + b + c),
    V3("v_lshl_add_u32", u32, u32, u32, u32, (a << (b & 31)) + c),
    V3("v_add_lshl_u32", u32, u32, u32, u32, (a + b) << (c & 31)),
    V3("v_lshl_or_b32", u32, u32, u32, u32, (a << (b & 31)) | c),
    V3("v_and_or_b32", u32, u32, u32, u32, (a & b) | c),
    V3("v_or3_b32", u32, u32, u32, u32, a | b | c),
    V3("v_xad_u32", u32, u32, u32, u32, (a ^ b) + c),
    V3("v_lshl_add_u64", u64, u64, u32, u64, (a << (b & 7)) + c),
    V2("v_mul_lo_u16", u16, u16, u16, (u32)a *b),
    V2("v_lshlrev_b16", u16, u16, u16, b << (a & 15)),
    V2("v_lshrrev_b16", u16, u16, u16, b >> (a & 15)),
    V2("v_ashrrev_i16", i16, u16, i16, b >> (a & 15)),
    V2("v_max_u16", u16, u16, u16, most(a, b)),
    V2("v_max_i16", i16, i16, i16, most(a, b)),
    V2("v_min_u16", u16, u16, u16, least(a, b)),
    V2("v_min_i16", i16, i16, i16, least(a, b)),
    V3("v_mad_legacy_u16", u16, u16, u16, u16, (u32)a *b + c),
    V3("v_mad_legacy_i16", i16, i16, i16, i16, (i32)a *b + c),
    V3_KEEPS("v_mad_u16", u16, u16, u16, u16, (u32)a *b + c),
    V3_KEEPS("v_mad_i16", i16, i16, i16, i16, (i32)a *b + c),
    V3("v_mad_u32_u16", u32, u16, u16, u32, (u32)a *b + c),
    V3("v_mad_i32_i16", i32, i16, i16, i32, (i32)a *b + c),
    V3_KEEPS("v_med3_i16", i16, i16, i16, i16, middle(a, b, c)),
    V3_KEEPS("v_med3_u16", u16, u16, u16, u16, middle(a, b, c)),
    V3_KEEPS("v_min3_u16", u16, u16, u16, u16, least(least(a, b), c)),
    V3_KEEPS("v_max3_u16", u16, u16, u16, u16, most(most(a, b), c)),
    V3_KEEPS("v_min3_i16", i16, i16, i16, i16, least(least(a, b), c)),
    V3_KEEPS("v_max3_i16", i16, i16, i16, i16, most(most(a, b), c)),
    {nullptr, nullptr},
};
