// Where a workgroup's shared memory has the stages of its rings, the pieces of C, and barriers: all offsets are P's, which
// has them from the layout that the launch's bytes are counted by.
#pragma once
#include "ptx/language.h"

namespace imbrex {

// Addresses.  P is a kernel, as in pipeline.h.
template <class P> struct addresses {
  uint32_t memory;
  int32_t first = 0; // stage of the consumer's ring, where each has one

  // Those of a consumer that has a ring of its own.
  IMBREX_MEMBER addresses of_ring(int32_t group) const { return {memory, group * P::stages}; }

  IMBREX_MEMBER uint32_t a(int32_t stage) const { return memory + (first + stage) * P::stage_bytes; }
  IMBREX_MEMBER uint32_t b(int32_t stage) const { return memory + stage * P::b_step + P::b_offset; }
  IMBREX_MEMBER uint32_t full(int32_t stage) const { return memory + P::full_offset + (first + stage) * 8; }
  IMBREX_MEMBER uint32_t empty(int32_t stage) const { return memory + P::empty_offset + (first + stage) * 8; }
  // The consumer's turn to multiply, where they take turns.
  IMBREX_MEMBER uint32_t turn(int32_t group) const { return memory + P::turn_offset + group * 8; }
  // Of workgroups that share a tile: all are done with their stages; this one has the sums of all.
  IMBREX_MEMBER uint32_t vacated() const { return memory + P::vacated_offset; }
  IMBREX_MEMBER uint32_t collected(int32_t group) const { return memory + P::collected_offset + group * 8; }
  // Where B stays: its tile is there; all consumers are done with it.
  IMBREX_MEMBER uint32_t b_there() const { return memory + P::b_there_offset; }
  IMBREX_MEMBER uint32_t b_left() const { return memory + P::b_left_offset; }
  IMBREX_MEMBER uint32_t pieces(int32_t group) const { return memory + P::pieces_offset + group * 2 * P::piece_bytes; }
};
} // namespace imbrex
