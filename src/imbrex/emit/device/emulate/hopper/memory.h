// Shared memory: whose bytes, and in which order.
//
// Laws: a byte is read after it is known to have been written, and written after all who read it or wrote it before are
// known to be done; engines read what lanes wrote behind a fence.  The bytes of a barrier are the barrier's.
#pragma once
#include "schedule.h"

namespace imbrex::hopper {

enum class proxy { lane, engine };

inline workgroup &workgroup_at(uint32_t address) {
  cluster &all = *here->home->in;
  const uint32_t rank = address >> rank_shift;
  if (rank >= all.size) wrong("address 0x%x is of workgroup %u of a cluster of %u", address, rank, all.size);
  workgroup &found = all.workgroups[rank];
  if (!found.alive) wrong("address 0x%x is of workgroup %u, which has ended", address, found.index);
  return found;
}
// Of this workgroup's own memory, or of any of the cluster.
inline uint32_t offset_in(const workgroup &of, uint32_t address, uint32_t bytes, const char *what) {
  const uint32_t offset = (address & ((1u << rank_shift) - 1)) - shared_base;
  if (offset > of.bytes || bytes > of.bytes - offset)
    wrong("%s %u bytes at byte %d of shared memory, which has %u", what, bytes, int32_t(offset), of.bytes);
  return offset;
}
inline workgroup &own(uint32_t address) {
  if (address >> rank_shift != here->home->rank) wrong("address 0x%x is of another workgroup", address);
  return *here->home;
}

// Who an actor is, in words.
inline void say_actor(const workgroup &of, moment m) {
  const uint32_t each = workgroup::actors(of.lanes), actor = actor_of(m) % each;
  const workgroup &whose = of.in->workgroups[actor_of(m) / each];
  if (actor < of.lanes)
    fault->say("lane %u of warp %u", actor % 32, actor / 32);
  else if (actor < of.lanes + most_barriers)
    fault->say("a copy that phase %u of the barrier at byte %u waits for", clock_of(m) - 1,
               whose.barriers[actor - of.lanes]->offset);
  else if (actor < of.lanes + most_barriers + most_warpgroups)
    fault->say("group %u of the products of warpgroup %u", clock_of(m) - 1, actor - of.lanes - most_barriers);
  else
    fault->say("a store of the copy engine's, group %u", clock_of(m) - 1);
  if (whose.index != of.index) fault->say(" of workgroup %u", whose.index);
}

[[noreturn]] inline void out_of_order(const workgroup &of, uint32_t offset, moment other, const char *does,
                                      const char *did) {
  say_lane(*here);
  fault->say(": %s byte %u of workgroup %u's shared memory, which ", does, offset, of.index);
  say_actor(of, other);
  fault->say(" %s, and nothing orders the two", did);
  stop();
}

// Barriers in some bytes.
inline void expect_no_barrier(const workgroup &of, uint32_t offset, uint32_t bytes, const char *does) {
  if (offset >= of.last_barrier || offset + bytes <= of.first_barrier) return;
  for (uint32_t i = 0; i < of.barrier_count; ++i)
    if (offset < of.barriers[i]->offset + 8 && of.barriers[i]->offset < offset + bytes)
      wrong("%s the bytes of the barrier at byte %u of shared memory", does, of.barriers[i]->offset);
}

inline bool is_of_lane(const workgroup &of, moment m) { return actor_of(m) % workgroup::actors(of.lanes) < of.lanes; }

// Who reads says when it is done: `until`.  slot: of the warpgroup whose read it is.
inline void expect_readable(workgroup &of, uint32_t offset, uint32_t bytes, proxy by, const char *does) {
  const knowledge &knows = here->knows;
  moment good = 0;
  for (uint32_t i = offset; i < offset + bytes; ++i) {
    const moment m = of.written[i];
    if (m == good) continue;
    if (!knows.has_seen(m)) out_of_order(of, i, m, does, "writes");
    if (by == proxy::engine && is_of_lane(of, m) && !knows.has_fenced(m)) {
      say_lane(*here);
      fault->say(": %s byte %u of shared memory, which ", does, i);
      say_actor(of, m);
      fault->say(" wrote, with no fence.proxy.async between the two");
      stop();
    }
    good = m;
  }
}
inline void mark_read(workgroup &of, uint32_t offset, uint32_t bytes, uint32_t slot, moment until) {
  moment *read = of.read + size_t(slot) * of.bytes;
  for (uint32_t i = offset; i < offset + bytes; ++i) read[i] = until;
}

inline void expect_writable(workgroup &of, uint32_t offset, uint32_t bytes, const char *does) {
  const knowledge &knows = here->knows;
  const uint32_t slots = (of.lanes + 127) / 128;
  for (uint32_t slot = 0; slot <= slots; ++slot) {
    const bool reads = slot < slots;
    const moment *of_slot = reads ? of.read + size_t(slot) * of.bytes : of.written;
    moment good = 0;
    for (uint32_t i = offset; i < offset + bytes; ++i) {
      const moment m = of_slot[i];
      if (m == good) continue;
      if (!knows.has_seen(m)) out_of_order(of, i, m, does, reads ? "reads" : "writes");
      good = m;
    }
  }
}
inline void mark_written(workgroup &of, uint32_t offset, uint32_t bytes, moment m) {
  for (uint32_t i = offset; i < offset + bytes; ++i) of.written[i] = m;
  const uint32_t slots = (of.lanes + 127) / 128;
  for (uint32_t slot = 0; slot < slots; ++slot)
    __builtin_memset(of.read + size_t(slot) * of.bytes + offset, 0, size_t(bytes) * sizeof(moment));
}

inline moment now() {
  const uint32_t actor = here->home->lane_actor(here->number);
  return moment_of(actor, here->knows.seen[actor]);
}
// What this lane did is handed on; what it does next is later.
inline void go_on() {
  const uint32_t actor = here->home->lane_actor(here->number);
  if (++here->knows.seen[actor] == most_steps) wrong("more than %u steps: the problem is too large", most_steps);
}

inline void expect_aligned(uint32_t offset, uint32_t bytes, const char *does) {
  if (offset % bytes) wrong("%s %u bytes at byte %u of shared memory, no multiple of them", does, bytes, offset);
}
inline uint32_t lane_offset(uint32_t address, int32_t bytes, const char *does) {
  workgroup &of = own(address);
  const uint32_t offset = offset_in(of, address, uint32_t(bytes), does);
  expect_aligned(offset, uint32_t(bytes), does);
  expect_no_barrier(of, offset, uint32_t(bytes), does);
  return offset;
}

uint32_t shared_address(const void *p) {
  const int64_t offset = static_cast<const uint8_t *>(p) - here->home->memory;
  return here->home->rank << rank_shift | uint32_t(int64_t(shared_base) + offset);
}

void read_shared(void *to, uint32_t from, int32_t bytes) {
  workgroup &of = *here->home;
  const uint32_t offset = lane_offset(from, bytes, "reads");
  expect_readable(of, offset, uint32_t(bytes), proxy::lane, "reads");
  mark_read(of, offset, uint32_t(bytes), here->warpgroup(), now());
  copy_memory(to, of.memory + offset, size_t(bytes));
}

void write_shared(uint32_t to, const void *from, int32_t bytes) {
  workgroup &of = *here->home;
  const uint32_t offset = lane_offset(to, bytes, "writes");
  expect_writable(of, offset, uint32_t(bytes), "writes");
  mark_written(of, offset, uint32_t(bytes), now());
  copy_memory(of.memory + offset, from, size_t(bytes));
}

void written_for_engines() {
  here->knows.fence();
  go_on();
}
} // namespace imbrex::hopper
