// The copy engine: boxes of arrays of up to five dimensions to shared memory and back.
//
// A tensor map says where the array is, its sizes and strides, the box and how shared memory is swizzled.  What lies
// outside of the array reads as zero and is not written.  Coordinates are innermost first.
#pragma once
#include "language.h"

namespace imbrex {

struct alignas(64) tensor_map {
  char bytes[128];
};

IMBREX_INLINE void prefetch(const tensor_map *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

#define IMBREX_1 "{%3}"
#define IMBREX_2 "{%3, %4}"
#define IMBREX_3 "{%3, %4, %5}"
#define IMBREX_4 "{%3, %4, %5, %6}"
#define IMBREX_5 "{%3, %4, %5, %6, %7}"
#define IMBREX_COPY "cp.async.bulk.tensor."
#define IMBREX_DONE ".mbarrier::complete_tx::bytes"

// Shared memory at `to`, and at the same address in every workgroup that the bits of `mask` name, = the box; each one's
// barrier at the address of `barrier` is told the bytes that have arrived.
#define IMBREX_LOAD(RANK, TAIL, ...)                                                                             \
  asm volatile(IMBREX_COPY #RANK "d.shared::cluster.global.tile" IMBREX_DONE " [%0], [%1, " IMBREX_##RANK        \
                                 "], [%2];" ::"r"(to),                                                           \
               "l"(map), "r"(barrier), __VA_ARGS__                                                               \
               : "memory")
#define IMBREX_LOAD_SHARED(RANK, MASK, ...)                                                                      \
  asm volatile(IMBREX_COPY #RANK "d.shared::cluster.global.tile" IMBREX_DONE                                     \
                                 ".multicast::cluster [%0], [%1, " IMBREX_##RANK "], [%2], " MASK ";" ::"r"(to),  \
               "l"(map), "r"(barrier), __VA_ARGS__, "h"(mask)                                                    \
               : "memory")
// From the array as a convolution walks it: pixels of a window's start, at an offset in the window.
#define IMBREX_WALK(RANK, OFFSETS, ...)                                                                          \
  asm volatile(IMBREX_COPY #RANK "d.shared::cluster.global.im2col" IMBREX_DONE " [%0], [%1, " IMBREX_##RANK      \
                                 "], [%2], " OFFSETS ";" ::"r"(to),                                              \
               "l"(map), "r"(barrier), __VA_ARGS__                                                               \
               : "memory")
#define IMBREX_WALK_SHARED(RANK, OFFSETS, MASK, ...)                                                             \
  asm volatile(IMBREX_COPY #RANK "d.shared::cluster.global.im2col" IMBREX_DONE                                   \
                                 ".multicast::cluster [%0], [%1, " IMBREX_##RANK "], [%2], " OFFSETS ", " MASK   \
                                 ";" ::"r"(to),                                                                  \
               "l"(map), "r"(barrier), __VA_ARGS__, "h"(mask)                                                    \
               : "memory")
#define IMBREX_STORE(RANK, LIST, ...)                                                                            \
  asm volatile(IMBREX_COPY #RANK "d.global.shared::cta.tile.bulk_group [%1, " LIST "], [%0];" ::"r"(from),       \
               "l"(map), __VA_ARGS__                                                                             \
               : "memory")

template <int Rank> struct coordinates {
  int32_t at[Rank];
};
template <int Rank> struct offsets {
  uint16_t at[Rank];
};

template <int Rank>
IMBREX_INLINE void load(uint32_t to, const tensor_map *map, uint32_t barrier, coordinates<Rank> c) {
  static_assert(1 <= Rank && Rank <= 5, "an array has one to five dimensions");
  if constexpr (Rank == 1) IMBREX_LOAD(1, , "r"(c.at[0]));
  if constexpr (Rank == 2) IMBREX_LOAD(2, , "r"(c.at[0]), "r"(c.at[1]));
  if constexpr (Rank == 3) IMBREX_LOAD(3, , "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]));
  if constexpr (Rank == 4) IMBREX_LOAD(4, , "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]));
  if constexpr (Rank == 5)
    IMBREX_LOAD(5, , "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4]));
}

template <int Rank>
IMBREX_INLINE void load(uint32_t to, const tensor_map *map, uint32_t barrier, coordinates<Rank> c, uint16_t mask) {
  static_assert(1 <= Rank && Rank <= 5, "an array has one to five dimensions");
  if constexpr (Rank == 1) IMBREX_LOAD_SHARED(1, "%4", "r"(c.at[0]));
  if constexpr (Rank == 2) IMBREX_LOAD_SHARED(2, "%5", "r"(c.at[0]), "r"(c.at[1]));
  if constexpr (Rank == 3) IMBREX_LOAD_SHARED(3, "%6", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]));
  if constexpr (Rank == 4)
    IMBREX_LOAD_SHARED(4, "%7", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]));
  if constexpr (Rank == 5)
    IMBREX_LOAD_SHARED(5, "%8", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4]));
}

