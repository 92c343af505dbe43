// Threads that stay between the calls of a kernel, since to start one takes longer than a small layer.
//
// A call opens a job: the caller and whoever of the pool comes in time share it, then it is closed, and the call returns
// when all who came have left.  Who wakes too late finds it closed; so nobody is waited for that does nothing.  One call
// has the pool at a time, another one meanwhile does its work alone.  A forked child finds its parent's threads gone and
// starts its own.  A thread that has had nothing to do for a second ends; until then the library must stay loaded.
#pragma once
#include "element.h"

extern "C" {
int pthread_create(unsigned long *thread, const void *attributes, void *(*start)(void *), void *argument) noexcept;
int pthread_detach(unsigned long thread) noexcept;
int getpid() noexcept;
long syscall(long number, ...) noexcept;
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
static inline void wake_all(uint32_t *word) {
  constexpr int futex_wake_private = 129;
  syscall(sys_futex, word, futex_wake_private, INT32_MAX, nullptr, nullptr, 0);
}

struct pool {
  static constexpr int patience = 300; // looks at the ticket, some ten microseconds, before sleep

  int32_t owner;   // the process whose threads these are
  uint32_t taken;  // by a call
  uint32_t alive;  // threads
  uint32_t ticket; // odd while a job is open
  uint32_t inside; // threads at work
  uint32_t asleep;
  int32_t seats; // threads that the job still has use for
  void (*share)(void *job);
  void *job;

  // share(job) on this thread and up to `helpers` others; false when the pool is not to be had, and nothing has run.
  bool run(void (*of)(void *), void *what, int helpers) {
    if (!is_mine() || __atomic_exchange_n(&taken, 1, __ATOMIC_SEQ_CST)) return false;
    unsigned long thread;
    while (int(alive) < helpers && pthread_create(&thread, nullptr, live, this) == 0) ++alive, pthread_detach(thread);
    share = of, job = what;
    __atomic_store_n(&seats, helpers, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&ticket, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&asleep, __ATOMIC_SEQ_CST)) wake_all(&ticket);
    share(job);
    __atomic_add_fetch(&ticket, 1, __ATOMIC_SEQ_CST);
    int looks = 0;
    while (const uint32_t left = __atomic_load_n(&inside, __ATOMIC_SEQ_CST))
      ++looks < patience ? relax() : sleep_while(&inside, left);
    __atomic_store_n(&taken, 0, __ATOMIC_SEQ_CST);
    return true;
  }

private:
  // After a fork nothing here holds but the memory.
  bool is_mine() {
    const int32_t self = getpid();
    int32_t old = __atomic_load_n(&owner, __ATOMIC_SEQ_CST);
    if (old == self) return true;
    if (old < 0) return false;
    if (!__atomic_compare_exchange_n(&owner, &old, -1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return false;
    taken = alive = inside = asleep = ticket = 0;
    __atomic_store_n(&owner, self, __ATOMIC_SEQ_CST);
    return true;
  }

  // Takes part in the job of this ticket, if it is still open and has a seat.
  void join(uint32_t now) {
    __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    const bool is_open = __atomic_load_n(&ticket, __ATOMIC_SEQ_CST) == now;
    if (is_open && __atomic_fetch_sub(&seats, 1, __ATOMIC_SEQ_CST) > 0) share(job);
    if (__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST) == 0) wake_all(&inside);
  }

  // Ends this thread's membership, unless a call is under way.
  bool leave(uint32_t seen) {
    if (__atomic_exchange_n(&taken, 1, __ATOMIC_SEQ_CST)) return false;
    const bool is_idle = __atomic_load_n(&ticket, __ATOMIC_SEQ_CST) == seen;
    if (is_idle) --alive;
    __atomic_store_n(&taken, 0, __ATOMIC_SEQ_CST);
    return is_idle;
  }

  static void *live(void *of) {
    pool &self = *static_cast<pool *>(of);
    uint32_t seen = 0; // the last ticket that was odd
    for (int looks = 0;; ++looks) {
      const uint32_t now = __atomic_load_n(&self.ticket, __ATOMIC_SEQ_CST);
      if (now % 2 == 1 && now != seen) {
        self.join(seen = now);
        looks = 0;
      } else if (looks < patience) {
        relax();
      } else {
        __atomic_add_fetch(&self.asleep, 1, __ATOMIC_SEQ_CST);
        sleep_while(&self.ticket, now);
        __atomic_sub_fetch(&self.asleep, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&self.ticket, __ATOMIC_SEQ_CST) == now && self.leave(now)) return nullptr;
        looks = 0;
      }
    }
  }
};
} // namespace imbrex
