// The probe of device/cpu/ceiling.h on every thread at once, of the unit IMBREX_UNIT.
#include "device/cpu/ceiling.h"
#include "device/cpu/threads.h"

typedef imbrex::probe<IMBREX_UNIT> probe;

struct scratch {
  probe::T total;
};

// Operations done, two of each multiply-add, by `rounds` on each thread; 0 where the system refuses the unit.
extern "C" int64_t ceiling(int64_t rounds, int threads) {
  if (probe::is_refused()) return 0;
  imbrex::for_each_workgroup<scratch>(threads, threads, [&](int64_t, scratch &s) { s.total = probe::run(rounds); });
  return 2 * probe::multiply_adds * rounds * threads;
}
