// The machine's copy engine.  A tensor map is what it says, in plain.
#pragma once
#include "language.h"

namespace imbrex {

struct alignas(64) tensor_map {
  const tensor_form *form;
};

IMBREX_INLINE void prefetch(const tensor_map *) {}

template <int Rank> struct coordinates {
  int32_t at[Rank];
};
template <int Rank> struct offsets {
  uint16_t at[Rank];
};

// mask: 0 for the workgroup that asks.
template <int Rank>
IMBREX_INLINE void load(uint32_t to, const tensor_map *map, uint32_t barrier, coordinates<Rank> c, uint16_t mask = 0) {
  static_assert(1 <= Rank && Rank <= 5, "an array has one to five dimensions");
  hopper::load(to, map->form, barrier, c.at, nullptr, mask);
}
template <int Rank>
IMBREX_INLINE void walk(uint32_t to, const tensor_map *map, uint32_t barrier, coordinates<Rank> c,
                        offsets<Rank - 2> o, uint16_t mask = 0) {
  static_assert(3 <= Rank && Rank <= 5, "images have one to three dimensions");
  hopper::load(to, map->form, barrier, c.at, o.at, mask);
}
template <int Rank> IMBREX_INLINE void store(const tensor_map *map, uint32_t from, coordinates<Rank> c) {
  static_assert(1 <= Rank && Rank <= 5, "an array has one to five dimensions");
  hopper::store(map->form, from, c.at);
}
IMBREX_INLINE void end_stores() { hopper::end_stores(); }
template <int Groups> IMBREX_INLINE void wait_stores_read() { hopper::wait_stores_read(Groups); }
} // namespace imbrex
