// Runs the workgroups [0, count) of a kernel over threads, each with its own scratch memory.
//
// The caller takes part, so threads - 1 more are started for the call and joined before it returns: calls from several
// threads at once and from a forked child need no care.  Workgroups are taken from a
// shared counter.  A thread that cannot be started, or gets no memory, leaves its share to the others; only when the
// caller itself gets no memory is the result out_of_memory, and then nothing has run.
#pragma once
#include "vec.h"

extern "C" {
void *aligned_alloc(size_t alignment, size_t size) noexcept;
void free(void *pointer) noexcept;
int pthread_create(unsigned long *thread, const void *attributes, void *(*start)(void *), void *argument) noexcept;
int pthread_join(unsigned long thread, void **result);
int sched_getaffinity(int process, size_t size, void *set) noexcept;
}

namespace imbrex {

enum status : int { ok = 0, out_of_memory = 1 };
constexpr int most_threads = 256;

// CPUs that this process may run on.
static inline int online_cpus() {
  unsigned long set[16] = {};
  if (sched_getaffinity(0, sizeof(set), set) < 0) return 1;
  int count = 0;
  for (unsigned long bits : set) count += __builtin_popcountl(bits);
  return count > 0 ? count : 1;
}

// Scratch memory that an earlier call left behind.  Fresh memory costs a page fault every 4 KiB, more than a small
// kernel takes; so a block goes back here, and at most one a thread that ever ran at once is kept.
template <class Scratch> struct spare {
  static inline Scratch *slots[most_threads];

  // nullptr when there is no memory.
  static Scratch *take() {
    for (Scratch *&slot : slots)
      if (Scratch *found = __atomic_exchange_n(&slot, nullptr, __ATOMIC_ACQUIRE)) return found;
    constexpr size_t page = 4096;
    return static_cast<Scratch *>(aligned_alloc(page, (sizeof(Scratch) + page - 1) / page * page));
  }

  static void give(Scratch *block) {
    for (Scratch *&slot : slots) {
      Scratch *empty = nullptr;
      if (__atomic_compare_exchange_n(&slot, &empty, block, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) return;
    }
    free(block);
  }
};

template <class Scratch, class Body> struct crew {
  Body &body;
  int64_t count;
  int64_t next;

  // One thread's share; false when it got no memory.
  bool work() {
    Scratch *scratch = spare<Scratch>::take();
    if (!scratch) return false;
    for (;;) {
      int64_t workgroup = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
      if (workgroup >= count) break;
      body(workgroup, *scratch);
    }
    spare<Scratch>::give(scratch);
    return true;
  }

  static void *start(void *self) {
    static_cast<crew *>(self)->work();
    return nullptr;
  }
};

// body(workgroup, scratch) for every workgroup; threads <= 0 means one a CPU.
template <class Scratch, class Body> static inline int for_each_workgroup(int64_t count, int threads, Body body) {
  if (threads <= 0) threads = online_cpus();
  if (threads > count) threads = int(count);
  if (threads > most_threads) threads = most_threads;
  crew<Scratch, Body> crew{body, count, 0};
  unsigned long started[most_threads];
  int extra = 0;
  while (extra + 1 < threads && pthread_create(&started[extra], nullptr, crew.start, &crew) == 0) ++extra;
  const bool has_run = crew.work();
  for (int i = 0; i < extra; ++i) pthread_join(started[i], nullptr);
  return has_run || crew.next >= count ? ok : out_of_memory;
}
} // namespace imbrex