template <int Rank>
IMBREX_INLINE void walk(uint32_t to, const tensor_map *map, uint32_t barrier, coordinates<Rank> c,
                        offsets<Rank - 2> o) {
  static_assert(3 <= Rank && Rank <= 5, "images have one to three dimensions");
  if constexpr (Rank == 3) IMBREX_WALK(3, "{%6}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "h"(o.at[0]));
  if constexpr (Rank == 4)
    IMBREX_WALK(4, "{%7, %8}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "h"(o.at[0]), "h"(o.at[1]));
  if constexpr (Rank == 5)
    IMBREX_WALK(5, "{%8, %9, %10}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4]),
                "h"(o.at[0]), "h"(o.at[1]), "h"(o.at[2]));
}

template <int Rank>
IMBREX_INLINE void walk(uint32_t to, const tensor_map *map, uint32_t barrier, coordinates<Rank> c,
                        offsets<Rank - 2> o, uint16_t mask) {
  static_assert(3 <= Rank && Rank <= 5, "images have one to three dimensions");
  if constexpr (Rank == 3)
    IMBREX_WALK_SHARED(3, "{%6}", "%7", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "h"(o.at[0]));
  if constexpr (Rank == 4)
    IMBREX_WALK_SHARED(4, "{%7, %8}", "%9", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "h"(o.at[0]),
                       "h"(o.at[1]));
  if constexpr (Rank == 5)
    IMBREX_WALK_SHARED(5, "{%8, %9, %10}", "%11", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]),
                       "r"(c.at[4]), "h"(o.at[0]), "h"(o.at[1]), "h"(o.at[2]));
}

// The box = shared memory.  Stores since the last `end_stores` are one group.
template <int Rank> IMBREX_INLINE void store(const tensor_map *map, uint32_t from, coordinates<Rank> c) {
  static_assert(1 <= Rank && Rank <= 5, "an array has one to five dimensions");
  if constexpr (Rank == 1) IMBREX_STORE(1, "{%2}", "r"(c.at[0]));
  if constexpr (Rank == 2) IMBREX_STORE(2, "{%2, %3}", "r"(c.at[0]), "r"(c.at[1]));
  if constexpr (Rank == 3) IMBREX_STORE(3, "{%2, %3, %4}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]));
  if constexpr (Rank == 4)
    IMBREX_STORE(4, "{%2, %3, %4, %5}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]));
  if constexpr (Rank == 5)
    IMBREX_STORE(5, "{%2, %3, %4, %5, %6}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4]));
}

#undef IMBREX_1
#undef IMBREX_2
#undef IMBREX_3
#undef IMBREX_4
#undef IMBREX_5
#undef IMBREX_COPY
#undef IMBREX_DONE
#undef IMBREX_LOAD
#undef IMBREX_LOAD_SHARED
#undef IMBREX_WALK
#undef IMBREX_WALK_SHARED
#undef IMBREX_STORE

IMBREX_INLINE void end_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Returns when the stores of all but the last `Groups` groups have read shared memory; a kernel ends when all are done.
template <int Groups> IMBREX_INLINE void wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Groups) : "memory");
}
} // namespace imbrex
