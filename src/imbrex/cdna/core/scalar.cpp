// Scalar arithmetic and logic.
#include "operand.h"

// Rows by what they read, of 32 or 64 bits, as an expression over a and b; SCC is whether the result is not zero,
// unless the row ends in _N.
#define S1_32(name, ...)                                                                                               \
  DO(name, const u32 a = scalar32(w, i.o[1]), r = u32(__VA_ARGS__); set32(w, i.o[0], r); w.scc = r != 0;)
#define S1_32N(name, ...) DO(name, const u32 a = scalar32(w, i.o[1]); set32(w, i.o[0], u32(__VA_ARGS__));)
#define S1_64(name, ...)                                                                                               \
  DO(name, const u64 a = scalar64(w, i.o[1]), r = u64(__VA_ARGS__); set64(w, i.o[0], r); w.scc = r != 0;)
#define S1_64N(name, ...) DO(name, const u64 a = scalar64(w, i.o[1]); set64(w, i.o[0], u64(__VA_ARGS__));)
#define S2_32(name, ...)                                                                                               \
  DO(name, const u32 a = scalar32(w, i.o[1]), b = scalar32(w, i.o[2]), r = u32(__VA_ARGS__); set32(w, i.o[0], r);      \
     w.scc = r != 0;)
#define S2_32N(name, ...)                                                                                              \
  DO(name, const u32 a = scalar32(w, i.o[1]), b = scalar32(w, i.o[2]); set32(w, i.o[0], u32(__VA_ARGS__));)
#define S2_64(name, ...)                                                                                               \
  DO(name, const u64 a = scalar64(w, i.o[1]), b = scalar64(w, i.o[2]), r = u64(__VA_ARGS__); set64(w, i.o[0], r);      \
     w.scc = r != 0;)
#define S2_6432(name, ...)                                                                                             \
  DO(name, const u64 a = scalar64(w, i.o[1]); const u32 b = scalar32(w, i.o[2]); const u64 r = u64(__VA_ARGS__);       \
     set64(w, i.o[0], r); w.scc = r != 0;)
#define SMM(name, T, op)                                                                                               \
  DO(name, const T a = T(scalar32(w, i.o[1])), b = T(scalar32(w, i.o[2])); w.scc = a op b;                             \
     set32(w, i.o[0], u32(w.scc ? a : b));)
#define SLA(name, n)                                                                                                   \
  DO(name, const u64 r = (u64(scalar32(w, i.o[1])) << n) + scalar32(w, i.o[2]); set32(w, i.o[0], u32(r));              \
     w.scc = (r >> 32) != 0;)
// EXEC becomes the expression of the source s and itself, x; the result is what it was.
#define SAVEX(name, ...)                                                                                               \
  DO(name, const u64 s = scalar64(w, i.o[1]), x = w.exec(), r = (__VA_ARGS__); set64(w, i.o[0], x); w.set_exec(r);     \
     w.scc = r != 0;)
#define SCMP(name, T, op) DO("s_cmp_" name, w.scc = T(scalar32(w, i.o[0])) op T(scalar32(w, i.o[1]));)
#define SCMK(name, T, X, op) DO("s_cmpk_" name, w.scc = T(scalar32(w, i.o[0])) op T(X(scalar32(w, i.o[1])));)

