// Runs the workgroups [0, count) of a kernel over threads, each with its own scratch memory.
//
// Workgroups are taken from a shared counter, a few at a time where they are many: taking waits until all stores before are
// done.  A thread alone takes all.  A thread that cannot be started, or gets no memory, leaves its share to
// the others; only when nobody gets memory is the result out_of_memory, and then nothing has run.  Calls may come from
// several threads at once, and from a forked child.
#pragma once
#include "pool.h"
#include "shelf.h"

namespace imbrex {

enum status : int { ok = 0, out_of_memory = 1, no_tiles = 3, no_such_size = 4 };
constexpr int most_threads = 256;

// Who runs a job on several threads: as pool::run.
using runner = bool (*)(void (*share)(void *), void *job, int helpers);

// One pool for all kernels of this library, unless the process gives it one that several libraries share.
inline pool own_pool __attribute__((visibility("hidden")));
inline runner given_runner __attribute__((visibility("hidden")));

// One shelf likewise.
inline shelf own_shelf __attribute__((visibility("hidden")));
inline constexpr lender own_lender = {[](size_t bytes) { return own_shelf.take(bytes); }, [](block of) { own_shelf.put(of); }};
inline const lender *given_lender __attribute__((visibility("hidden"))) = &own_lender;

// CPUs that this process may run on.
static inline int online_cpus() {
  unsigned long set[16] = {};
  if (sched_getaffinity(0, sizeof(set), set) < 0) return 1;
  int count = 0;
  for (unsigned long bits : set) count += __builtin_popcountl(bits);
  return count > 0 ? count : 1;
}

template <class Scratch, class Body> struct crew {
  Body &body;
  int64_t count;
  int64_t at_once;
  int64_t next;

  // One thread's share.
  void work() {
    const lender &memory = *__atomic_load_n(&given_lender, __ATOMIC_ACQUIRE);
    const block mine = memory.take(sizeof(Scratch));
    if (!mine) return;
    Scratch &scratch = *static_cast<Scratch *>(memory_of(mine));
    for (;;) {
      const int64_t first = __atomic_fetch_add(&next, at_once, __ATOMIC_RELAXED);
      const int64_t end = count - first < at_once ? count : first + at_once;
      for (int64_t workgroup = first; workgroup < end; ++workgroup) body(workgroup, scratch);
      if (end >= count) break;
    }
    memory.put(mine);
  }

  static void share(void *self) { static_cast<crew *>(self)->work(); }
};

// body(workgroup, scratch) for every workgroup; threads <= 0 means one a CPU.  most: threads that there is use for.
template <class Scratch, class Body>
static inline int for_each_workgroup(int64_t count, int threads, Body body, int most = most_threads) {
  if (threads <= 0) threads = online_cpus();
  if (threads > count) threads = int(count);
  if (threads > most) threads = most;
  if (threads > most_threads) threads = most_threads;
  const int64_t shares = threads > 1 ? int64_t(threads) * 64 : 1; // so that the last to come waits little for others
  crew<Scratch, Body> crew{body, count, count > shares ? (count + shares - 1) / shares : 1, 0};
  const runner given = __atomic_load_n(&given_runner, __ATOMIC_ACQUIRE);
  if (threads <= 1 || !(given ? given(crew.share, &crew, threads - 1) : own_pool.run(crew.share, &crew, threads - 1)))
    crew.work();
  return crew.next >= count ? ok : out_of_memory;
}
} // namespace imbrex

// From now on calls of this library's kernels run their jobs there.
extern "C" __attribute__((weak)) void imbrex_use_threads(imbrex::runner of) {
  __atomic_store_n(&imbrex::given_runner, of, __ATOMIC_RELEASE);
}

// And have their scratch memory from there.
extern "C" __attribute__((weak)) void imbrex_use_memory(const imbrex::lender *of) {
  __atomic_store_n(&imbrex::given_lender, of, __ATOMIC_RELEASE);
}
