// How workgroups that share an output tile hand each other partial sums: registers to memory, then a flag.
//
// The scope of all this is the agent, one GPU with all its dies.  A release at that scope waits for the stores of the
// wave and writes back what its L2 holds for itself alone; an acquire drops what L1, and a L2 that does not see others'
// stores, holds.  Which instructions and cache bits that takes (glc, scc, sc1, buffer_wbl2, buffer_inv) differs from
// chip to chip; the compiler knows: LLVM's AMDGPU usage guide, memory models of gfx90a and gfx942.
//
// Owners wait only for workgroups that hardware started before them, so that any number of resident ones gets on.  Those
// that meet wait for each other: neighbours, fewer than a die has compute units, so that they are resident together when
// all that started before them have ended.
#pragma once
#include "lds.h"

namespace imbrex {

// All that the workgroup's waves stored before is in L2, which one work item then writes back for all of them: a release
// at the agent's scope by each wave would walk through L2 as many times.
IMBREX_INLINE void stored() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// What one work item has acquired, all of the workgroup see: its waves share the L1 of a compute unit.
IMBREX_INLINE void acquired() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Raises the flag when all that the workgroup's waves stored before can be seen.
IMBREX_INLINE void signal(int32_t *flag) {
  stored();
  if (__builtin_amdgcn_workitem_id_x() == 0) __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, agent);
}

// Returns when the flag is up, and lowers it: one work item looks, the others wait at the barrier.
IMBREX_INLINE void await(int32_t *flag) {
  if (__builtin_amdgcn_workitem_id_x() == 0) {
    while (__hip_atomic_load(flag, __ATOMIC_RELAXED, agent) == 0) __builtin_amdgcn_s_sleep(2);
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    __hip_atomic_store(flag, 0, __ATOMIC_RELAXED, agent);
  }
  acquired();
}

// The same of so many neighbouring flags, or of none.
IMBREX_INLINE void await_all(int32_t *flags, int32_t count) {
  for (int32_t i = 0; i < count; ++i) await(flags + i);
}

// `count` workgroups meet, whose arrivals are counted, and see what each of them stored before.  Whoever leaves last, as
// the count says as well, leaves zero.
IMBREX_INLINE void join(int32_t *arrived, int32_t count) {
  stored();
  if (__builtin_amdgcn_workitem_id_x() == 0) {
    __hip_atomic_fetch_add(arrived, 1, __ATOMIC_RELEASE, agent);
    while (__hip_atomic_load(arrived, __ATOMIC_RELAXED, agent) < count) __builtin_amdgcn_s_sleep(2);
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    const int32_t left = __hip_atomic_fetch_add(arrived, 1, __ATOMIC_RELAXED, agent) + 1;
    if (left == 2 * count) __hip_atomic_store(arrived, 0, __ATOMIC_RELAXED, agent);
  }
  acquired();
}
} // namespace imbrex
