// Barriers in shared memory (mbarrier): arrivals, announced bytes, phases.
#pragma once
#include "meet.h"

namespace imbrex::hopper {

inline shared_barrier *barrier_in(workgroup &of, uint32_t offset) {
  for (uint32_t i = 0; i < of.barrier_count; ++i)
    if (of.barriers[i]->offset == offset) return of.barriers[i];
  return nullptr;
}
inline shared_barrier &expected_barrier(uint32_t address, const char *does) {
  workgroup &of = workgroup_at(address);
  const uint32_t offset = offset_in(of, address, 8, does);
  shared_barrier *found = barrier_in(of, offset);
  if (!found) wrong("%s the barrier at byte %u of workgroup %u's shared memory, and there is none", does, offset, of.index);
  return *found;
}

void make_barrier(uint32_t barrier, uint32_t arrivals) {
  workgroup &of = own(barrier);
  const uint32_t offset = lane_offset(barrier, 8, "makes a barrier of");
  if (of.barrier_count == most_barriers || !arrivals) wrong("makes %u barriers, this one of %u", of.barrier_count + 1, arrivals);
  expect_writable(of, offset, 8, "makes a barrier of");
  shared_barrier *made = static_cast<shared_barrier *>(calloc(1, sizeof(shared_barrier)));
  made->offset = offset, made->arrivals = made->missing = arrivals;
  made->actor = of.barrier_actor(of.barrier_count);
  made->coming = knowledge::of(here->knows.actors);
  made->over = knowledge::of(here->knows.actors);
  of.barriers[of.barrier_count++] = made;
  if (of.barrier_count == 1 || offset < of.first_barrier) of.first_barrier = offset;
  if (offset + 8 > of.last_barrier) of.last_barrier = offset + 8;
}
void barriers_made() {
  for (uint32_t i = 0; i < here->home->barrier_count; ++i) here->home->barriers[i]->is_seen = true;
}
inline void expect_seen(const shared_barrier &at) {
  if (!at.is_seen) wrong("tells the barrier at byte %u, with no fence.mbarrier_init behind its making", at.offset);
}

// The phase is over when nothing is missing.
inline void go_on_if_complete(shared_barrier &at) {
  if (at.missing || at.bytes) return;
  at.missing = at.arrivals;
  ++at.phases;
  at.over.learn(at.coming);
  at.over.learn(moment_of(at.actor, at.phases));
  at.coming.forget();
  lane *others = at.waiting.first;
  at.waiting.first = nullptr;
  while (others) {
    lane *one = others;
    others = one->next;
    if ((at.phases & 1) != one->parity) {
      one->knows.learn(at.over);
      wake(one);
    } else {
      one->next = at.waiting.first;
      at.waiting.first = one;
    }
  }
}

// The count of bytes is below 0 where another workgroup's copy to all of its cluster came before they are announced here.
inline void arrive_with(shared_barrier &at, uint32_t bytes) {
  if (!at.missing) wrong("arrives once too often at the barrier at byte %u, which is made for %u", at.offset, at.arrivals);
  at.coming.learn(here->knows);
  at.bytes += bytes;
  if (at.bytes >= 1 << 20) wrong("announces %lld bytes to the barrier at byte %u, which counts to 2^20", (long long)at.bytes, at.offset);
  --at.missing;
  go_on();
  go_on_if_complete(at);
}
void arrive(uint32_t barrier, uint32_t bytes) {
  own(barrier);
  arrive_with(expected_barrier(barrier, "arrives at"), bytes);
}
void arrive_at(uint32_t barrier, uint32_t rank) {
  shared_barrier &there = expected_barrier(in_cluster(barrier, rank), "arrives at");
  expect_seen(there);
  arrive_with(there, 0);
}

// Bytes have come.
inline void complete(shared_barrier &at, uint32_t bytes) {
  at.bytes -= bytes;
  go_on_if_complete(at);
}

void wait(uint32_t barrier, uint32_t parity) {
  own(barrier);
  shared_barrier &at = expected_barrier(barrier, "waits for");
  if (parity > 1) wrong("waits for parity %u", parity);
  if ((at.phases & 1) != parity)
    here->knows.learn(at.over);
  else
    wait_in(at.waiting, "mbarrier.try_wait", at.offset, parity);
}

void copy_in(uint32_t to, const void *from, int32_t bytes, bool exists) {
  workgroup &of = *here->home;
  const uint32_t offset = lane_offset(to, bytes, "copies");
  expect_writable(of, offset, uint32_t(bytes), "copies to");
  mark_written(of, offset, uint32_t(bytes), now());
  here->copies.push({offset, bytes, exists ? from : nullptr});
}
// What this lane copies comes now.
void wait_copies() {
  for (int32_t i = 0; i < here->copies.count; ++i) {
    const copied &one = here->copies[i];
    uint8_t *to = here->home->memory + one.offset;
    if (one.from)
      copy_memory(to, one.from, size_t(one.bytes));
    else
      __builtin_memset(to, 0, size_t(one.bytes));
  }
  here->copies.count = 0;
}
void arrive_after_copies(uint32_t barrier) {
  wait_copies();
  arrive(barrier, 0);
}
} // namespace imbrex::hopper
