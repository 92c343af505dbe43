// Launches, their clusters, and the run of all.
//
// Clusters start in an order of chance, a few at first, more when all that have started wait.  A launch begins when the one
// before it is complete; one that is early, when all workgroups of that one have let it, or have ended.
#pragma once
#include "warp.h"

namespace imbrex::hopper {

struct launch_state {
  const emulated_launch *of;
  int32_t started, ended, let; // workgroups
  uint32_t first, step;        // of the order of clusters
  bool is_complete() const { return ended == of->grid_size; }
};
inline launch_state *launches;
inline int32_t launch_count, current; // the launch whose clusters start
inline list<cluster *> running;
inline uint64_t writes; // to words that other workgroups look at
inline queue lookers, waiting_for_launch;

constexpr int32_t first_lanes = 1024; // of a launch, that run at a time before more are wanted

// What a workgroup wrote for others is seen by them when one of its lanes releases what it knows, or at its end.
inline void show(workgroup &home) {
  for (int32_t i = 0; i < home.sends.count; ++i) copy_memory(home.sends[i].to, home.sends[i].x, 16);
  home.sends.count = 0;
}
void put_global(void *to, const uint32_t *x) { here->home->sends.push({to, {x[0], x[1], x[2], x[3]}}); }
void show_others() { show(*here->home); }

void other_workgroups_may_look() {
  ++writes;
  wake_all(lookers);
  if (luck.below(2)) step_back();
}
// Who looks at the same word again, and nobody has written meanwhile, waits.
void look_again(const void *word) {
  if (here->looked_at == word && here->looked == writes)
    wait_in(lookers, "what another workgroup writes");
  else
    step_back();
  here->looked_at = word, here->looked = writes;
}

inline int32_t number_of(const lane &one) { return int32_t(one.home->in->of - launches); }

void wait_for_earlier() {
  const int32_t before = number_of(*here) - 1;
  while (before >= 0 && !launches[before].is_complete()) wait_in(waiting_for_launch, "griddepcontrol.wait");
}
inline void let(workgroup &home) {
  if (home.lets) return;
  home.lets = true;
  ++home.in->of->let;
}
void let_next_start() {
  let(*here->home);
  for (uint32_t rounds = luck.below(8); rounds; --rounds) step_back(); // for as long as the next one may need to begin
}

inline void enter(lane &one) {
  here = &one;
  threadIdx.x = one.number, blockIdx.x = one.home->index, blockDim.x = one.home->lanes;
  shared_memory = one.home->memory;
  imbrex_switch_stack(&scheduler, one.stack_pointer);
}

inline void live() {
  here->home->in->of->of->body();
  if (here->copies.count) wrong("ends, and nobody waits for what it copies");
  if (here->stores.count && here->store_group[here->stores.count - 1] == here->store_groups)
    wrong("ends, and what it stores belongs to no group");
  read_stores(*here, here->store_groups);
  here->is_done = true;
  leave();
}

constexpr size_t beside = 4096; // bytes before and after a workgroup's memory, which nobody writes
constexpr int garbage = 0xff;   // what nobody has written: no number, in every type of floats

inline void begin_workgroup(workgroup &home, cluster &in, uint32_t rank, uint32_t index) {
  const emulated_launch &of = *in.of->of;
  home.in = &in, home.rank = rank, home.index = index;
  home.lanes = home.alive = uint32_t(of.block_size), home.bytes = uint32_t(of.shared_bytes);
  home.first_actor = rank * workgroup::actors(home.lanes);
  const size_t room = (home.bytes + 2 * beside + 1023) / 1024 * 1024;
  uint8_t *memory = static_cast<uint8_t *>(aligned_alloc(1024, room));
  __builtin_memset(memory, garbage, room);
  home.memory = memory + beside;
  home.written = static_cast<moment *>(calloc(home.bytes + 1u, sizeof(moment)));
  home.read = static_cast<moment *>(calloc(size_t(home.bytes + 1) * ((home.lanes + 127) / 128), sizeof(moment)));
  home.all = static_cast<lane *>(calloc(home.lanes, sizeof(lane)));
  home.stacks = static_cast<uint8_t *>(aligned_alloc(4096, home.lanes * stack_bytes));
  for (uint32_t i = 0; i < home.lanes; ++i) {
    lane &one = home.all[i];
    one.home = &home, one.number = i;
    one.stack = home.stacks + i * stack_bytes;
    one.stack_pointer = new_stack(one.stack, live);
    one.knows = knowledge::of(int32_t(in.size * workgroup::actors(home.lanes)));
    one.knows.seen[home.lane_actor(i)] = 1;
    ready.push(&one);
  }
}

inline void release(meeting &one) {
  if (one.met.seen) one.met.release();
}
inline void end_workgroup(workgroup &home) {
  for (uint32_t i = 0; i < home.lanes; ++i) {
    lane &one = home.all[i];
    one.knows.release(), one.stores.release(), one.store_group.release(), one.copies.release();
  }
  for (uint32_t i = 0; i < home.barrier_count; ++i) {
    home.barriers[i]->coming.release(), home.barriers[i]->over.release();
    free(home.barriers[i]);
  }
  for (meeting &one : home.named) release(one);
  home.sends.release();
  for (unit &one : home.units) {
    for (int32_t i = 0; i < one.products.count; ++i) free(one.products[i]);
    one.products.release();
  }
  free(home.memory - beside), free(home.written), free(home.read), free(home.all), free(home.stacks);
}

// Of a workgroup that has ended: what it left where it should not have been, or did not finish.
inline void expect_well_ended(const workgroup &home) {
  for (size_t i = 0; i < beside; ++i)
    if (home.memory[int64_t(i) - int64_t(beside)] != garbage || home.memory[home.bytes + i] != garbage) {
      fault->say("workgroup %u writes beside its %u bytes of shared memory", home.index, home.bytes);
      has_fault = true;
      return;
    }
  for (const unit &one : home.units)
    if (one.products.count) {
      fault->say("workgroup %u ends before its products do", home.index);
      has_fault = true;
      return;
    }
}

inline uint32_t common_divisor(uint32_t a, uint32_t b) { return b ? common_divisor(b, a % b) : a; }

// The order is one of those that a GPU may take: it promises none.
inline uint32_t next_cluster(launch_state &of, uint32_t size) {
  const uint32_t clusters = uint32_t(of.of->grid_size) / size, number = uint32_t(of.started) / size;
  if (!number) {
    of.first = luck.below(clusters);
    do of.step = 1 + luck.below(clusters);
    while (common_divisor(of.step, clusters) != 1);
  }
  return uint32_t((of.first + uint64_t(number) * of.step) % clusters);
}
inline void begin_cluster(launch_state &of) {
  const uint32_t size = uint32_t(of.of->cluster_size);
  cluster *made = static_cast<cluster *>(calloc(1, sizeof(cluster)));
  made->of = &of, made->size = made->alive = size;
  made->workgroups = static_cast<workgroup *>(calloc(size, sizeof(workgroup)));
  const uint32_t index = next_cluster(of, size) * size;
  for (uint32_t i = 0; i < size; ++i) begin_workgroup(made->workgroups[i], *made, i, index + i);
  of.started += int32_t(size);
  running.push(made);
}
inline void end_cluster(cluster &one) {
  for (uint32_t i = 0; i < one.size; ++i) end_workgroup(one.workgroups[i]);
  release(one.all);
  free(one.workgroups);
  free(&one);
}

inline void end_lane(lane &one) {
  workgroup &home = *one.home;
  if (--home.alive) return;
  expect_well_ended(home);
  show(home);
  let(home);
  ++home.in->of->ended;
  wake_all(waiting_for_launch);
  if (--home.in->alive) return;
  for (int32_t i = 0; i < transfers.count; ++i)
    if (transfers[i].to == home.in) {
      fault->say("workgroup %u ends before what it copies has come", home.index);
      has_fault = true;
      return;
    }
  for (int32_t i = 0; i < running.count; ++i)
    if (running[i] == home.in) {
      end_cluster(*running.take(i));
      return;
    }
}

// The launch whose clusters may start, nullptr where none may.
inline launch_state *startable() {
  while (current < launch_count) {
    launch_state &now = launches[current];
    const launch_state *before = current ? &launches[current - 1] : nullptr;
    if (before && !before->is_complete() && !(now.of->is_early && before->let == before->of->grid_size)) return nullptr;
    if (now.of->zeroed && !now.ended) {
      __builtin_memset(now.of->zeroed, 0, now.of->zeroed_bytes);
      now.started = now.ended = now.let = now.of->grid_size;
    }
    if (now.started < now.of->grid_size) return &now;
    ++current;
  }
  return nullptr;
}

inline int32_t running_lanes(const launch_state &of) {
  int32_t lanes = 0;
  for (int32_t i = 0; i < running.count; ++i)
    if (running[i]->of == &of) lanes += int32_t(running[i]->size * running[i]->workgroups[0].lanes);
  return lanes;
}

// Who waits where, those who wait for the same in one line.
inline void say_waiting() {
  fault->say("all lanes that are left wait, and nobody can go on");
  for (int32_t c = 0; c < running.count; ++c)
    for (uint32_t w = 0; w < running[c]->size; ++w) {
      workgroup &home = running[c]->workgroups[w];
      const lane *last = nullptr;
      for (uint32_t i = 0; i < home.lanes; ++i) {
        const lane &one = home.all[i];
        if (one.is_done || (last && last->waits == one.waits && last->offset == one.offset && last->parity == one.parity))
          continue;
        last = &one;
        fault->say("\n  ");
        say_lane(one);
        fault->say(" and on: %s", one.waits ? one.waits : "?");
        const shared_barrier *at = barrier_in(home, one.offset);
        if (one.waits && at && one.waits[0] == 'm')
          fault->say(" of the barrier at byte %u, parity %u; it is in phase %u, %u of %u arrivals and %lld bytes short",
                     at->offset, one.parity, at->phases, at->missing, at->arrivals, (long long)at->bytes);
        else if (one.waits && one.waits[0] == 'b')
          fault->say(" %u, where %u lanes are of %u", one.offset, home.named[one.offset % most_named].lanes,
                     home.named[one.offset % most_named].wanted);
      }
    }
  has_fault = true;
}

inline void run_all() {
  while (!has_fault) {
    launch_state *next = startable();
    const bool has_room = next && running_lanes(*next) < first_lanes;
    if (has_room || (next && !ready.count && !transfers.count)) {
      begin_cluster(*next);
    } else if (transfers.count && (!ready.count || luck.below(8) == 0)) {
      const transfer one = transfers.take(int32_t(luck.below(uint32_t(transfers.count))));
      deliver(one);
    } else if (ready.count) {
      lane &one = *next_lane();
      enter(one);
      if (is_too_deep(one.stack)) {
        say_lane(one);
        fault->say(": needs more than %zu bytes of stack", stack_bytes);
        has_fault = true;
      } else if (one.is_done && !has_fault) {
        end_lane(one);
      }
    } else if (current < launch_count || running.count) {
      say_waiting();
    } else {
      return;
    }
  }
}
} // namespace imbrex::hopper
