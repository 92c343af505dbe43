// Moves, and conversions between types.
#include "operand.h"

// 8-bit floats are AMD's own kind on gfx942, and the OCP's on gfx950.
static bool is_fnuz(Wave &w) { return w.group->settings->chip == 1; }

template <int E, int M> void from_narrow(Wave &w, const Instruction &i) {
  w.written = w.exec();
  u32 a[64];
  f32 d[64];
  lanes32(w, i, 1, a);
  FOR_LANES d[l] = narrow_value(u8(a[l] >> (i.sdwa ? 0 : 8 * i.byte_sel)), E, M, is_fnuz(w));
  put<f32>(w, i, 0, d);
}
template <int E, int M> void from_narrow_pair(Wave &w, const Instruction &i) {
  w.written = w.exec();
  u32 a[64];
  u64 d[64];
  lanes32(w, i, 1, a);
  FOR_LANES {
    const u32 x = a[l] >> (!i.sdwa && (i.op_sel & 1) ? 16 : 0);
    const f32 low = narrow_value(u8(x), E, M, is_fnuz(w)), high = narrow_value(u8(x >> 8), E, M, is_fnuz(w));
    d[l] = bit_cast<u32>(low) | u64(bit_cast<u32>(high)) << 32;
  }
  put<u64>(w, i, 0, d);
}
template <int E, int M> void to_narrow_pair(Wave &w, const Instruction &i) {
  w.written = w.exec();
  f32 a[64], b[64];
  u32 d[64];
  fetch<f32>(w, i, 1, a), fetch<f32>(w, i, 2, b);
  const bool fnuz = is_fnuz(w), is_high = i.op_sel >> 3 & 1;
  FOR_LANES {
    const u32 x = narrow_bits(a[l], E, M, fnuz, fnuz) | u32(narrow_bits(b[l], E, M, fnuz, fnuz)) << 8;
    const u32 old = w.v[i.o[0].index][l];
    d[l] = is_high ? (old & 0xffff) | x << 16 : (old & 0xffff0000) | x;
  }
  put32(w, i, 0, d);
}
// Towards zero.
static u32 truncated_half(f32 x) {
  const f16 h = x;
  return is_finite(x) && __builtin_fabsf(f32(h)) > __builtin_fabsf(x) ? h.bits - 1 : h.bits;
}

extern const Row CONVERT[];
const Row CONVERT[] = {
    {"v_cvt_f32_fp8", from_narrow<4, 3>},
    {"v_cvt_f32_bf8", from_narrow<5, 2>},
    {"v_cvt_pk_f32_fp8", from_narrow_pair<4, 3>},
    {"v_cvt_pk_f32_bf8", from_narrow_pair<5, 2>},
    {"v_cvt_pk_fp8_f32", to_narrow_pair<4, 3>},
    {"v_cvt_pk_bf8_f32", to_narrow_pair<5, 2>},
    V1("v_mov_b32", u32, u32, a),
    V1("v_accvgpr_read_b32", u32, u32, a),
    V1("v_accvgpr_read", u32, u32, a),
    V1("v_accvgpr_write_b32", u32, u32, a),
    V1("v_accvgpr_write", u32, u32, a),
    V1("v_accvgpr_mov_b32", u32, u32, a),
    V1("v_mov_b64", u64, u64, a),
    V1("v_cvt_f32_i32", f32, i32, (f32)a),
    V1("v_cvt_f32_u32", f32, u32, (f32)a),
    V1("v_cvt_i32_f32", i32, f32, to_i32(a)),
    V1("v_cvt_u32_f32", u32, f32, to_u32(a)),
    V1("v_cvt_f64_i32", f64, i32, (f64)a),
    V1("v_cvt_f64_u32", f64, u32, (f64)a),
    V1("v_cvt_i32_f64", i32, f64, to_i32(a)),
    V1("v_cvt_u32_f64", u32, f64, to_u32(a)),
    V1("v_cvt_f64_f32", f64, f32, (f64)a),
    V1("v_cvt_f32_f64", f32, f64, (f32)a),
    V1("v_cvt_f16_f32", f16, f32, (f16)a),
    V1("v_cvt_f32_f16", f32, f16, (f32)a),
    V1("v_cvt_f16_u16", f16, u16, (f16)(f32)a),
    V1("v_cvt_f16_i16", f16, i16, (f16)(f32)a),
    V1("v_cvt_u16_f16", u16, f16, ({
         f32 x = a;
         is_nan(x) || x <= 0 ? 0 : x >= 65535 ? 65535 : (int)x;
       })),
    V1("v_cvt_i16_f16", i16, f16, ({
         f32 x = a;
         is_nan(x) ? 0 : x >= 32767 ? 32767 : x <= -32768 ? -32768 : (int)x;
       })),
    V1("v_cvt_f32_bf16", f32, u16, bf16_value(a)),
    V1("v_cvt_f32_ubyte0", f32, u32, (f32)(a & 0xff)),
    V1("v_cvt_f32_ubyte1", f32, u32, (f32)((a >> 8) & 0xff)),
    V1("v_cvt_f32_ubyte2", f32, u32, (f32)((a >> 16) & 0xff)),
    V1("v_cvt_f32_ubyte3", f32, u32, (f32)(a >> 24)),
    V1("v_cvt_rpi_i32_f32", i32, f32, to_i32(__builtin_floorf(a + 0.5f))),
    V1("v_cvt_flr_i32_f32", i32, f32, to_i32(__builtin_floorf(a))),
    V1("v_sat_pk_u8_i16", u32, u32, ({
         auto c = [](i32 x) { return x < 0 ? 0 : x > 255 ? 255 : x; };
         (u32) c((i16)a) | ((u32)c((i16)(a >> 16)) << 8);
       })),
    V2("v_cvt_pkrtz_f16_f32", u32, f32, f32, truncated_half(a) | truncated_half(b) << 16),
    V2("v_cvt_pk_bf16_f32", u32, f32, f32, (u32)bf16_bits(a) | ((u32)bf16_bits(b) << 16)),
    V2("v_cvt_pk_f16_f32", u32, f32, f32, (u32)bit_cast<u16>((f16)a) | ((u32)bit_cast<u16>((f16)b) << 16)),
    V2("v_cvt_pk_u16_u32", u32, u32, u32, least(a, 65535u) | (least(b, 65535u) << 16)),
    V2("v_cvt_pk_i16_i32", u32, i32, i32,
       (u32)(u16)most(-32768, least(32767, a)) | ((u32)(u16)most(-32768, least(32767, b)) << 16)),
    V2("v_cvt_pknorm_i16_f32", u32, f32, f32, ({
         auto c = [](f32 x) -> u32 {
           return (u16)(i16)__builtin_nearbyintf(__builtin_fmaxf(-1, __builtin_fminf(1, x)) * 32767.f);
         };
         c(a) | (c(b) << 16);
       })),
    V3("v_cvt_pk_u8_f32", u32, f32, u32, u32, ({
         u32 sh = 8 * (b & 3);
         u32 x = least(255u, to_u32(a));
         (c & ~(0xffu << sh)) | (x << sh);
       })),
    {nullptr, nullptr},
};
