// What a library of kernels takes from the process that loads it, for one that has no C library: Linux's own calls.
//
// Memory is never given back, since the process ends after one call; each piece of it lies between pages that nobody
// may touch, and is full of set bits, NaN in every type of floats.
#pragma once
#include <stddef.h>
#include <stdint.h>

extern "C" {
long kernel_call(long number, long a, long b, long c, long d, long e, long f);
long start_thread(long flags, void *stack);
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
}

// number in x8, arguments from x0 on; a thread's first two words on its stack are what it runs, and on what.
asm(R"(
kernel_call:
  mov x8, x0
  mov x0, x1
  mov x1, x2
  mov x2, x3
  mov x3, x4
  mov x4, x5
  mov x5, x6
  svc 0
  ret
start_thread:
  mov x8, 220
  mov x2, xzr
  mov x3, xzr
  mov x4, xzr
  svc 0
  cbz x0, 1f
  ret
1:
  ldp x1, x0, [sp]
  blr x1
  mov x0, xzr
  mov x8, 93
  svc 0
)");

namespace process {

enum number : long {
  openat = 56, read = 63, write = 64, exit_group = 94, clock_gettime = 113, sched_setaffinity = 122,
  sched_getaffinity = 123, prctl = 167, getcpu = 168, getpid = 172, mmap = 222, mprotect = 226,
}; // asm-generic/unistd.h
enum protection : long { none = 0, readable = 1, writable = 2, executable = 4 };
enum mapping : long { shared = 1, own = 2, fixed = 0x10, anonymous = 0x20, unreserved = 0x4000 };
constexpr size_t page = 4096;

template <class... T> static long call(number which, T... given) {
  long a[6] = {long(given)...};
  return kernel_call(which, a[0], a[1], a[2], a[3], a[4], a[5]);
}
static bool is_error(long result) { return result < 0 && result > -4096; }

static void say(const char *text) {
  size_t size = 0;
  while (text[size]) ++size;
  call(write, 1, text, size);
}
static void say(int64_t x) {
  char digits[24], *at = digits + 23;
  *at = 0;
  uint64_t rest = x < 0 ? -uint64_t(x) : x;
  do *--at = char('0' + rest % 10);
  while (rest /= 10);
  if (x < 0) *--at = '-';
  say(at);
}
template <class... T> [[noreturn]] static void end(T... told) {
  (say(told), ...);
  call(exit_group, 0);
  __builtin_unreachable();
}

// Address space: pages that nobody may touch yet.
static char *reserved(size_t size) {
  const long at = call(mmap, 0, size, none, own | anonymous | unreserved, -1, 0);
  if (is_error(at)) end("failed no address space");
  return (char *)at;
}
static char *mapped(char *at, size_t size, long may, long how, int file, size_t offset) {
  const long got = call(mmap, at, size, may, how | fixed, file, offset);
  if (got != long(at)) end("failed a file cannot be mapped");
  return at;
}
static size_t pages(size_t size) { return (size + page - 1) / page * page; }

extern "C" {
static void *aligned_alloc(size_t alignment, size_t size) noexcept {
  const size_t apart = alignment < page ? page : alignment;
  char *at = reserved(pages(size) + 2 * apart) + apart;
  at -= uintptr_t(at) % apart;
  call(mprotect, at, pages(size), readable | writable);
  return memset(at, 0xff, pages(size));
}
static void free(void *) noexcept {}
static int madvise(void *, size_t, int) noexcept { return 0; }
static int pthread_create(unsigned long *thread, const void *, void *(*run)(void *), void *with) noexcept {
  constexpr size_t stack = 1 << 20;
  constexpr long flags = 0x50f00; // CLONE_VM, _FS, _FILES, _SIGHAND, _THREAD, _SYSVSEM
  void **top = (void **)((char *)aligned_alloc(page, stack) + stack) - 2;
  top[0] = (void *)run, top[1] = with;
  *thread = (unsigned long)top;
  return start_thread(flags, top) < 0;
}
static int pthread_detach(unsigned long) noexcept { return 0; }
static int getpid_() noexcept { return int(call(getpid)); }
static int sched_getaffinity_(int of, size_t size, void *set) noexcept {
  return int(call(sched_getaffinity, of, size, set));
}
static int sched_setaffinity_(int of, size_t size, const void *set) noexcept {
  return int(call(sched_setaffinity, of, size, set));
}
static int sched_getcpu() noexcept {
  unsigned cpu = 0;
  return is_error(call(getcpu, &cpu, 0, 0)) ? -1 : int(cpu);
}
static int clock_gettime_(int clock, int64_t *time) noexcept { return int(call(clock_gettime, clock, time)); }
static char *getenv(const char *) noexcept { return nullptr; } // a variable of the caller's is not handed on
static long syscall_(long which, long a, long b, long c, long d, long e, long f) noexcept {
  const long result = kernel_call(which, a, b, c, d, e, f);
  return is_error(result) ? -1 : result;
}
}
} // namespace process

extern "C" {
void *memcpy(void *to, const void *from, size_t size) {
  for (size_t i = 0; i < size; ++i) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}
void *memset(void *to, int value, size_t size) {
  for (size_t i = 0; i < size; ++i) ((char *)to)[i] = char(value);
  return to;
}
}

namespace process {
struct function {
  const char *name;
  void *at;
};
// What a library may call.
static const function functions[] = {
    {"aligned_alloc", (void *)aligned_alloc},
    {"free", (void *)free},
    {"madvise", (void *)madvise},
    {"pthread_create", (void *)pthread_create},
    {"pthread_detach", (void *)pthread_detach},
    {"getpid", (void *)getpid_},
    {"sched_getaffinity", (void *)sched_getaffinity_},
    {"sched_setaffinity", (void *)sched_setaffinity_},
    {"sched_getcpu", (void *)sched_getcpu},
    {"clock_gettime", (void *)clock_gettime_},
    {"getenv", (void *)getenv},
    {"syscall", (void *)syscall_},
    {"memcpy", (void *)memcpy},
    {"memset", (void *)memset},
};
} // namespace process
