// Scratch memory that waits for the next call, of whichever kernel: new pages cost a fault each, in a product of 512^3
// with A transposed a third of its time.
//
// Whoever works takes a block and puts it back.  One that is too small for whom it comes to makes place for a larger one,
// so there are no more blocks than threads that worked at once, each as large as what it was last too small for.
#pragma once
#include "element.h"

extern "C" {
void *aligned_alloc(size_t alignment, size_t size) noexcept;
void free(void *pointer) noexcept;
int madvise(void *memory, size_t bytes, int advice) noexcept;
int sched_getcpu() noexcept;
}

namespace imbrex {

// A block of memory, and in the bits that its address has no use for the logarithm of its size; 0 is none.
typedef uintptr_t block;
IMBREX_INLINE void *memory_of(block of) { return reinterpret_cast<void *>(of & ~uintptr_t(4095)); }

// Who has scratch memory.  take: a block of at least `bytes`, or none.
struct lender {
  block (*take)(size_t bytes);
  void (*put)(block of);
};

class shelf {
  // As many as threads may work at once and find what they put back.
  static constexpr int places = 64;
  block kept[places];

  // A thread begins with what was last used on its CPU, and may still be in its caches.
  block *place(int first, int step) { return &kept[unsigned(first + step) % places]; }

  static block made(size_t bytes) {
    constexpr size_t page = 4096, huge = 1 << 21;
    uintptr_t logarithm = 12;
    while (bytes > size_t(1) << logarithm) ++logarithm;
    const size_t whole = size_t(1) << logarithm;
    void *memory = aligned_alloc(whole < huge ? page : huge, whole);
    if (!memory) return 0;
    constexpr int huge_pages = 14; // MADV_HUGEPAGE
    if (whole >= huge) madvise(memory, whole, huge_pages);
    return reinterpret_cast<uintptr_t>(memory) | logarithm;
  }

public:
  block take(size_t bytes) {
    const int first = sched_getcpu();
    for (int i = 0; i < places; ++i) {
      block *at = place(first, i);
      const block found = __atomic_load_n(at, __ATOMIC_RELAXED) ? __atomic_exchange_n(at, 0, __ATOMIC_ACQUIRE) : 0;
      if (!found) continue;
      if (bytes <= size_t(1) << found % 64) return found;
      free(memory_of(found));
      break;
    }
    return made(bytes);
  }

  void put(block of) {
    const int first = sched_getcpu();
    for (int i = 0; i < places; ++i) {
      block none = 0;
      if (__atomic_compare_exchange_n(place(first, i), &none, of, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) return;
    }
    free(memory_of(of));
  }
};
} // namespace imbrex
