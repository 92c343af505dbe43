// The part of HIP that the kernels use, where no HIP is: hipcc brings its own, a plain clang for amdgcn gets it here.
#pragma once

#if defined(__HIP__) && __has_include(<hip/hip_runtime.h>)
#include <hip/hip_runtime.h>
#define IMBREX_HAS_HIP_RUNTIME 1
#endif

typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

#ifndef IMBREX_HAS_HIP_RUNTIME
#ifdef __HIP__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#else
#define __global__ __attribute__((amdgpu_kernel))
#define __device__
#define __shared__ static __attribute__((address_space(3), loader_uninitialized))
#endif
#define __launch_bounds__(...) __attribute__((amdgpu_flat_work_group_size(1, __VA_ARGS__)))
#endif

#define IMBREX_INLINE static __device__ inline __attribute__((always_inline))
