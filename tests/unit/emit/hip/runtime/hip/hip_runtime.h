// As much of HIP's header as a kernel and its launch need, in the way that hipcc finds them there.
#pragma once
#include <stddef.h>
#include <stdint.h>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(items) __attribute__((amdgpu_flat_work_group_size(1, items)))

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
typedef enum hipError_t { hipSuccess = 0 } hipError_t;
typedef struct ihipStream_t *hipStream_t;

extern "C" {
hipError_t hipGetLastError();
hipError_t hipMemsetAsync(void *, int, size_t, hipStream_t);
hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);
hipError_t __hipPushCallConfiguration(dim3, dim3, size_t = 0, hipStream_t = nullptr);
hipError_t __hipPopCallConfiguration(dim3 *, dim3 *, size_t *, hipStream_t *);
}
