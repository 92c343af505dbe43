// What happened before what (vector clocks).
//
// Everything that acts on the shared memory of a cluster is an actor with a clock: each lane; each barrier, whose clock
// counts the phases that are over, for what copies bring; each warpgroup's products and each lane's stores, by groups.
// An access is (actor, its clock then), in 32 bits; 0 is before all.
//
// Law: what a lane has `seen` of an actor is the latest clock of it that is ordered before what the lane does now.  A
// lane's own clock goes up whenever it hands on what it has seen.  `fenced`: the same of writes that the copy engine
// and the matrix unit may see, as of a fence between the proxies.
#pragma once
#include "list.h"

namespace imbrex::hopper {

typedef uint32_t moment;
constexpr int clock_bits = 20;
constexpr uint32_t most_steps = 1u << clock_bits;
inline moment moment_of(uint32_t actor, uint32_t clock) { return actor << clock_bits | clock; }
inline uint32_t actor_of(moment m) { return m >> clock_bits; }
inline uint32_t clock_of(moment m) { return m & (most_steps - 1); }

struct knowledge {
  uint32_t *seen, *fenced;
  int32_t actors;

  static knowledge of(int32_t actors) {
    uint32_t *both = static_cast<uint32_t *>(calloc(size_t(actors) * 2, sizeof(uint32_t)));
    return {both, both + actors, actors};
  }
  void release() { free(seen); }

  bool has_seen(moment m) const { return seen[actor_of(m)] >= clock_of(m); }
  bool has_fenced(moment m) const { return fenced[actor_of(m)] >= clock_of(m); }
  void fence() { copy_memory(fenced, seen, size_t(actors) * sizeof(uint32_t)); }
  void learn(const knowledge &other) {
    uint32_t *mine = seen;
    const uint32_t *theirs = other.seen;
    for (int32_t i = 0; i < 2 * actors; ++i) mine[i] = mine[i] < theirs[i] ? theirs[i] : mine[i];
  }
  void learn(moment m) {
    uint32_t &mine = seen[actor_of(m)];
    mine = mine < clock_of(m) ? clock_of(m) : mine;
  }
  void forget() { __builtin_memset(seen, 0, size_t(actors) * 2 * sizeof(uint32_t)); }
};
} // namespace imbrex::hopper
