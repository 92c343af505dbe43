// The copy engine (TMA): boxes and walks of arrays into shared memory, swizzled, and boxes back.
//
// A load comes at any time after it is asked for, by chance, and the barrier knows; a store has read shared memory when
// its lane has waited for that, or has ended.
// Source: CUDA driver API, "Tensor Map Object Management"; PTX ISA, cp.async.bulk.tensor; the rules of alignment are
// those of view/tensor.
#pragma once
#include "barriers.h"
#include "number.h"

namespace imbrex::hopper {

// A load on its way to all workgroups of `mask`.
struct transfer {
  const tensor_form *form;
  cluster *to;
  uint32_t offset, barrier, mask, bytes;
  int32_t at[5];
  uint16_t offsets[3];
};
inline list<transfer> transfers;

// Bits of a byte's offset change by others, as the tensor map says.
inline uint32_t swizzled(uint32_t offset, int32_t swizzle) {
  const uint32_t chunks = swizzle > 16 ? uint32_t(swizzle) / 16 : 1;
  return offset ^ (offset >> 7 & (chunks - 1)) << 4;
}

inline uint32_t row_elements(const tensor_form &f) {
  return uint32_t(f.is_walk ? f.channels : (f.box[0] + f.steps[0] - 1) / f.steps[0]);
}
inline uint32_t rows_of(const tensor_form &f) {
  if (f.is_walk) return uint32_t(f.pixels);
  uint32_t rows = 1;
  for (int i = 1; i < f.rank; ++i) rows *= uint32_t((f.box[i] + f.steps[i] - 1) / f.steps[i]);
  return rows;
}
inline uint32_t bytes_of(const tensor_form &f) { return row_elements(f) * rows_of(f) * uint32_t(f.element_bytes); }

// Each row of a box or a walk in its order: where it begins, innermost first, and whether it is in the array but for
// its elements.
template <class Each> inline void for_each_row(const tensor_form &f, const int32_t *at, const uint16_t *offsets, Each each) {
  const uint32_t rows = rows_of(f);
  int64_t coordinate[5];
  for (int i = 0; i < f.rank; ++i) coordinate[i] = at[i];
  int64_t w = at[1], h = f.rank > 2 ? at[2] : 0, n = f.rank > 3 ? at[3] : 0;
  for (uint32_t row = 0; row < rows; ++row) {
    if (f.is_walk) coordinate[1] = w + offsets[0], coordinate[2] = h + offsets[1], coordinate[3] = n;
    int64_t element = 0;
    bool exists = true;
    for (int i = 1; i < f.rank; ++i) {
      exists = exists && 0 <= coordinate[i] && coordinate[i] < f.sizes[i];
      element += coordinate[i] * f.strides[i];
    }
    each(row, element, exists);
    if (f.is_walk) {
      if ((w += f.steps[0]) > f.sizes[1] - 1 + f.upper[0]) w = f.lower[0], h += f.steps[1];
      if (h > f.sizes[2] - 1 + f.upper[1]) h = f.lower[1], ++n;
      continue;
    }
    for (int i = 1; i < f.rank; ++i) {
      if ((coordinate[i] += f.steps[i]) < at[i] + f.box[i]) break;
      coordinate[i] = at[i];
    }
  }
}

inline void deliver(const transfer &one) {
  const tensor_form &f = *one.form;
  const uint32_t count = row_elements(f), size = uint32_t(f.element_bytes), step = f.is_walk ? 1 : uint32_t(f.steps[0]);
  const uint8_t *first = static_cast<const uint8_t *>(f.first);
  for_each_row(f, one.at, one.offsets, [&](uint32_t row, int64_t element, bool exists) {
    for (uint32_t i = 0; i < count; ++i) {
      const int64_t x = one.at[0] + int64_t(i) * step;
      uint8_t value[8] = {};
      if (exists && 0 <= x && x < f.sizes[0]) copy_memory(value, first + (element + x) * size, size);
      if (f.is_tf32) {
        float y;
        copy_memory(&y, value, 4);
        y = rounded_to_tf32(y);
        copy_memory(value, &y, 4);
      }
      const uint32_t offset = swizzled(one.offset + shared_base + (row * count + i) * size, f.swizzle) - shared_base;
      for (uint32_t rank = 0; rank < one.to->size; ++rank)
        if (one.mask >> rank & 1) copy_memory(one.to->workgroups[rank].memory + offset, value, size);
    }
  });
  for (uint32_t rank = 0; rank < one.to->size; ++rank)
    if (one.mask >> rank & 1) {
      workgroup &of = one.to->workgroups[rank];
      complete(*barrier_in(of, one.barrier), one.bytes);
    }
}

// Rules of the engine for offsets and coordinates.
inline void expect_form(const tensor_form &f, uint32_t offset, const int32_t *at, const char *does) {
  const uint32_t row_bytes = row_elements(f) * uint32_t(f.element_bytes);
  if ((offset + shared_base) % 128) wrong("%s a tile at byte %u of shared memory, no multiple of 128", does, offset);
  if (int64_t(at[0]) * f.element_bytes % 16) wrong("%s at innermost coordinate %d, no multiple of 16 bytes", does, at[0]);
  if (row_bytes % 16) wrong("%s rows of %u bytes, no multiple of 16", does, row_bytes);
  if (f.swizzle && row_bytes > uint32_t(f.swizzle)) wrong("%s rows of %u bytes, swizzled by %d", does, row_bytes, f.swizzle);
  if (reinterpret_cast<uintptr_t>(f.first) % 16) wrong("%s an array at %p, no multiple of 16 bytes", does, f.first);
}

void load(uint32_t to, const tensor_form *form, uint32_t barrier, const int32_t *at, const uint16_t *offsets,
          uint32_t mask) {
  cluster &all = *here->home->in;
  transfer one = {form, &all, 0, 0, mask ? mask : 1u << here->home->rank, bytes_of(*form), {}, {}};
  for (int i = 0; i < form->rank; ++i) one.at[i] = at[i];
  for (int i = 0; offsets && i < form->rank - 2; ++i) one.offsets[i] = offsets[i];
  if (form->is_walk != (offsets != nullptr)) wrong("asks for a %s of another tensor map", offsets ? "walk" : "box");
  own(to), own(barrier);
  if (one.mask >> all.size) wrong("a copy for workgroups 0x%x of a cluster of %u", one.mask, all.size);
  for (uint32_t rank = 0; rank < all.size; ++rank) {
    if (!(one.mask >> rank & 1)) continue;
    const uint32_t there = in_cluster(to, rank);
    workgroup &of = workgroup_at(there);
    one.offset = offset_in(of, there, one.bytes, "copies");
    expect_form(*form, one.offset, at, "copies");
    expect_no_barrier(of, one.offset, one.bytes, "copies over");
    shared_barrier &known = expected_barrier(in_cluster(barrier, rank), "tells");
    one.barrier = known.offset;
    expect_seen(known);
    expect_writable(of, one.offset, one.bytes, "copies over");
    mark_written(of, one.offset, one.bytes, moment_of(known.actor, known.phases + 1));
  }
  transfers.push(one);
}

void store_in_cluster(uint32_t to, uint32_t barrier, const uint32_t *x) {
  workgroup &of = workgroup_at(to);
  const uint32_t offset = offset_in(of, to, 16, "stores");
  expect_aligned(offset, 16, "stores");
  expect_no_barrier(of, offset, 16, "stores over");
  shared_barrier &known = expected_barrier(barrier, "tells");
  expect_seen(known);
  if (barrier >> rank_shift != to >> rank_shift) wrong("stores in one workgroup and tells another");
  expect_writable(of, offset, 16, "stores over");
  mark_written(of, offset, 16, moment_of(known.actor, known.phases + 1));
  copy_memory(of.memory + offset, x, 16);
  complete(known, 16);
}

// Which workgroup of a launch stored each byte of an array; 0: none.
struct stored_array {
  const launch_state *in;
  const uint8_t *first;
  size_t bytes;
  uint32_t *by;
};
inline list<stored_array> stored_arrays;

inline void release_stored_arrays() {
  for (int32_t i = 0; i < stored_arrays.count; ++i) free(stored_arrays[i].by);
  stored_arrays.count = 0;
}
inline stored_array &stored_array_of(const launch_state *in, const tensor_form &f) {
  const uint8_t *first = static_cast<const uint8_t *>(f.first);
  int64_t elements = 1;
  for (int i = 0; i < f.rank; ++i) elements += (f.sizes[i] - 1) * (i ? f.strides[i] : 1);
  const size_t bytes = size_t(elements) * size_t(f.element_bytes);
  for (int32_t i = 0; i < stored_arrays.count; ++i) {
    stored_array &one = stored_arrays[i];
    if (one.in == in && one.first <= first && first + bytes <= one.first + one.bytes) return one;
  }
  stored_arrays.push({in, first, bytes, static_cast<uint32_t *>(calloc(bytes, sizeof(uint32_t)))});
  return stored_arrays[stored_arrays.count - 1];
}
// An element has one workgroup: the others' would be there or not, as the order happens to be.
inline void expect_only_writer(const workgroup &of, stored_array &array, const uint8_t *to) {
  uint32_t &by = array.by[to - array.first];
  if (by && by != of.index + 1)
    wrong("stores byte %lld of an array, which workgroup %u stores, too", (long long)(to - array.first), by - 1);
  by = of.index + 1;
}

// The tile goes to the array.
inline void write_out(const workgroup &of, const stored &one) {
  const tensor_form &f = *one.form;
  const uint32_t count = row_elements(f), size = uint32_t(f.element_bytes), step = uint32_t(f.steps[0]);
  uint8_t *first = static_cast<uint8_t *>(f.first);
  stored_array &array = stored_array_of(of.in->of, f);
  for_each_row(f, one.at, nullptr, [&](uint32_t row, int64_t element, bool exists) {
    if (!exists) return;
    for (uint32_t i = 0; i < count; ++i) {
      const int64_t x = one.at[0] + int64_t(i) * step;
      if (x < 0 || x >= f.sizes[0]) continue;
      const uint32_t offset = swizzled(one.offset + shared_base + (row * count + i) * size, f.swizzle) - shared_base;
      uint8_t *to = first + (element + x) * size;
      expect_only_writer(of, array, to);
      copy_memory(to, of.memory + offset, size);
    }
  });
}

inline uint32_t storing_lane(lane &one) {
  workgroup &of = *one.home;
  for (uint32_t i = 0; i < most_storing; ++i) {
    if (!of.storing[i]) of.storing[i] = &one;
    if (of.storing[i] == &one) return i;
  }
  wrong("more than %d lanes of a workgroup store by the copy engine", most_storing);
}

void store(const tensor_form *form, uint32_t from, const int32_t *at) {
  workgroup &of = own(from);
  stored one = {form, 0, {}};
  for (int i = 0; i < form->rank; ++i) one.at[i] = at[i];
  const uint32_t bytes = bytes_of(*form);
  one.offset = offset_in(of, from, bytes, "stores");
  expect_form(*form, one.offset, at, "stores");
  if (form->sizes[0] * form->element_bytes % 16) // whole pieces of 16 bytes are written, beyond the size too
    wrong("stores to rows of %lld elements, no multiple of 16 bytes", (long long)form->sizes[0]);
  expect_no_barrier(of, one.offset, bytes, "stores");
  expect_readable(of, one.offset, bytes, proxy::engine, "stores");
  const moment until = moment_of(of.storing_actor(storing_lane(*here)), here->store_groups + 1);
  mark_read(of, one.offset, bytes, here->warpgroup(), until);
  here->stores.push(one);
  here->store_group.push(here->store_groups);
}
void end_stores() { ++here->store_groups; }

// The oldest groups are read, up to `end`.
inline void read_stores(lane &one, uint32_t end) {
  int32_t left = 0;
  for (int32_t i = 0; i < one.stores.count; ++i) {
    if (one.store_group[i] < end) {
      write_out(*one.home, one.stores[i]);
    } else {
      one.stores[left] = one.stores[i];
      one.store_group[left++] = one.store_group[i];
    }
  }
  one.stores.count = one.store_group.count = left;
}
void wait_stores_read(int32_t groups) {
  if (here->store_groups <= uint32_t(groups)) return;
  const uint32_t end = here->store_groups - uint32_t(groups);
  read_stores(*here, end);
  here->knows.learn(moment_of(here->home->storing_actor(storing_lane(*here)), end));
}
} // namespace imbrex::hopper
