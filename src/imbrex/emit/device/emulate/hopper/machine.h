// A Hopper GPU for a kernel that a CPU runs: what the functions of device/cuda/ptx call.
//
// Each lane is a fiber.  One of them runs at a time, until it has to wait for others; who goes on is chance, from a seed.
// The copy engine and the matrix unit do what they are told at the last moment that is allowed.  Shared memory knows of
// each byte who wrote it and who reads it, and each lane what it knows of the others: what is not in order is a fault,
// whether or not it shows.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace imbrex {

struct numbered {
  uint32_t x;
};

// What a tensor map says.  sizes, box, steps: innermost first; strides: in elements.  A walk goes over pixels, from
// lower to upper, in steps, of `channels` each.
struct tensor_form {
  void *first;
  int32_t element_bytes, rank, swizzle;
  bool is_walk, is_tf32;
  int64_t sizes[5], strides[5];
  int32_t box[5], steps[5];
  int32_t lower[2], upper[2], channels, pixels;
};

// A function of a kernel, of the arrays and tensor maps that it is given; nullptr fills an array with zeros.
struct emulated_launch {
  const char *name;
  void (*body)();
  int32_t grid_size, block_size, shared_bytes, cluster_size;
  bool is_early; // may begin when the one before it lets it
  void *zeroed;
  size_t zeroed_bytes;
};

namespace hopper {

// One call has the machine at a time.
void take_turn();
void give_turn();
// Runs launches in order, the lanes in the one that IMBREX_EMULATE_SEED names; false where one did what it must not: `told` says what.
bool run(const emulated_launch *launches, int32_t count);
const char *told();

enum class element { f16, bf16, tf32, e4m3, e5m2, s8 };

inline void copy_memory(void *to, const void *from, size_t bytes) { __builtin_memcpy(to, from, bytes); }

// Lanes that meet.
uint32_t from_lane(uint32_t x, uint32_t lane);
void meet_warp();
void meet_workgroup();
void meet_lanes(int32_t number, int32_t lanes);
void meet_cluster();
void written_for_engines();

// Launches.
void wait_for_earlier();
void let_next_start();
void put_global(void *to, const uint32_t *x);
void show_others();               // what the workgroup has put
void other_workgroups_may_look(); // after a write that they wait for
void look_again(const void *word);

// Shared memory, by addresses of 32 bits.
uint32_t shared_address(const void *p);
void read_shared(void *to, uint32_t from, int32_t bytes);
void write_shared(uint32_t to, const void *from, int32_t bytes);
void put_matrices(uint32_t to, const uint32_t *x, int32_t count, bool turned);
void take_turned(uint32_t *x, uint32_t from);
void warp_product(element of, float *d, const uint32_t *a, uint32_t first, uint32_t second);

// Copies of lanes.
void copy_in(uint32_t to, const void *from, int32_t bytes, bool exists);
void wait_copies();
void arrive_after_copies(uint32_t barrier);

// Barriers.
void make_barrier(uint32_t barrier, uint32_t arrivals);
void barriers_made();
void arrive(uint32_t barrier, uint32_t bytes);
void arrive_at(uint32_t barrier, uint32_t rank);
void wait(uint32_t barrier, uint32_t parity);

// Clusters.
uint32_t cluster_rank();
uint32_t in_cluster(uint32_t address, uint32_t rank);
void store_in_cluster(uint32_t to, uint32_t barrier, const uint32_t *x);

// The copy engine.
void load(uint32_t to, const tensor_form *form, uint32_t barrier, const int32_t *at, const uint16_t *offsets,
          uint32_t mask);
void store(const tensor_form *form, uint32_t from, const int32_t *at);
void end_stores();
void wait_stores_read(int32_t groups);

// The matrix unit.
void begin_products();
void end_products();
void wait_products(int32_t groups);
void multiply(element of, int32_t columns, bool a_turned, bool b_turned, void *d, uint64_t a, uint64_t b, bool adds);
void multiply_held(element of, int32_t columns, void *d, const uint32_t (&a)[4], uint64_t b, bool adds);
} // namespace hopper
} // namespace imbrex

// Of the lane that runs.
extern imbrex::numbered threadIdx, blockIdx, blockDim;
namespace imbrex {
extern unsigned char *shared_memory;
}
