// Matrices of 8 x 8 halves: between shared memory and the registers of a warp, and a warp's products.
#pragma once
#include "language.h"

namespace imbrex {

// Matrices to shared memory, of each a row or, turned, a column by one lane's address.
template <bool Turned> IMBREX_INLINE void put_matrices(uint32_t to, const uint32_t (&x)[2]) {
  if constexpr (Turned)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(to), "r"(x[0]), "r"(x[1])
                 : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(to), "r"(x[0]), "r"(x[1])
                 : "memory");
}
template <bool Turned> IMBREX_INLINE void put_matrices(uint32_t to, const uint32_t (&x)[4]) {
  if constexpr (Turned)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x[0]),
                 "r"(x[1]), "r"(x[2]), "r"(x[3])
                 : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x[0]), "r"(x[1]),
                 "r"(x[2]), "r"(x[3])
                 : "memory");
}

// Four matrices, a row of each by one lane's address; each lane gets two rows' neighbours of a column.
IMBREX_INLINE void take_turned(uint32_t (&x)[4], uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(from));
}

// d += a * b, of 16 x 8 sums and 16 of k.  T: how the elements are named.
struct f16;
struct bf16;
template <class T> struct warp_product;
#define IMBREX_WARP_PRODUCT(T)                                                                                   \
  template <> struct warp_product<T> {                                                                           \
    IMBREX_INLINE void add(float *d, const uint32_t (&a)[4], uint32_t first, uint32_t second) {                  \
      asm("mma.sync.aligned.m16n8k16.row.col.f32." #T "." #T ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "         \
          "{%8, %9}, {%0, %1, %2, %3};"                                                                          \
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                       \
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(first), "r"(second));                                \
    }                                                                                                            \
  };
IMBREX_WARP_PRODUCT(f16)
IMBREX_WARP_PRODUCT(bf16)
#undef IMBREX_WARP_PRODUCT
} // namespace imbrex
