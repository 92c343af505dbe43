// Of the CUDA runtime, what a compiler of both sides must have seen to take a generated file.
#pragma once
#include <stddef.h>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __grid_constant__ __attribute__((grid_constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...)

struct uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct dim3 {
  unsigned x, y, z;
  __host__ __device__ dim3(unsigned x, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
extern const __device__ dim3 threadIdx, blockIdx, blockDim;

enum cudaError_t { cudaSuccess };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
typedef struct stream *cudaStream_t;
cudaError_t cudaGetLastError();
cudaError_t cudaMemsetAsync(void *, int, size_t, cudaStream_t);
template <class T> cudaError_t cudaFuncSetAttribute(T *, cudaFuncAttribute, int);
extern "C" unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void *);
extern "C" cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);

__device__ void __syncthreads();
__device__ size_t __cvta_generic_to_shared(const void *);
__device__ unsigned __byte_perm(unsigned, unsigned, unsigned);
__device__ float __fmaf_rn(float, float, float);
__device__ double __fma_rn(double, double, double);
__device__ unsigned atomicCAS(unsigned *, unsigned, unsigned);
template <class T> __device__ T atomicAdd(T *, T);
template <class T> __device__ T __shfl_sync(unsigned, T, int);
template <class T> __device__ T __ldg(const T *);
__device__ unsigned __funnelshift_r(unsigned, unsigned, unsigned);
__device__ unsigned __float_as_uint(float);
__device__ float __uint_as_float(unsigned);
__device__ void *memcpy(void *, const void *, size_t);
