// Bytes from one array to another, by as many threads as a kernel has.
#include "device/cpu/threads.h"

struct scratch {
  int64_t unused;
};

extern "C" int copy(const char *source, char *result, int64_t bytes, int threads) {
  constexpr int64_t least = 1 << 16, most = 1 << 20;
  const int64_t fair = (bytes + threads - 1) / threads, step = fair < least ? least : fair > most ? most : fair;
  return imbrex::for_each_workgroup<scratch>((bytes + step - 1) / step, threads, [&](int64_t workgroup, scratch &) {
    const int64_t from = workgroup * step, left = bytes - from;
    __builtin_memcpy(result + from, source + from, size_t(left < step ? left : step));
  });
}
