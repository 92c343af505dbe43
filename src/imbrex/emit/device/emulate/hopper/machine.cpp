// The machine as one unit; a process has one, which one call has at a time.
#include "run.h"

imbrex::numbered threadIdx, blockIdx, blockDim;
unsigned char *imbrex::shared_memory;
extern "C" {
int sched_yield() noexcept;
char *getenv(const char *name) noexcept;
}

namespace imbrex::hopper {

static message last;
static uint32_t is_taken;

const char *told() { return last.text; }

void take_turn() {
  while (__atomic_exchange_n(&is_taken, 1, __ATOMIC_ACQUIRE)) sched_yield();
}
void give_turn() { __atomic_store_n(&is_taken, 0, __ATOMIC_RELEASE); }

// A number of the environment's, 0 where it has none.
static uint32_t chosen_seed() {
  uint32_t seed = 0;
  for (const char *digit = getenv("IMBREX_EMULATE_SEED"); digit && '0' <= *digit && *digit <= '9'; ++digit)
    seed = seed * 10 + uint32_t(*digit - '0');
  return seed;
}

bool run(const emulated_launch *all, int32_t count) {
  last.length = 0, last.text[0] = 0;
  fault = &last, has_fault = false, luck = chance(chosen_seed()), turns = 0;
  slow = luck.below(1u << 16) << 16 | luck.below(1u << 16);
  launches = static_cast<launch_state *>(calloc(size_t(count), sizeof(launch_state)));
  for (int32_t i = 0; i < count; ++i) launches[i].of = all + i;
  launch_count = count, current = 0;
  run_all();
  const bool is_right = !has_fault;
  while (running.count) end_cluster(*running.take(0));
  ready.count = transfers.count = 0;
  lookers = waiting_for_launch = {};
  release_stored_arrays();
  free(launches);
  return is_right;
}
} // namespace imbrex::hopper
