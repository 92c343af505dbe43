// The part of C++ and CUDA that the kernels use; NVRTC has no <stdint.h>.
#pragma once

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif

#define IMBREX_INLINE static __device__ __forceinline__
// Of a struct that holds a kernel's arguments.
#define IMBREX_MEMBER __device__ __forceinline__
