// The matrix unit of a warpgroup (wgmma): 64 rows of A and N columns of B, both in shared memory.
//
// A descriptor says where a matrix begins and how it lies.  Sums are registers of all lanes; the unit reads shared
// memory and writes sums until `wait_products` has returned.
#pragma once
#include "language.h"
#include "sum_lists.h"

namespace imbrex {

// Multiplications issued from here on see the registers as they are.
IMBREX_INLINE void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// Those issued since the last call are one group.
IMBREX_INLINE void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Returns when at most `Groups` groups are unfinished.
template <int Groups> IMBREX_INLINE void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
}

// What the unit multiplies: two numbers of this type to a sum.
enum class factors { f16, bf16, tf32, e4m3, e5m2, s8 };

// d = a * b, and + d where it `adds`; ATurned, BTurned: neighbours in memory are rows of A, columns of B, not of k.
template <factors Of, int N> struct matrix_unit;

#define IMBREX_MULTIPLY(OF, SHAPE, TYPES, SUM, CONSTRAINED, N, COUNT, A, B, P, TAIL, TURNS)                            \
  template <> struct matrix_unit<factors::OF, N> {                                                                     \
    template <bool ATurned, bool BTurned> IMBREX_INLINE void multiply(SUM *d, uint64_t a, uint64_t b, bool adds) {     \
      asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %" #P ", 0;\n"                                             \
                   "wgmma.mma_async.sync.aligned.m64n" #N SHAPE "." TYPES " {" IMBREX_NUMBERS_##COUNT "}, %" #A        \
                   ", %" #B ", adds" TAIL ";\n}"                                                                       \
                   : IMBREX_SUMS_##COUNT(CONSTRAINED)                                                                  \
                   : "l"(a), "l"(b), "r"(int32_t(adds)) TURNS);                                                        \
    }                                                                                                                  \
  };
#define IMBREX_FLOAT(x) "+f"(x)
#define IMBREX_INTEGER(x) "+r"(x)
#define IMBREX_TURNS , "n"(int(ATurned)), "n"(int(BTurned))
#define IMBREX_F16(N, COUNT, A, B, P, Q, R)                                                                            \
  IMBREX_MULTIPLY(f16, "k16", "f32.f16.f16", float, IMBREX_FLOAT, N, COUNT, A, B, P, ", 1, 1, %" #Q ", %" #R, IMBREX_TURNS)
#define IMBREX_BF16(N, COUNT, A, B, P, Q, R)                                                                           \
  IMBREX_MULTIPLY(bf16, "k16", "f32.bf16.bf16", float, IMBREX_FLOAT, N, COUNT, A, B, P, ", 1, 1, %" #Q ", %" #R,       \
                  IMBREX_TURNS)
#define IMBREX_TF32(N, COUNT, A, B, P, Q, R)                                                                           \
  IMBREX_MULTIPLY(tf32, "k8", "f32.tf32.tf32", float, IMBREX_FLOAT, N, COUNT, A, B, P, ", 1, 1", )
#define IMBREX_E4M3(N, COUNT, A, B, P, Q, R)                                                                           \
  IMBREX_MULTIPLY(e4m3, "k32", "f32.e4m3.e4m3", float, IMBREX_FLOAT, N, COUNT, A, B, P, ", 1, 1", )
#define IMBREX_E5M2(N, COUNT, A, B, P, Q, R)                                                                           \
  IMBREX_MULTIPLY(e5m2, "k32", "f32.e5m2.e5m2", float, IMBREX_FLOAT, N, COUNT, A, B, P, ", 1, 1", )
#define IMBREX_S8(N, COUNT, A, B, P, Q, R)                                                                             \
  IMBREX_MULTIPLY(s8, "k32", "s32.s8.s8", int32_t, IMBREX_INTEGER, N, COUNT, A, B, P, "", )
IMBREX_ALL_COLUMNS(IMBREX_F16)
IMBREX_ALL_COLUMNS(IMBREX_BF16)
IMBREX_ALL_COLUMNS(IMBREX_TF32)
IMBREX_ALL_COLUMNS(IMBREX_E4M3)
IMBREX_ALL_COLUMNS(IMBREX_E5M2)
IMBREX_ALL_COLUMNS(IMBREX_S8) // of which the unit has those of 8, 16, 24, and of multiples of 16
#undef IMBREX_MULTIPLY
#undef IMBREX_FLOAT
#undef IMBREX_INTEGER
#undef IMBREX_TURNS
#undef IMBREX_F16
#undef IMBREX_BF16
#undef IMBREX_TF32
#undef IMBREX_E4M3
#undef IMBREX_E5M2
#undef IMBREX_S8
} // namespace imbrex
