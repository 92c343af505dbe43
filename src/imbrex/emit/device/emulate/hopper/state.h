// Lanes, workgroups and clusters, and who waits for what.
#pragma once
#include "fiber.h"
#include "order.h"

namespace imbrex::hopper {

constexpr uint32_t shared_base = 1024; // where a workgroup's dynamic memory begins: the first KiB is the system's
constexpr int rank_shift = 24;         // of an address of shared memory: the workgroup's number in the cluster
constexpr int most_barriers = 64, most_warpgroups = 8, most_storing = 40, most_named = 16;

struct workgroup;
struct lane;

// Lanes that wait for the same.
struct queue {
  lane *first = nullptr;
};

// A barrier in shared memory.  missing: arrivals; bytes: that were announced and have not come.
struct shared_barrier {
  uint32_t offset, arrivals, missing, actor, phases = 0;
  bool is_seen; // by the copy engine, and by other workgroups
  int64_t bytes = 0;
  knowledge coming, over; // what those who arrived have seen, in this phase and in all that are over
  queue waiting;
};

// Lanes that meet by a number, or all of a cluster.
struct meeting {
  uint32_t lanes = 0, wanted = 0;
  knowledge met;
  queue waiting;
};

// A warp's lanes in one instruction.
struct together {
  const char *what = nullptr;
  uint32_t lanes = 0;
  void *given[32];
  queue waiting;
};

// A tile that the copy engine stores, from the order to where it has been read.
struct stored {
  const tensor_form *form;
  uint32_t offset;
  int32_t at[5];
};
// What a lane copies by itself.
struct copied {
  uint32_t offset;
  int32_t bytes;
  const void *from; // nullptr: zeros
};

// 16 bytes of global memory on their way to all others.
struct sent {
  void *to;
  uint32_t x[4];
};

// One instruction of a warpgroup's matrix unit.
struct product {
  element of;
  int32_t columns;
  bool a_turned, b_turned, adds, is_held; // held: lanes have A in registers
  uint64_t a, b;
  uint32_t group, lanes;
  void *sums[128];
  const uint32_t *held[128]; // registers of lanes, which are read as late as sums are written
  uint32_t clocks[128];      // of lanes, when they asked
};
struct unit {
  list<product *> products; // that are not done, oldest first
  uint32_t first = 0;       // the number of the oldest
  uint32_t done = 0;        // groups
  uint32_t ended[128] = {}; // groups, of each lane
  uint32_t taken[128] = {}; // clocks of lanes, before which all that they took into registers is read
  queue waiting;
};

struct lane {
  void *stack_pointer;
  uint8_t *stack;
  workgroup *home;
  uint32_t number;
  bool is_done;
  knowledge knows;
  lane *next;        // that waits for the same
  const char *waits; // in words; of a barrier, its offset and the parity
  uint32_t offset, parity;
  uint32_t products, store_groups, stores_read; // issued; ended; whose memory is free
  list<stored> stores;                          // of groups that are not read
  list<uint32_t> store_group;                   // of each
  list<copied> copies;
  const void *looked_at;
  uint64_t looked;

  uint32_t warp() const { return number / 32; }
  uint32_t warpgroup() const { return number / 128; }
};

struct cluster;
struct workgroup {
  cluster *in;
  uint32_t rank, index, lanes, bytes, alive;
  bool lets;
  lane *all;
  uint8_t *stacks, *memory;
  moment *written, *read; // of each byte: its last write; its last reads, by warpgroups
  shared_barrier *barriers[most_barriers];
  uint32_t barrier_count, first_barrier, last_barrier; // the bytes that have some
  meeting named[most_named];
  together warps[32];
  unit units[most_warpgroups];
  lane *storing[most_storing]; // lanes that store by the copy engine
  list<sent> sends;            // that others do not see before this workgroup releases something
  uint32_t first_actor;

  uint32_t lane_actor(uint32_t lane) const { return first_actor + lane; }
  uint32_t barrier_actor(uint32_t number) const { return first_actor + lanes + number; }
  uint32_t unit_actor(uint32_t number) const { return first_actor + lanes + most_barriers + number; }
  uint32_t storing_actor(uint32_t n) const { return first_actor + lanes + most_barriers + most_warpgroups + n; }
  static uint32_t actors(uint32_t lanes) { return lanes + most_barriers + most_warpgroups + most_storing; }
};

struct launch_state;
struct cluster {
  launch_state *of;
  uint32_t size, alive;
  workgroup *workgroups;
  meeting all;
};
} // namespace imbrex::hopper
