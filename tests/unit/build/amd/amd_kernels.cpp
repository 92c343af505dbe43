// Kernels of known appetite: `sums` for accumulation registers, `lds` for LDS, of different workgroups.
typedef float float16 __attribute__((ext_vector_type(16)));
typedef _Float16 half4 __attribute__((ext_vector_type(4)));

#define GLOBAL __attribute__((address_space(1)))
#define KERNEL(items) extern "C" __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(items, items))) void
#define SHARED static __attribute__((address_space(3), loader_uninitialized))
#define INLINE static inline __attribute__((always_inline))

template <int Tiles> INLINE void multiply(GLOBAL const half4 *a, GLOBAL const half4 *b, GLOBAL float16 *c, int steps) {
  const int item = __builtin_amdgcn_workitem_id_x();
  float16 sums[Tiles];
  for (int i = 0; i < Tiles; ++i) sums[i] = c[item * Tiles + i];
  for (int step = 0; step < steps; ++step)
    for (int i = 0; i < Tiles; ++i)
      sums[i] = __builtin_amdgcn_mfma_f32_32x32x8f16(a[(step * Tiles + i) * 64 + item], b[step * 64 + item], sums[i], 0, 0, 0);
  for (int i = 0; i < Tiles; ++i) c[item * Tiles + i] = sums[i];
}

#define SUMS(tiles, items)                                                                                             \
  KERNEL(items) sums_##tiles##_##items(GLOBAL const half4 *a, GLOBAL const half4 *b, GLOBAL float16 *c, int steps) {   \
    multiply<tiles>(a, b, c, steps);                                                                                   \
  }
SUMS(1, 64)
SUMS(2, 256)
SUMS(4, 256)
SUMS(6, 64)
SUMS(8, 256)
SUMS(12, 128)
SUMS(20, 64)

#define LDS(words, items)                                                                                              \
  KERNEL(items) lds_##words##_##items(GLOBAL int *c) {                                                                 \
    SHARED int shared[words];                                                                                          \
    const int item = __builtin_amdgcn_workitem_id_x();                                                                 \
    shared[item] = c[item];                                                                                            \
    __builtin_amdgcn_s_barrier();                                                                                      \
    c[item] = shared[item ^ 3];                                                                                        \
  }
LDS(256, 128)
LDS(5000, 256)
LDS(8000, 512)
LDS(10000, 64)
