// Chains of pointers through memory, a line a link, in an order of chance: each load waits for the last one.
#include <stdint.h>

namespace {
constexpr int64_t line_bytes = 64;
struct alignas(line_bytes) link {
  link *next;
};

uint64_t drawn(uint64_t &state) { // xorshift64*, Vigna, "An experimental exploration of Marsaglia's xorshift"
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 2685821657736338717u;
}
} // namespace

// Makes one ring of all links: Sattolo's shuffle, of which every permutation is one cycle.
extern "C" void caches_ring(void *memory, int64_t bytes) {
  link *links = static_cast<link *>(memory);
  int64_t count = bytes / line_bytes;
  for (int64_t i = 0; i < count; ++i)
    links[i].next = links + i;
  uint64_t state = 88172645463325252u;
  for (int64_t i = count - 1; i > 0; --i) {
    int64_t other = drawn(state) % i;
    link *next = links[i].next;
    links[i].next = links[other].next;
    links[other].next = next;
  }
}

// Follows the ring so many steps; where it ends is told, so that no compiler leaves it out.
extern "C" void *caches_chase(void *memory, int64_t steps) {
  link *at = static_cast<link *>(memory);
  for (int64_t i = 0; i < steps; ++i)
    at = at->next;
  return at;
}
