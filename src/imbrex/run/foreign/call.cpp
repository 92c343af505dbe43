// One call of a library in this process, its arrays in a file between pages that nobody may touch: guarded_call.py for
// a CPU that QEMU stands for.
//
//   call LIBRARY SYMBOL HWCAP HWCAP2 VECTOR_BYTES ask [ARGUMENT]
//   call LIBRARY SYMBOL HWCAP HWCAP2 VECTOR_BYTES run FD GUARD THREADS (OFFSET SPAN PLACE BEFORE AFTER)...
//
// HWCAP, HWCAP2: bits of the auxiliary vector that the library needs; VECTOR_BYTES: of SVE's registers, 0 where it does
// not matter.  The answer is a line: `lacks HWCAP HWCAP2 VECTOR_BYTES`, with what is missing or what the CPU has instead;
// `answer NUMBER`; `done STATUS BEFORE AFTER` with FPCR before and after the call; `undefined NAME`; `failed WHY`.
#include "library.h"

namespace process {

static int64_t number_of(const char *text) {
  int64_t x = 0;
  for (; *text; ++text) x = 10 * x + (*text - '0');
  return x;
}
static uint64_t fpcr() {
  uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}

// A CPU without what the library needs would end at an instruction that it does not know.
static void expect_features(uint64_t caps, uint64_t caps2, int64_t bytes, const uint64_t *auxiliary) {
  uint64_t have = 0, have2 = 0;
  for (; auxiliary[0]; auxiliary += 2) {
    if (auxiliary[0] == 16) have = auxiliary[1];  // AT_HWCAP
    if (auxiliary[0] == 26) have2 = auxiliary[1]; // AT_HWCAP2
  }
  const long length = bytes ? call(prctl, 51) : 0; // PR_SVE_GET_VL
  const int64_t vector = length < 0 ? 0 : length & 0xffff;
  if ((caps & ~have) || (caps2 & ~have2) || vector != bytes)
    end("lacks ", int64_t(caps & ~have), " ", int64_t(caps2 & ~have2), " ", vector);
}

// An array's own pages are the file's.  Of the guards on either side a page may be touched by nobody, read, or written.
static char *placed(int file, size_t guard, char **given) {
  constexpr long rights[] = {none, readable, readable | writable};
  const int64_t offset = number_of(given[0]), span = number_of(given[1]), place = number_of(given[2]);
  char *whole = reserved(span + 2 * guard), *at = whole + guard;
  call(mprotect, whole, guard, rights[number_of(given[3])]);
  call(mprotect, at + span, guard, rights[number_of(given[4])]);
  return mapped(at, span, readable | writable, shared, file, offset) + place;
}

template <int Count, class... Rest> static int64_t called(void *at, char **arrays, int count, int threads, Rest... rest) {
  if constexpr (Count == 0) {
    end("failed so many arrays");
  } else {
    if (count == int(sizeof...(rest)))
      return ((int (*)(Rest..., int))at)(rest..., threads);
    return called<Count - 1>(at, arrays, count, threads, rest..., (void *)arrays[sizeof...(rest)]);
  }
}

static void run(void *at, int count, char **given) {
  constexpr int most = 16, first = 3, each = 5;
  char *arrays[most] = {};
  const int file = int(number_of(given[0])), threads = int(number_of(given[2]));
  const int regions = (count - first) / each;
  if (regions > most) end("failed so many arrays");
  for (int i = 0; i < regions; ++i) arrays[i] = placed(file, number_of(given[1]), given + first + each * i);
  const uint64_t before = fpcr();
  const int64_t status = called<most + 1>(at, arrays, regions, threads);
  end("done ", status, " ", int64_t(before), " ", int64_t(fpcr()));
}

[[noreturn]] static void main(const uint64_t *stack) {
  const int count = int(stack[0]), first = 6;
  char **given = (char **)(stack + 1);
  const uint64_t *auxiliary = stack + count + 2;
  while (*auxiliary++) {
  }
  expect_features(number_of(given[3]), number_of(given[4]), number_of(given[5]), auxiliary);
  const library loaded(given[1]);
  void *at = loaded.find(given[2]);
  if (!at) end("undefined ", given[2]);
  const bool is_question = is_same(given[first], "ask");
  char **rest = given + first + 1;
  const int left = count - first - 1;
  if (is_question && left == 0) end("answer ", int64_t(((int (*)())at)()));
  if (is_question) end("answer ", ((int64_t(*)(int))at)(int(number_of(rest[0]))));
  run(at, left, rest);
  __builtin_unreachable();
}
} // namespace process

extern "C" [[noreturn]] void begin(const uint64_t *stack) { process::main(stack); }
asm(R"(
.globl _start
_start:
  mov x0, sp
  and sp, x0, -16
  b begin
)");
