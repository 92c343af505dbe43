// Where a workgroup's shared memory has the stages of a ring, the pieces of C, and barriers.
#pragma once
#include "ptx/language.h"

namespace imbrex {

// Addresses.  P is a kernel, as in warpgroup_gemm.h.
template <class P> struct places {
  static constexpr int groups = P::is_pingpong ? 1 : P::consumers; // consumers of one tile
  static constexpr int b_place = (P::a_bytes + 1023) / 1024 * 1024;
  static constexpr int b_room = (P::b_bytes + 1023) / 1024 * 1024;
  static constexpr int stage_bytes = P::b_stays ? b_place : b_place + b_room;
  static constexpr int staging = P::stages * stage_bytes + (P::b_stays ? b_room : 0);
  static constexpr int barriers = staging + P::consumers * 2 * P::piece_bytes;
  static constexpr int more = P::parts > 1 ? P::consumers + 1 : P::b_stays ? 2 : 0;
  static constexpr int bytes = barriers + (2 * P::stages + 2 + more) * 8;
  static_assert(P::parts == 1 || !P::b_stays, "where B stays, workgroups have whole tiles");

  uint32_t memory;

  IMBREX_MEMBER uint32_t a(int32_t stage) const { return memory + stage * stage_bytes; }
  IMBREX_MEMBER uint32_t b(int32_t stage) const { return P::b_stays ? a(P::stages) : a(stage) + b_place; }
  IMBREX_MEMBER uint32_t full(int32_t stage) const { return memory + barriers + stage * 8; }
  IMBREX_MEMBER uint32_t empty(int32_t stage) const { return full(stage) + P::stages * 8; }
  // The consumer's turn to multiply, of two that take turns.
  IMBREX_MEMBER uint32_t turn(int32_t group) const { return memory + barriers + (2 * P::stages + group) * 8; }
  // Of workgroups that share a tile: all are done with their stages; this one has the sums of all.
  IMBREX_MEMBER uint32_t vacated() const { return memory + barriers + (2 * P::stages + 2) * 8; }
  IMBREX_MEMBER uint32_t collected(int32_t group) const { return vacated() + (1 + group) * 8; }
  // Where B stays: its tile is there; all consumers are done with it.
  IMBREX_MEMBER uint32_t b_there() const { return memory + barriers + (2 * P::stages + 2) * 8; }
  IMBREX_MEMBER uint32_t b_left() const { return b_there() + 8; }
  IMBREX_MEMBER uint32_t pieces(int32_t group) const { return memory + staging + group * 2 * P::piece_bytes; }
};
} // namespace imbrex
