// Threads that stay between the calls of kernels, since to start one takes longer than a small layer.
//
// A call opens a job: the caller and whoever of the pool comes in time share it, then it is closed, and the call returns
// when all who came have left.  Who wakes too late finds it closed; so nobody is waited for that does nothing.  Calls of
// several threads have a job each, side by side: a thread of the pool joins the one that has the fewest helpers, unless
// callers and helpers are as many already as the job has use for, and every caller works on its own job, so none is kept
// waiting.  A thread that finds no job looks on for a while, which makes the next one start in less than a microsecond,
// and then sleeps; after a second of sleep it ends; until then the library must stay loaded.  It looks on longer while
// a job is at work that has use for one more: whoever came too late for this call is there for the next.  A forked child finds its
// parent's threads gone and starts its own.
#pragma once
#include "element.h"

extern "C" {
int pthread_create(unsigned long *thread, const void *attributes, void *(*start)(void *), void *argument) noexcept;
int pthread_detach(unsigned long thread) noexcept;
int getpid() noexcept;
long syscall(long number, ...) noexcept;
int clock_gettime(int clock, int64_t *time) noexcept;
int sched_getcpu() noexcept;
int sched_getaffinity(int process, size_t size, void *set) noexcept;
int sched_setaffinity(int process, size_t size, const void *set) noexcept;
char *getenv(const char *name) noexcept;
}

namespace imbrex {

#if defined(__x86_64__)
constexpr long sys_futex = 202;
IMBREX_INLINE void relax() { __builtin_ia32_pause(); }
#else
constexpr long sys_futex = 98;
IMBREX_INLINE void relax() { asm volatile("yield"); }
#endif

// Sleeps while *word == value: until woken, interrupted, or for a second.
static inline void sleep_while(uint32_t *word, uint32_t value) {
  constexpr int futex_wait_private = 128;
  const long second[2] = {1, 0};
  syscall(sys_futex, word, futex_wait_private, value, second, nullptr, 0);
}
static inline void wake(uint32_t *word, int most) {
  constexpr int futex_wake_private = 129;
  syscall(sys_futex, word, futex_wake_private, most, nullptr, nullptr, 0);
}

// Looks at *word while it is `value`; false when it still was after a while, or after a long one if it is expected().
template <class Expected> static inline bool changes_soon(const uint32_t *word, uint32_t value, Expected expected) {
  constexpr int64_t patience_ns = 100'000, most_ns = 10'000'000, second = 1'000'000'000;
  int64_t time[2] = {}, end = 0, last = 0;
  for (;;) {
    for (int looks = 0; looks < 32; ++looks, relax())
      if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) return true;
    clock_gettime(1, time); // CLOCK_MONOTONIC
    const int64_t now = time[0] * second + time[1];
    if (last == 0) last = now + most_ns;
    if (end == 0 || (now < last && expected())) end = now + patience_ns;
    if (now >= end) return false;
  }
}

