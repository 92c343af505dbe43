// Jobs that say who did what.
#include "device/cpu/threads.h"

struct scratch {
  int64_t unused;
};

// Adds 1 to done[i] for each workgroup i, and looks around for `looks` turns; returns the status.
extern "C" int spread(int32_t *done, int64_t count, int threads, int64_t looks) {
  return imbrex::for_each_workgroup<scratch>(count, threads, [&](int64_t workgroup, scratch &s) {
    for (s.unused = 0; s.unused < looks; ++s.unused) imbrex::relax();
    __atomic_add_fetch(&done[workgroup], 1, __ATOMIC_RELAXED);
  });
}

extern "C" int gettid() noexcept;

// The threads that did each workgroup.
extern "C" int by(int32_t *who, int64_t count, int threads, int64_t looks) {
  return imbrex::for_each_workgroup<scratch>(count, threads, [&](int64_t workgroup, scratch &s) {
    for (s.unused = 0; s.unused < looks; ++s.unused) imbrex::relax();
    who[workgroup] = gettid();
  });
}

// Likewise, and the first workgroup looks around for a hundred times as long as all others.
extern "C" int uneven(int32_t *who, int64_t count, int threads, int64_t looks) {
  return imbrex::for_each_workgroup<scratch>(count, threads, [&](int64_t workgroup, scratch &s) {
    for (s.unused = 0; s.unused < (workgroup ? looks / 100 : looks); ++s.unused) imbrex::relax();
    who[workgroup] = gettid();
  });
}

// The CPUs of which each thread has only one, or -1.
extern "C" int pinned(int32_t *where, int64_t count, int threads, int64_t looks) {
  return imbrex::for_each_workgroup<scratch>(count, threads, [&](int64_t workgroup, scratch &s) {
    for (s.unused = 0; s.unused < looks; ++s.unused) imbrex::relax();
    unsigned long set[16] = {};
    sched_getaffinity(0, sizeof(set), set);
    int of = 0;
    for (const unsigned long word : set) of += __builtin_popcountl(word);
    where[workgroup] = of == 1 ? sched_getcpu() : -1;
  });
}

template <int Count> struct pages {
  int64_t of[Count][512];
};

// 1 where a workgroup's memory was its own as long as it ran.
template <int Count> static int owned(int32_t *done, int64_t count, int threads, int64_t looks) {
  return imbrex::for_each_workgroup<pages<Count>>(count, threads, [&](int64_t workgroup, pages<Count> &s) {
    int64_t *mine = &s.of[0][0];
    const int64_t mark = int64_t(&done[workgroup]);
    for (int i = 0; i < Count; ++i) __atomic_store_n(mine + i * 512, mark, __ATOMIC_RELAXED);
    for (int64_t i = 0; i < looks; ++i) imbrex::relax();
    int32_t right = 1;
    for (int i = 0; i < Count; ++i) right &= __atomic_load_n(mine + i * 512, __ATOMIC_RELAXED) == mark;
    done[workgroup] = right;
  });
}
extern "C" int small(int32_t *done, int64_t count, int threads, int64_t looks) {
  return owned<128>(done, count, threads, looks);
}
extern "C" int large(int32_t *done, int64_t count, int threads, int64_t looks) {
  return owned<500>(done, count, threads, looks); // no more than 2 MiB, which are one page where the system has such
}
