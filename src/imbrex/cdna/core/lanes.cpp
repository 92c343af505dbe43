// Values that move between lanes, or are chosen by them.
#include "operand.h"

// How many of the lanes before this one have their bit set.
template <int First> void count_before(Wave &w, const Instruction &i) {
  w.written = w.exec();
  u32 a[64], b[64], d[64];
  lanes32(w, i, 1, a), lanes32(w, i, 2, b);
  FOR_LANES {
    const u32 before = l < First ? 0 : l - First >= 32 ? ~0u : (1u << (l - First)) - 1;
    d[l] = u32(__builtin_popcount(a[l] & before)) + b[l];
  }
  put32(w, i, 0, d);
}

extern const Row LANES[];
const Row LANES[] = {
    {"v_mbcnt_lo_u32_b32", count_before<0>},
    {"v_mbcnt_hi_u32_b32", count_before<32>},
    DO("v_nop", {}),
    DO("v_clrexcp", {}),
    DO("v_readfirstlane_b32",
       {
         u64 e = w.exec();
         int l = e ? __builtin_ctzll(e) : 0;
         u32 r;
         if (i.o[1].kind == VECTOR) r = w.v[i.o[1].index][l];
         else r = scalar32(w, i.o[1]);
         set32(w, i.o[0], r);
       }),
    DO("v_readlane_b32",
       {
         int l = scalar32(w, i.o[2]) & 63;
         set32(w, i.o[0], w.v[i.o[1].index][l]);
       }),
    DO("v_writelane_b32",
       {
         int l = scalar32(w, i.o[2]) & 63;
         w.v[i.o[0].index][l] = scalar32(w, i.o[1]);
       }),
    DO("v_swap_b32",
       {
         u64 e = w.exec();
         FOR_LANES if ((e >> l) & 1) swap(w.v[i.o[0].index][l], w.v[i.o[1].index][l]);
       }),
    DO("v_permlane32_swap_b32",
       {
         for (int l = 0; l < 32; l++) swap(w.v[i.o[0].index][l + 32], w.v[i.o[1].index][l]);
       }),
    DO("v_permlane16_swap_b32",
       {
         for (int h = 0; h < 64; h += 32)
           for (int l = 0; l < 16; l++) swap(w.v[i.o[0].index][h + l + 16], w.v[i.o[1].index][h + l]);
       }),
    DO("v_cndmask_b32",
       {
         w.written = w.exec();
         u32 a[64], b[64], d[64];
         fetch<u32>(w, i, 1, a);
         fetch<u32>(w, i, 2, b);
         u64 c = scalar64(w, i.o[3]);
         FOR_LANES d[l] = ((c >> l) & 1) ? b[l] : a[l];
         put32(w, i, 0, d);
       }),
    {nullptr, nullptr},
};
