// The probe of device/cpu/ceiling.h on every thread at once.
#include "device/cpu/ceiling.h"
#include "device/cpu/threads.h"

namespace {
template <class T> struct scratch {
  T total;
};

template <class T> int64_t probed(int64_t rounds, int threads) {
  imbrex::for_each_workgroup<scratch<T>>(threads, threads, [&](int64_t, scratch<T> &s) {
    s.total = imbrex::multiply_add_probe<T>(rounds, T(0.5)); // sums of halves rest at 1
  });
  return 2 * rounds * imbrex::probe_chains * imbrex::width<T> * threads;
}
} // namespace

// Both return the floating-point operations that they have done: `rounds` of the probe on each thread.
extern "C" int64_t ceiling_f32(int64_t rounds, int threads) { return probed<float>(rounds, threads); }
extern "C" int64_t ceiling_f64(int64_t rounds, int threads) { return probed<double>(rounds, threads); }
