// Who runs: one lane at a time, until it waits; the next one by chance.
//
// Warps have ranks by chance that change now and then, and of some lanes that could go on one of a higher warp does: so
// it happens that a warp runs far ahead, or is left behind.  Some workgroups are slow from first to last.
#pragma once
#include "chance.h"
#include "fault.h"
#include "state.h"

namespace imbrex::hopper {

inline lane *here;             // that runs
inline void *scheduler;        // its stack
inline list<lane *> ready;     // that could go on
inline message *fault;         // of the run
inline bool has_fault;
inline chance luck(0);
inline uint32_t ranks[1024], turns, slow; // of warps; which workgroups, of every 32

inline void wake(lane *one) {
  one->waits = nullptr;
  ready.push(one);
}
inline void wake_all(queue &those) {
  while (those.first) {
    lane *one = those.first;
    those.first = one->next;
    wake(one);
  }
}

inline void leave() { imbrex_switch_stack(&here->stack_pointer, scheduler); }

// Until somebody wakes those who wait there.
inline void wait_in(queue &those, const char *what, uint32_t offset = 0, uint32_t parity = 0) {
  here->waits = what, here->offset = offset, here->parity = parity;
  here->next = those.first;
  those.first = here;
  leave();
}
// Others may go on first.
inline void step_back() {
  ready.push(here);
  leave();
}

inline void say_lane(const lane &one) {
  fault->say("workgroup %u, warp %u, lane %u", one.home->index, one.warp(), one.number % 32);
}

// Ends the run.  What is said before is by `fault->say`.
[[noreturn]] inline void stop() {
  has_fault = true;
  leave();
  __builtin_unreachable();
}
// The lane that runs does what it must not.
template <class... Words> [[noreturn]] inline void wrong(const char *format, Words... words) {
  say_lane(*here);
  fault->say(": ");
  fault->say(format, words...);
  stop();
}

inline uint32_t rank_of(const lane &one) {
  return slow >> one.home->index % 32 & 1 ? 0 : ranks[(one.home->index * 13 + one.warp()) % 1024];
}

inline lane *next_lane() {
  if (turns++ % 512 == 0)
    for (uint32_t &rank : ranks) rank = luck.below(1u << 16);
  int32_t best = int32_t(luck.below(uint32_t(ready.count)));
  for (int i = 0; i < 3; ++i) {
    const int32_t other = int32_t(luck.below(uint32_t(ready.count)));
    if (rank_of(*ready[other]) > rank_of(*ready[best])) best = other;
  }
  return ready.take(best);
}
} // namespace imbrex::hopper
