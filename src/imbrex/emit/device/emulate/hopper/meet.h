// Lanes that meet: a warp in one instruction, a workgroup or some of its warps, a cluster.
#pragma once
#include "memory.h"

namespace imbrex::hopper {

// All lanes of the warp do the same; the last to come does `all` for all, of what each has given.
template <class All> inline void as_warp(const char *what, void *given, All all) {
  workgroup &home = *here->home;
  together &warp = home.warps[here->warp()];
  const uint32_t lanes = home.lanes - here->warp() * 32 < 32 ? home.lanes - here->warp() * 32 : 32;
  if (warp.lanes && warp.what != what) wrong("%s, where other lanes of the warp are at %s", what, warp.what);
  warp.what = what;
  warp.given[here->number % 32] = given;
  if (++warp.lanes < lanes) return wait_in(warp.waiting, what);
  all(warp.given, lanes);
  warp.lanes = 0;
  wake_all(warp.waiting);
}

uint32_t from_lane(uint32_t x, uint32_t lane) {
  uint32_t both[3] = {x, lane, 0};
  as_warp("shfl.sync", both, [](void **given, uint32_t lanes) {
    for (uint32_t i = 0; i < lanes; ++i) {
      uint32_t *mine = static_cast<uint32_t *>(given[i]);
      mine[2] = static_cast<uint32_t *>(given[mine[1] % 32])[0];
    }
  });
  return both[2];
}

void meet_warp() {
  as_warp("bar.warp.sync", here, [](void **given, uint32_t lanes) {
    knowledge all = knowledge::of(here->knows.actors);
    for (uint32_t i = 0; i < lanes; ++i) all.learn(static_cast<lane *>(given[i])->knows);
    for (uint32_t i = 0; i < lanes; ++i) static_cast<lane *>(given[i])->knows.learn(all);
    all.release();
  });
  go_on();
}

// Lanes that hand each other what they know.
inline void meet_at(meeting &at, uint32_t lanes, const char *what, uint32_t number) {
  if (at.lanes && at.wanted != lanes)
    wrong("meets %u lanes at barrier %u, where others wait for %u", lanes, number, at.wanted);
  if (!at.met.seen) at.met = knowledge::of(here->knows.actors);
  at.wanted = lanes;
  at.met.learn(here->knows);
  if (++at.lanes < lanes) {
    wait_in(at.waiting, what, number);
  } else {
    at.lanes = 0;
    for (lane *one = at.waiting.first; one; one = one->next) one->knows.learn(at.met);
    here->knows.learn(at.met);
    wake_all(at.waiting);
  }
  go_on();
}

void meet_workgroup() { meet_at(here->home->named[0], here->home->lanes, "bar.sync", 0); }

void meet_lanes(int32_t number, int32_t lanes) {
  if (number < 0 || number >= most_named || lanes % 32) wrong("bar.sync %d, %d", number, lanes);
  meet_at(here->home->named[number], uint32_t(lanes), "bar.sync", uint32_t(number));
}

// Relaxed: they meet, and know no more of each other's memory than before.
void meet_cluster() {
  cluster &all = *here->home->in;
  if (++all.all.lanes < all.size * here->home->lanes) return wait_in(all.all.waiting, "barrier.cluster");
  all.all.lanes = 0;
  wake_all(all.all.waiting);
}

uint32_t cluster_rank() { return here->home->rank; }

uint32_t in_cluster(uint32_t address, uint32_t rank) {
  if (rank >= here->home->in->size) wrong("mapa names workgroup %u of a cluster of %u", rank, here->home->in->size);
  return (address & ((1u << rank_shift) - 1)) | rank << rank_shift;
}
} // namespace imbrex::hopper
