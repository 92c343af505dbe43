// A producer of ordinary loads, for arrays that the copy engine cannot walk: all lanes of a warpgroup fill the tile of
// one stage, element by element where nothing wider is legal; what does not exist is zero.
//
// F is a feed: its tile's sizes, the registers of a lane for what it has loaded and not yet put, the element (k, d) of
// the tile in memory and in shared memory.  Where it has rows, the elements from one on along a row of the tile lie one
// after the other, and `left` of them exist; that they begin anywhere in a word costs a shift, and no load for each.
#pragma once
#include "barrier.h"
#include "ptx/async_copy.h"
#include "shift.h"
#include "sums.h"
#include "warpgroup.h"
#include "work.h"

namespace imbrex {

// Neighbours of one load: do they stay neighbours in shared memory, and may they go there past the registers?
template <class F> constexpr bool stays_whole = F::along_k == F::is_k_major || F::width == 1;
template <class F> constexpr bool passes_registers = !stays_whole<F> || F::width * F::element_bytes < 4;

// Loads of a lane for a tile up to which each is code of its own: where k is a window's tap, its place is then a number.
constexpr int MOST_UNROLLED = 128;

// Shares of `all` of at most `most` each that are as few, and then as equal, as can be: how much the first has.
constexpr int even_share(int all, int most) {
  const int shares = (all + most - 1) / most;
  return (all + shares - 1) / shares;
}

IMBREX_INLINE uint4 from_lane(uint4 x, uint32_t lane) {
  return uint4{__shfl_sync(~0u, x.x, lane), __shfl_sync(~0u, x.y, lane), __shfl_sync(~0u, x.z, lane),
               __shfl_sync(~0u, x.w, lane)};
}

// 16 aligned bytes of which the array holds some: at its ends the others are nobody's, and are not read.
template <class F> IMBREX_INLINE uint4 piece_of(const F &feed, const uint4 *from) {
  const uint64_t before = reinterpret_cast<uint64_t>(from) - reinterpret_cast<uint64_t>(feed.memory);
  const uint64_t bytes = feed.bytes();
  if (before + 16 <= bytes && before < bytes) return __ldg(from);
  uint64_t low = 0, high = 0;
#pragma unroll 1
  for (int i = 0; i < 16; ++i)
    if (before + i < bytes) {
      const uint64_t x = reinterpret_cast<const uint8_t *>(from)[i];
      if (i < 8)
        low |= x << 8 * i;
      else
        high |= x << (8 * i - 64);
    }
  return uint4{uint32_t(low), uint32_t(low >> 32), uint32_t(high), uint32_t(high >> 32)};
}

// Of a tile whose rows lie whole in memory, anywhere: the aligned pieces of 16 bytes that hold some of a row, each by
// one lane.  A piece of the tile is parts of two of them, its lane's own and the next lane's; what follows the last
// of a row, a lane loads for each row of the warp.  A piece that holds nothing of the row is not read.
template <class F> IMBREX_INLINE void fill_rows(const F &feed, uint32_t tile, int32_t batch, int32_t at, int32_t step) {
  constexpr int size = F::element_bytes, width = 16 / size, line = (F::along_k ? F::depth : F::extent) / width;
  constexpr int loads = F::depth * F::extent / width, rows = 32 / line; // rows of a warp in a turn
  constexpr int turns = (loads + warpgroup_lanes - 1) / warpgroup_lanes;
  constexpr int count = even_share(turns, F::registers / 6), ends = (count * rows + 31) / 32;
  static_assert(32 % line == 0 && loads % 32 == 0, "warps load whole rows");
  const uint32_t lane = uint32_t(warpgroup_lane()), in_warp = lane % 32, first = lane / 32 * 32;
  const auto locate = [&](uint32_t load, int32_t &k, int32_t &d) {
    const int32_t along = int32_t(load % line * width), across = int32_t(load / line);
    k = F::along_k ? along : across, d = F::along_k ? across : along;
  };
  const auto aligned = [&](const void *from) {
    return reinterpret_cast<const uint4 *>(reinterpret_cast<uint64_t>(from) & ~uint64_t(15));
  };
  const auto is_turn = [&](uint32_t turn) { // of this warp: are its rows of the tile
    return loads % (count * warpgroup_lanes) == 0 || turn * warpgroup_lanes + first < loads;
  };
#pragma unroll 1
  for (uint32_t i = 0; i < turns; i += count) {
    uint4 own[count], end[ends];
    int32_t left[count];
    uint32_t shift[count];
    int32_t k, d;
#pragma unroll
    for (int j = 0; j < count; ++j) {
      locate((i + j) * warpgroup_lanes + lane, k, d);
      const auto *from = feed.at(batch, at, step, k, d);
      shift[j] = uint32_t(reinterpret_cast<uint64_t>(from)) & 15;
      left[j] = feed.left(batch, at, step, k, d) * size;
      own[j] = uint4{};
      if (is_turn(i + j) && left[j] + int32_t(shift[j]) > 0) own[j] = piece_of(feed, aligned(from));
    }
#pragma unroll
    for (int e = 0; e < ends; ++e) {
      const uint32_t row = e * 32 + in_warp;
      end[e] = uint4{};
      locate((i + row / rows) * warpgroup_lanes + first + (row % rows + 1) * line - 1, k, d);
      const auto *from = feed.at(batch, at, step, k, d);
      const int32_t beyond = feed.left(batch, at, step, k, d) * size - 16;
      const bool is_row = row < count * rows && is_turn(i + row / rows);
      if (is_row && beyond + int32_t(uint32_t(reinterpret_cast<uint64_t>(from)) & 15) > 0 && beyond > -16)
        end[e] = piece_of(feed, aligned(from) + 1);
    }
#pragma unroll
    for (int j = 0; j < count; ++j) {
      locate((i + j) * warpgroup_lanes + lane, k, d);
      const uint4 next = from_lane(own[j], in_warp + 1);
      const uint4 last = from_lane(end[j * rows / 32], (j * rows + in_warp / line) % 32);
      const uint4 high = in_warp % line == line - 1 ? last : next;
      if (is_turn(i + j)) put_shared(tile + F::byte_of(k, d), shifted(own[j], high, shift[j], left[j]));
    }
  }
  written_for_engines();
}

template <class F> IMBREX_INLINE void fill_tile(const F &feed, uint32_t tile, int32_t batch, int32_t at, int32_t step) {
  constexpr int bytes = F::width * F::element_bytes, line = (F::along_k ? F::depth : F::extent) / F::width;
  constexpr int loads = F::depth * F::extent / F::width, turns = (loads + warpgroup_lanes - 1) / warpgroup_lanes;
  const uint32_t lane = uint32_t(warpgroup_lane());
  if constexpr (F::has_rows) {
    fill_rows(feed, tile, batch, at, step);
  } else if constexpr (!passes_registers<F>) {
    constexpr int at_a_time = F::along_k == F::is_k_major ? 8 : turns; // fewer instructions for each element
#pragma unroll at_a_time
    for (uint32_t i = 0; i < turns; ++i) {
      const uint32_t load = i * warpgroup_lanes + lane, along = load % line * F::width, across = load / line;
      if (loads % warpgroup_lanes && load >= loads) break;
      const int32_t k = int32_t(F::along_k ? along : across), d = int32_t(F::along_k ? across : along);
      const bool exists = feed.exists(batch, at, step, k, d);
      copy_in<bytes>(tile + F::byte_of(k, d), exists ? feed.at(batch, at, step, k, d) : feed.memory, exists);
    }
  } else {
    constexpr int batch_size = even_share(turns, F::registers * 4 / (bytes < 4 ? 4 : bytes));
    constexpr int at_a_time = turns <= MOST_UNROLLED ? (turns + batch_size - 1) / batch_size : 1;
    typedef word<bytes> piece;
    typedef word<F::element_bytes> element;
#pragma unroll at_a_time
    for (uint32_t i = 0; i < turns; i += batch_size) {
      piece x[batch_size];
#pragma unroll
      for (int j = 0; j < batch_size; ++j) {
        const uint32_t load = (i + j) * warpgroup_lanes + lane, along = load % line * F::width, across = load / line;
        const int32_t k = int32_t(F::along_k ? along : across), d = int32_t(F::along_k ? across : along);
        x[j] = piece{};
        if ((loads % (batch_size * warpgroup_lanes) == 0 || load < loads) && feed.exists(batch, at, step, k, d))
          x[j] = *reinterpret_cast<const piece *>(feed.at(batch, at, step, k, d));
      }
#pragma unroll
      for (int j = 0; j < batch_size; ++j) {
        const uint32_t load = (i + j) * warpgroup_lanes + lane, along = load % line * F::width, across = load / line;
        const int32_t k = int32_t(F::along_k ? along : across), d = int32_t(F::along_k ? across : along);
        if (loads % (batch_size * warpgroup_lanes) && load >= loads) break;
        if constexpr (stays_whole<F>) {
          put_shared(tile + F::byte_of(k, d), x[j]);
        } else {
#pragma unroll
          for (int e = 0; e < F::width; ++e)
            put_shared(tile + F::byte_of(F::along_k ? k + e : k, F::along_k ? d : d + e),
                       reinterpret_cast<const element *>(&x[j])[e]);
        }
      }
    }
    written_for_engines();
  }
}
} // namespace imbrex