extern const Row SCALARS[];
const Row SCALARS[] = {
    S1_32N("s_mov_b32", a),
    S1_64N("s_mov_b64", a),
    DO("s_movk_i32", { set32(w, i.o[0], (u32)(i32)(i16)scalar32(w, i.o[1])); }),
    DO("s_cmov_b32",
       {
         if (w.scc) set32(w, i.o[0], scalar32(w, i.o[1]));
       }),
    DO("s_cmov_b64",
       {
         if (w.scc) set64(w, i.o[0], scalar64(w, i.o[1]));
       }),
    DO("s_cmovk_i32",
       {
         if (w.scc) set32(w, i.o[0], (u32)(i32)(i16)scalar32(w, i.o[1]));
       }),
    S1_32("s_not_b32", ~a),
    S1_64("s_not_b64", ~a),
    S1_32N("s_brev_b32", __builtin_bitreverse32(a)),
    S1_64N("s_brev_b64", __builtin_bitreverse64(a)),
    S1_32("s_wqm_b32", ({
            u32 r = 0;
            for (int q = 0; q < 32; q += 4)
              if ((a >> q) & 15) r |= 15u << q;
            r;
          })),
    S1_64("s_wqm_b64", ({
            u64 r = 0;
            for (int q = 0; q < 64; q += 4)
              if ((a >> q) & 15) r |= 15ull << q;
            r;
          })),
    S1_32("s_bcnt0_i32_b32", 32 - __builtin_popcount(a)),
    S1_32("s_bcnt1_i32_b32", __builtin_popcount(a)),
    DO("s_bcnt1_i32_b64",
       {
         u32 r = __builtin_popcountll(scalar64(w, i.o[1]));
         set32(w, i.o[0], r);
         w.scc = r != 0;
       }),
    DO("s_bcnt0_i32_b64",
       {
         u32 r = 64 - __builtin_popcountll(scalar64(w, i.o[1]));
         set32(w, i.o[0], r);
         w.scc = r != 0;
       }),
    S1_32N("s_ff1_i32_b32", a ? __builtin_ctz(a) : -1),
    S1_32N("s_ff0_i32_b32", ~a ? __builtin_ctz(~a) : -1),
    S1_32N("s_flbit_i32_b32", a ? __builtin_clz(a) : -1),
    DO("s_ff1_i32_b64",
       {
         u64 a = scalar64(w, i.o[1]);
         set32(w, i.o[0], a ? __builtin_ctzll(a) : -1);
       }),
    DO("s_ff0_i32_b64",
       {
         u64 a = ~scalar64(w, i.o[1]);
         set32(w, i.o[0], a ? __builtin_ctzll(a) : -1);
       }),
    DO("s_flbit_i32_b64",
       {
         u64 a = scalar64(w, i.o[1]);
         set32(w, i.o[0], a ? __builtin_clzll(a) : -1);
       }),
    S1_32N("s_flbit_i32", ({
             i32 s = (i32)a;
             u32 x = s < 0 ? ~a : a;
             x ? __builtin_clz(x) : -1;
           })),
    DO("s_flbit_i32_i64",
       {
         i64 s = (i64)scalar64(w, i.o[1]);
         u64 x = s < 0 ? ~s : s;
         set32(w, i.o[0], x ? __builtin_clzll(x) : -1);
       }),
    S1_32("s_quadmask_b32", ({
            u32 r = 0;
            for (int q = 0; q < 8; q++)
              if ((a >> (4 * q)) & 15) r |= 1u << q;
            r;
          })),
    S1_64("s_quadmask_b64", ({
            u64 r = 0;
            for (int q = 0; q < 16; q++)
              if ((a >> (4 * q)) & 15) r |= 1ull << q;
            r;
          })),
    DO("s_bitreplicate_b64_b32",
       {
         u32 a = scalar32(w, i.o[1]);
         u64 r = 0;
         for (int q = 0; q < 32; q++)
           if ((a >> q) & 1) r |= 3ull << (2 * q);
         set64(w, i.o[0], r);
       }),
    S1_32N("s_sext_i32_i8", (i32)(i8)a),
    S1_32N("s_sext_i32_i16", (i32)(i16)a),
    DO("s_bitset0_b32", { set32(w, i.o[0], scalar32(w, i.o[0]) & ~(1u << (scalar32(w, i.o[1]) & 31))); }),
    DO("s_bitset1_b32", { set32(w, i.o[0], scalar32(w, i.o[0]) | (1u << (scalar32(w, i.o[1]) & 31))); }),
    DO("s_bitset0_b64", { set64(w, i.o[0], scalar64(w, i.o[0]) & ~(1ull << (scalar32(w, i.o[1]) & 63))); }),
    DO("s_bitset1_b64", { set64(w, i.o[0], scalar64(w, i.o[0]) | (1ull << (scalar32(w, i.o[1]) & 63))); }),
    DO("s_abs_i32",
       {
         i32 a = (i32)scalar32(w, i.o[1]);
         u32 r = a < 0 ? 0u - (u32)a : a;
         set32(w, i.o[0], r);
         w.scc = r != 0;
       }),
    SAVEX("s_and_saveexec_b64", s &x),
    SAVEX("s_or_saveexec_b64", s | x),
    SAVEX("s_xor_saveexec_b64", s ^ x),
    SAVEX("s_andn2_saveexec_b64", s & ~x),
    SAVEX("s_orn2_saveexec_b64", s | ~x),
    SAVEX("s_nand_saveexec_b64", ~(s &x)),
    SAVEX("s_nor_saveexec_b64", ~(s | x)),
    SAVEX("s_xnor_saveexec_b64", ~(s ^ x)),
    SAVEX("s_andn1_saveexec_b64", ~s &x),
    SAVEX("s_orn1_saveexec_b64", ~s | x),
    DO("s_andn1_wrexec_b64",
       {
         u64 r = ~scalar64(w, i.o[1]) & w.exec();
         set64(w, i.o[0], r);
         w.set_exec(r);
         w.scc = r != 0;
       }),
    DO("s_andn2_wrexec_b64",
       {
         u64 r = scalar64(w, i.o[1]) & ~w.exec();
         set64(w, i.o[0], r);
         w.set_exec(r);
         w.scc = r != 0;
       }),
    DO("s_add_u32",
       {
         u32 a = scalar32(w, i.o[1]), b = scalar32(w, i.o[2]);
         u64 r = (u64)a + b;
         set32(w, i.o[0], (u32)r);
         w.scc = r >> 32;
       }),
    DO("s_sub_u32",
       {
         u32 a = scalar32(w, i.o[1]), b = scalar32(w, i.o[2]);
         set32(w, i.o[0], a - b);
         w.scc = b > a;
       }),
    DO("s_add_i32",
       {
         i32 a = scalar32(w, i.o[1]), b = scalar32(w, i.o[2]);
         i32 r;
         w.scc = __builtin_add_overflow(a, b, &r);
         set32(w, i.o[0], r);
       }),
    DO("s_sub_i32",
       {
         i32 a = scalar32(w, i.o[1]), b = scalar32(w, i.o[2]);
         i32 r;
         w.scc = __builtin_sub_overflow(a, b, &r);
         set32(w, i.o[0], r);
       }),
    DO("s_addc_u32",
       {
         u32 a = scalar32(w, i.o[1]), b = scalar32(w, i.o[2]);
         u64 r = (u64)a + b + w.scc;
         set32(w, i.o[0], (u32)r);
         w.scc = r >> 32;
       }),
    DO("s_subb_u32",
       {
         u32 a = scalar32(w, i.o[1]), b = scalar32(w, i.o[2]);
         bool c = (u64)b + w.scc > a;
         set32(w, i.o[0], a - b - w.scc);
         w.scc = c;
       }),
    SMM("s_min_i32", i32, <),
    SMM("s_min_u32", u32, <),
    SMM("s_max_i32", i32, >),
    SMM("s_max_u32", u32, >),
    DO("s_cselect_b32",
       {
         u32 a = scalar32(w, i.o[1]), b = scalar32(w, i.o[2]);
         set32(w, i.o[0], w.scc ? a : b);
       }),
    DO("s_cselect_b64",
       {
         u64 a = scalar64(w, i.o[1]), b = scalar64(w, i.o[2]);
         set64(w, i.o[0], w.scc ? a : b);
       }),
    S2_32("s_and_b32", a &b),
    S2_32("s_or_b32", a | b),
    S2_32("s_xor_b32", a ^ b),
    S2_32("s_andn2_b32", a & ~b),
    S2_32("s_orn2_b32", a | ~b),
    S2_32("s_nand_b32", ~(a &b)),
    S2_32("s_nor_b32", ~(a | b)),
    S2_32("s_xnor_b32", ~(a ^ b)),
    S2_64("s_and_b64", a &b),
    S2_64("s_or_b64", a | b),
    S2_64("s_xor_b64", a ^ b),
    S2_64("s_andn2_b64", a & ~b),
    S2_64("s_orn2_b64", a | ~b),
    S2_64("s_nand_b64", ~(a &b)),
    S2_64("s_nor_b64", ~(a | b)),
    S2_64("s_xnor_b64", ~(a ^ b)),
    S2_32("s_lshl_b32", a << (b & 31)),
    S2_32("s_lshr_b32", a >> (b & 31)),
    S2_32("s_ashr_i32", (i32)a >> (b & 31)),
    S2_6432("s_lshl_b64", a << (b & 63)),
    S2_6432("s_lshr_b64", a >> (b & 63)),
    S2_6432("s_ashr_i64", (i64)a >> (b & 63)),
    S2_6432("s_bfe_u64", ({
              u32 o = b & 63, n = (b >> 16) & 127;
              u64 x = a >> o;
              n >= 64 ? x : x & ((1ull << n) - 1);
            })),
    S2_6432("s_bfe_i64", ({
              u32 o = b & 63, n = (b >> 16) & 127;
              if (n > 64 - o) n = 64 - o;
              n == 0 ? 0 : (u64)((i64)(a << (64 - o - n)) >> (64 - n));
            })),
    S2_32("s_bfe_u32", ({
            u32 o = b & 31, n = (b >> 16) & 127;
            u32 x = a >> o;
            n >= 32 ? x : x & ((1u << n) - 1);
          })),
    S2_32("s_bfe_i32", ({
            u32 o = b & 31, n = (b >> 16) & 127;
            if (n > 32 - o) n = 32 - o;
            n == 0 ? 0 : (u32)((i32)(a << (32 - o - n)) >> (32 - n));
          })),
    S2_32N("s_bfm_b32", ((1u << (a & 31)) - 1) << (b & 31)),
    DO("s_bfm_b64",
       {
         u32 a = scalar32(w, i.o[1]), b = scalar32(w, i.o[2]);
         set64(w, i.o[0], ((1ull << (a & 63)) - 1) << (b & 63));
       }),
    S2_32N("s_mul_i32", a *b),
    S2_32N("s_mul_hi_u32", ((u64)a * b) >> 32),
    S2_32N("s_mul_hi_i32", ((i64)(i32)a * (i32)b) >> 32),
    S2_32("s_absdiff_i32", ({
            i32 d = (i32)(a - b);
            d < 0 ? -d : d;
          })),
    SLA("s_lshl1_add_u32", 1),
    SLA("s_lshl2_add_u32", 2),
    SLA("s_lshl3_add_u32", 3),
    SLA("s_lshl4_add_u32", 4),
    S2_32N("s_pack_ll_b32_b16", (a & 0xffff) | (b << 16)),
    S2_32N("s_pack_lh_b32_b16", (a & 0xffff) | (b & 0xffff0000)),
    S2_32N("s_pack_hh_b32_b16", (a >> 16) | (b & 0xffff0000)),
    DO("s_cmp_eq_u64", { w.scc = scalar64(w, i.o[0]) == scalar64(w, i.o[1]); }),
    DO("s_cmp_lg_u64", { w.scc = scalar64(w, i.o[0]) != scalar64(w, i.o[1]); }),
    DO("s_bitcmp0_b32", { w.scc = !((scalar32(w, i.o[0]) >> (scalar32(w, i.o[1]) & 31)) & 1); }),
    DO("s_bitcmp1_b32", { w.scc = (scalar32(w, i.o[0]) >> (scalar32(w, i.o[1]) & 31)) & 1; }),
    DO("s_bitcmp0_b64", { w.scc = !((scalar64(w, i.o[0]) >> (scalar32(w, i.o[1]) & 63)) & 1); }),
    DO("s_bitcmp1_b64", { w.scc = (scalar64(w, i.o[0]) >> (scalar32(w, i.o[1]) & 63)) & 1; }),
    DO("s_addk_i32",
       {
         i32 a = scalar32(w, i.o[0]), b = (i16)scalar32(w, i.o[1]), r;
         w.scc = __builtin_add_overflow(a, b, &r);
         set32(w, i.o[0], r);
       }),
    DO("s_mulk_i32", { set32(w, i.o[0], scalar32(w, i.o[0]) * (u32)(i32)(i16)scalar32(w, i.o[1])); }),
    SCMP("eq_i32", i32, ==),
    SCMP("lg_i32", i32, !=),
    SCMP("gt_i32", i32, >),
    SCMP("ge_i32", i32, >=),
    SCMP("lt_i32", i32, <),
    SCMP("le_i32", i32, <=),
    SCMP("eq_u32", u32, ==),
    SCMP("lg_u32", u32, !=),
    SCMP("gt_u32", u32, >),
    SCMP("ge_u32", u32, >=),
    SCMP("lt_u32", u32, <),
    SCMP("le_u32", u32, <=),
    SCMK("eq_i32", i32, i16, ==),
    SCMK("lg_i32", i32, i16, !=),
    SCMK("gt_i32", i32, i16, >),
    SCMK("ge_i32", i32, i16, >=),
    SCMK("lt_i32", i32, i16, <),
    SCMK("le_i32", i32, i16, <=),
    SCMK("eq_u32", u32, u16, ==),
    SCMK("lg_u32", u32, u16, !=),
    SCMK("gt_u32", u32, u16, >),
    SCMK("ge_u32", u32, u16, >=),
    SCMK("lt_u32", u32, u16, <),
    SCMK("le_u32", u32, u16, <=),
    {nullptr, nullptr},
};
