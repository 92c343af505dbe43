// The matrix unit of a warpgroup (wgmma): 64 rows of A and N columns of B, both in shared memory, or A in registers.
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

// d = a * b, and + d where it `adds`; ATurned, BTurned: neighbours in memory are rows of A, columns of B, not of k.  An
// element of tf32 fills a register: there a may be what a lane holds of A, as view/mma/hopper.py has it.
// A kernel defines those that it multiplies on: to read all 192 takes NVRTC longer than all other headers.
template <factors Of, int N> struct matrix_unit;
} // namespace imbrex

// Defines the unit that multiplies factors OF into N columns: 8, 16, ... 256; of s8 8, 16, 24 and multiples of 16.
#define IMBREX_MATRIX_UNIT(OF, N) IMBREX_COLUMNS_##N(IMBREX_UNIT_##OF)

#define IMBREX_MULTIPLY(OF, SHAPE, TYPES, SUM, CONSTRAINED, N, COUNT, A, B, P, TAIL, TURNS, MORE)                      \
  template <> struct imbrex::matrix_unit<imbrex::factors::OF, N> {                                                     \
    template <bool ATurned, bool BTurned> IMBREX_INLINE void multiply(SUM *d, uint64_t a, uint64_t b, bool adds) {     \
      asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %" #P ", 0;\n"                                              \
                   "wgmma.mma_async.sync.aligned.m64n" #N SHAPE "." TYPES " {" IMBREX_NUMBERS_##COUNT "}, %" #A        \
                   ", %" #B ", adds" TAIL ";\n}"                                                                       \
                   : IMBREX_SUMS_##COUNT(CONSTRAINED)                                                                  \
                   : "l"(a), "l"(b), "r"(int32_t(adds)) TURNS);                                                        \
    }                                                                                                                  \
    MORE                                                                                                               \
  }
#define IMBREX_MULTIPLY_HELD(N, COUNT, A0, A1, A2, A3, B, P)                                                           \
  IMBREX_INLINE void multiply_held(float *d, const uint32_t (&a)[4], uint64_t b, bool adds) {                          \
    asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %" #P ", 0;\n"                                                \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k8.f32.tf32.tf32 {" IMBREX_NUMBERS_##COUNT                    \
                 "}, {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B ", adds, 1, 1;\n}"                                \
                 : IMBREX_SUMS_##COUNT(IMBREX_FLOAT)                                                                   \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int32_t(adds)));                            \
  }
#define IMBREX_FLOAT(x) "+f"(x)
#define IMBREX_INTEGER(x) "+r"(x)
#define IMBREX_TURNS , "n"(int(ATurned)), "n"(int(BTurned))
#define IMBREX_UNIT_f16(N, COUNT, A, B, P, Q, R, S)                                                                    \
  IMBREX_MULTIPLY(f16, "k16", "f32.f16.f16", float, IMBREX_FLOAT, N, COUNT, A, B, P, ", 1, 1, %" #Q ", %" #R,          \
                  IMBREX_TURNS, )
#define IMBREX_UNIT_bf16(N, COUNT, A, B, P, Q, R, S)                                                                   \
  IMBREX_MULTIPLY(bf16, "k16", "f32.bf16.bf16", float, IMBREX_FLOAT, N, COUNT, A, B, P, ", 1, 1, %" #Q ", %" #R,       \
                  IMBREX_TURNS, )
#define IMBREX_UNIT_tf32(N, COUNT, A, B, P, Q, R, S)                                                                   \
  IMBREX_MULTIPLY(tf32, "k8", "f32.tf32.tf32", float, IMBREX_FLOAT, N, COUNT, A, B, P, ", 1, 1", ,                     \
                  IMBREX_MULTIPLY_HELD(N, COUNT, A, B, P, Q, R, S))
#define IMBREX_UNIT_e4m3(N, COUNT, A, B, P, Q, R, S)                                                                   \
  IMBREX_MULTIPLY(e4m3, "k32", "f32.e4m3.e4m3", float, IMBREX_FLOAT, N, COUNT, A, B, P, ", 1, 1", , )
#define IMBREX_UNIT_e5m2(N, COUNT, A, B, P, Q, R, S)                                                                   \
  IMBREX_MULTIPLY(e5m2, "k32", "f32.e5m2.e5m2", float, IMBREX_FLOAT, N, COUNT, A, B, P, ", 1, 1", , )
#define IMBREX_UNIT_s8(N, COUNT, A, B, P, Q, R, S)                                                                     \
  IMBREX_MULTIPLY(s8, "k32", "s32.s8.s8", int32_t, IMBREX_INTEGER, N, COUNT, A, B, P, "", , )
