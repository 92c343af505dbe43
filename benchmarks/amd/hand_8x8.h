// C = A B for data-tiled operands, 128 x 128 of C a workgroup of four waves: the yardstick for generated kernels.
//
// A lies in memory as [m_outer][k_outer] tiles and B as [n_outer][k_outer] tiles of 8 KiB; C as [m_outer][n_outer]
// tiles of 64 KiB.  A tile is eight fragments, one for every 16 rows (columns); a fragment is 64 lanes of 16 bytes, in
// the order of the lanes, so that any copy of it is linear and any read of it is free of bank conflicts.
//
// Every wave takes all eight fragments of A and two of B: wave w the columns of fragments w and w + 4.  One buffer in
// LDS; the next tiles travel to registers while this one is multiplied.
#pragma once

#define KERNEL extern "C" __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256), amdgpu_waves_per_eu(4, 4)))
#define INLINE static inline __attribute__((always_inline))
#define LDS __attribute__((address_space(3), loader_uninitialized))

typedef float float4 __attribute__((ext_vector_type(4)));
typedef int int4 __attribute__((ext_vector_type(4)));
typedef long long2 __attribute__((ext_vector_type(2)));
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));

constexpr int threads = 256, lanes = 64, fragments = 8;
constexpr int of_wave = fragments / 4;         // fragments of B that one wave takes
constexpr int chunks = fragments * lanes;      // 16-byte pieces of a tile
constexpr int of_lane = chunks / threads;      // of those, what one work item copies

static LDS int4 a_shared[chunks];
static LDS int4 b_shared[chunks];

// LDS only: loads of global memory that are under way stay so.
INLINE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

// A matrix's tiles in K order, as a raw buffer: the step is in the scalar part of an address, the lane in the other.
struct Tiles {
  __amdgpu_buffer_rsrc_t all;

  INLINE Tiles of(const int4 *first, int steps) {
    constexpr int raw = 0x00020000; // the data format of a raw buffer, resource word 3
    return {__builtin_amdgcn_make_buffer_rsrc(const_cast<int4 *>(first), 0, steps * chunks * 16, raw)};
  }
};

struct Staged {
  int4 chunk[of_lane];

  INLINE void load(Staged &s, Tiles from, int step, int item) {
#pragma unroll
    for (int i = 0; i < of_lane; ++i) {
      const int at = (i * threads + item) * 16;
      s.chunk[i] = __builtin_bit_cast(int4, __builtin_amdgcn_raw_buffer_load_b128(from.all, at, step * chunks * 16, 0));
    }
  }

  INLINE void store(const Staged &s, __attribute__((address_space(3))) int4 *to, int item) {
#pragma unroll
    for (int i = 0; i < of_lane; ++i) to[i * threads + item] = s.chunk[i];
  }
};

// Multiply: `fold(a, b, c)` adds the products of two lanes' 16 bytes to the lane's four sums, of type Sums.
template <class Multiply> INLINE void multiply_tiles(const int4 *a, const int4 *b, typename Multiply::Sums *c, int steps) {
  const int item = __builtin_amdgcn_workitem_id_x(), lane = item % lanes;
  const int wave = __builtin_amdgcn_readfirstlane(item / lanes);
  const long m_outer = __builtin_amdgcn_workgroup_id_x(), n_outer = __builtin_amdgcn_workgroup_id_y();
  const int n_tiles = __builtin_amdgcn_grid_size_y();
  const Tiles a_tiles = Tiles::of(a + m_outer * steps * chunks, steps), b_tiles = Tiles::of(b + n_outer * steps * chunks, steps);
  c += (m_outer * n_tiles + n_outer) * fragments * fragments * lanes;

  typename Multiply::Sums sums[fragments][of_wave] = {};
  Staged a_next, b_next;
  Staged::load(a_next, a_tiles, 0, item);
  Staged::load(b_next, b_tiles, 0, item);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    barrier();
    Staged::store(a_next, a_shared, item);
    Staged::store(b_next, b_shared, item);
    barrier();
    Staged::load(a_next, a_tiles, step + 1, item); // past the last step there are zeros, which nobody takes
    Staged::load(b_next, b_tiles, step + 1, item);
    __builtin_amdgcn_sched_barrier(0); // they leave now, not when their values are needed
    int4 columns[of_wave];
#pragma unroll
    for (int j = 0; j < of_wave; ++j) columns[j] = b_shared[(4 * j + wave) * lanes + lane];
#pragma unroll
    for (int i = 0; i < fragments; ++i) {
      const int4 row = a_shared[i * lanes + lane];
#pragma unroll
      for (int j = 0; j < of_wave; ++j) sums[i][j] = Multiply::fold(row, columns[j], sums[i][j]);
    }
    __builtin_amdgcn_sched_barrier(0);
  }
#pragma unroll
  for (int i = 0; i < fragments; ++i)
#pragma unroll
    for (int j = 0; j < of_wave; ++j) c[(i * fragments + 4 * j + wave) * lanes + lane] = sums[i][j];
}