class pool {
public:
  // share(job) on this thread and up to `helpers` others; false when there is no place for a job, and nothing has run.
  bool run(void (*share)(void *), void *what, int helpers) {
    if (!is_mine()) return false;
    job *of = jobs;
    while (__atomic_load_n(&of->taken, __ATOMIC_SEQ_CST) || __atomic_exchange_n(&of->taken, 1, __ATOMIC_SEQ_CST))
      if (++of == jobs + most_jobs) return false;
    const int others = int(__atomic_fetch_add(&busy, 1, __ATOMIC_SEQ_CST));
    if (others < helpers) grow(helpers);
    of->share = share, of->what = what, of->helpers = helpers;
    __atomic_store_n(&of->seats, helpers, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&of->ticket, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&opened, 1, __ATOMIC_SEQ_CST);
    if (others < helpers && __atomic_load_n(&asleep, __ATOMIC_SEQ_CST)) wake(&opened, helpers - others);
    share(what);
    __atomic_add_fetch(&of->ticket, 1, __ATOMIC_SEQ_CST);
    while (const uint32_t left = __atomic_load_n(&of->inside, __ATOMIC_SEQ_CST))
      if (!changes_soon(&of->inside, left, [&] { return at_work() <= of->helpers + 1; })) {
        __atomic_store_n(&of->is_awaited, 1, __ATOMIC_SEQ_CST);
        sleep_while(&of->inside, left);
      }
    __atomic_store_n(&of->is_awaited, 0, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(&busy, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&of->taken, 0, __ATOMIC_SEQ_CST);
    return true;
  }

private:
  static constexpr int most_jobs = 16, most_cpus = 1024;

  struct alignas(64) job {
    uint32_t taken;      // by a call
    uint32_t ticket;     // odd while it is open
    uint32_t inside;     // threads of the pool at work
    uint32_t is_awaited; // its caller sleeps until nobody is inside
    int32_t seats;       // threads that it still has use for
    int32_t helpers;     // that it had use for at first
    void (*share)(void *what);
    void *what;
  };

  job jobs[most_jobs];
  int32_t owner;    // the process whose threads these are
  uint32_t growing; // somebody changes `alive`
  uint32_t alive;   // threads
  uint32_t asleep;
  uint32_t opened;  // jobs so far
  uint32_t busy;    // callers, and threads of the pool at work
  uint32_t started; // threads so far
  int32_t home;     // the CPU of the call that started the first of them

  // After a fork nothing here holds but the memory.
  bool is_mine() {
    const int32_t self = getpid();
    int32_t old = __atomic_load_n(&owner, __ATOMIC_SEQ_CST);
    if (old == self) return true;
    if (old < 0) return false;
    if (!__atomic_compare_exchange_n(&owner, &old, -1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return false;
    __builtin_memset(jobs, 0, sizeof(jobs));
    growing = alive = asleep = opened = busy = started = 0;
    __atomic_store_n(&owner, self, __ATOMIC_SEQ_CST);
    return true;
  }

  // As many threads as this, unless somebody else sees to it.
  void grow(int wanted) {
    if (int(__atomic_load_n(&alive, __ATOMIC_SEQ_CST)) >= wanted) return;
    if (__atomic_exchange_n(&growing, 1, __ATOMIC_SEQ_CST)) return;
    if (alive == 0) started = 0, home = sched_getcpu();
    unsigned long thread;
    while (int(alive) < wanted && pthread_create(&thread, nullptr, live, this) == 0)
      __atomic_add_fetch(&alive, 1, __ATOMIC_SEQ_CST), pthread_detach(thread);
    __atomic_store_n(&growing, 0, __ATOMIC_SEQ_CST);
  }

  // Ends this thread's membership, unless a job was opened since it looked.
  bool leave(uint32_t seen) {
    if (__atomic_exchange_n(&growing, 1, __ATOMIC_SEQ_CST)) return false;
    const bool is_idle = __atomic_load_n(&opened, __ATOMIC_SEQ_CST) == seen;
    if (is_idle) __atomic_sub_fetch(&alive, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&growing, 0, __ATOMIC_SEQ_CST);
    return is_idle;
  }

  // Callers, and threads of the pool that have a share.
  int at_work() const { return int(__atomic_load_n(&busy, __ATOMIC_RELAXED)); }

  // Is a job at work that has use for one more thread?
  __attribute__((noinline)) bool is_short() const {
#pragma GCC unroll 1
    for (const job &of : jobs)
      if (__atomic_load_n(&of.taken, __ATOMIC_RELAXED) && at_work() <= of.helpers) return true;
    return false;
  }

  // Takes part in the open job that has the fewest threads, if it has a seat; each job once.
  bool join(uint32_t (&seen)[most_jobs]) {
    job *best = nullptr;
    uint32_t now = 0, fewest = 0;
    for (int i = 0; i < most_jobs; ++i) {
      job &of = jobs[i];
      const uint32_t ticket = __atomic_load_n(&of.ticket, __ATOMIC_SEQ_CST);
      const uint32_t inside = __atomic_load_n(&of.inside, __ATOMIC_RELAXED);
      if (ticket % 2 == 0 || ticket == seen[i] || (best && inside >= fewest)) continue;
      if (at_work() > of.helpers) continue;
      best = &of, now = ticket, fewest = inside;
    }
    if (!best) return false;
    seen[best - jobs] = now;
    __atomic_add_fetch(&best->inside, 1, __ATOMIC_SEQ_CST);
    const bool is_open = __atomic_load_n(&best->ticket, __ATOMIC_SEQ_CST) == now;
    if (is_open && __atomic_fetch_sub(&best->seats, 1, __ATOMIC_SEQ_CST) > 0) {
      __atomic_add_fetch(&busy, 1, __ATOMIC_SEQ_CST);
      best->share(best->what);
      __atomic_sub_fetch(&busy, 1, __ATOMIC_SEQ_CST);
    }
    const bool is_last = __atomic_sub_fetch(&best->inside, 1, __ATOMIC_SEQ_CST) == 0;
    if (is_last && __atomic_load_n(&best->is_awaited, __ATOMIC_SEQ_CST)) wake(&best->inside, 1);
    return true;
  }

  // Where IMBREX_PIN is 1: stays on a CPU of its own, the number-th after `home` of those that this process may use.
  void pin(uint32_t number) {
    const char *wanted = getenv("IMBREX_PIN");
    if (!wanted || wanted[0] != '1' || wanted[1]) return;
    constexpr int bits = 8 * sizeof(unsigned long);
    unsigned long set[most_cpus / bits] = {};
    if (sched_getaffinity(0, sizeof(set), set) < 0) return;
    int32_t at = home < 0 ? 0 : home % most_cpus;
    for (int steps = 0; number && steps < most_cpus * most_cpus; ++steps) {
      at = (at + 1) % most_cpus;
      number -= set[at / bits] >> at % bits & 1;
    }
    unsigned long one[most_cpus / bits] = {};
    one[at / bits] = 1ul << at % bits;
    sched_setaffinity(0, sizeof(one), one);
  }

  static void *live(void *of) {
    pool &self = *static_cast<pool *>(of);
    uint32_t seen[most_jobs] = {}; // the last ticket of each that was odd
    self.pin(__atomic_add_fetch(&self.started, 1, __ATOMIC_SEQ_CST));
    for (;;) {
      const uint32_t now = __atomic_load_n(&self.opened, __ATOMIC_SEQ_CST);
      if (self.join(seen) || changes_soon(&self.opened, now, [&] { return self.is_short(); })) continue;
      __atomic_add_fetch(&self.asleep, 1, __ATOMIC_SEQ_CST);
      sleep_while(&self.opened, now);
      __atomic_sub_fetch(&self.asleep, 1, __ATOMIC_SEQ_CST);
      if (__atomic_load_n(&self.opened, __ATOMIC_SEQ_CST) == now && self.leave(now)) return nullptr;
    }
  }
};
} // namespace imbrex
