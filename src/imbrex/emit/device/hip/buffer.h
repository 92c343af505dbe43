// Global arrays, as raw buffers.
//
// An address is a byte offset in two parts: `lane`, which differs from lane to lane, and `wave`, which all lanes of a
// wave share and which needs no vector register.  A lane that has no element goes to `nowhere`, past the end of any
// buffer: there a load gives zeros and a store is dropped.  Nothing else stops an access, so the guards must be exact;
// and as only the lane's part is compared with the size, it alone decides, whatever the wave's part is.
//
// The builtins are those of clang 20 and later.
#pragma once
#include "element.h"

namespace imbrex {

typedef __amdgpu_buffer_rsrc_t buffer;
constexpr uint32_t nowhere = 0x80000000;

// The buffer that begins `bytes` into the array: the part of an address that a wave shares, where the array is so long
// that an offset of 32 bits does not hold it.
IMBREX_INLINE buffer buffer_from(const void *array, int64_t bytes) {
  constexpr int raw = 0x00020000; // data format of a raw buffer: gfx9, resource word 3
  char *start = const_cast<char *>(static_cast<const char *>(array)) + bytes;
  return __builtin_amdgcn_make_buffer_rsrc(start, 0, int(nowhere), raw);
}

// `before`: bytes by which the buffer begins before the array, so that no part of an address is negative.
IMBREX_INLINE buffer buffer_of(const void *array, int64_t before) { return buffer_from(array, -before); }

IMBREX_INLINE uint32_t where(bool exists, uint32_t lane) { return exists ? lane : nowhere; }

// `nowhere` or beyond if bit `place` of the lane's word is set: two vector instructions.
IMBREX_INLINE uint32_t unless(int32_t missing, uint32_t place, uint32_t lane) {
  return lane | uint32_t(__builtin_amdgcn_sbfe(missing, place, 1));
}

template <int Bytes> struct raw;
#define IMBREX_RAW(bytes, bits)                                                                                        \
  template <> struct raw<bytes> {                                                                                      \
    IMBREX_INLINE word<bytes> load(buffer b, uint32_t lane, uint32_t wave) {                                           \
      return __builtin_amdgcn_raw_buffer_load_b##bits(b, lane, wave, 0);                                               \
    }                                                                                                                  \
    IMBREX_INLINE void store(word<bytes> x, buffer b, uint32_t lane, uint32_t wave) {                                  \
      __builtin_amdgcn_raw_buffer_store_b##bits(x, b, lane, wave, 0);                                                  \
    }                                                                                                                  \
  };
IMBREX_RAW(1, 8)
IMBREX_RAW(2, 16)
IMBREX_RAW(4, 32)
IMBREX_RAW(8, 64)
IMBREX_RAW(16, 128)
#undef IMBREX_RAW
template <> struct raw<12> {
  typedef uint32_t three __attribute__((ext_vector_type(3)));
  IMBREX_INLINE word<12> load(buffer b, uint32_t lane, uint32_t wave) {
    const three x = __builtin_amdgcn_raw_buffer_load_b96(b, lane, wave, 0);
    return {{x[0], x[1], x[2]}};
  }
};

// dst = W neighbours, in one instruction.
template <int W, class T> IMBREX_INLINE void load(T *dst, buffer b, uint32_t lane, uint32_t wave) {
  const word<W * sizeof(T)> x = raw<W * sizeof(T)>::load(b, lane, wave);
  __builtin_memcpy(dst, &x, sizeof(x));
}

// dst += W neighbours, in registers.
template <int W, class T> IMBREX_INLINE void gain(T *dst, buffer b, uint32_t lane, uint32_t wave) {
  T x[W];
  load<W>(x, b, lane, wave);
#pragma unroll
  for (int i = 0; i < W; ++i) dst[i] += x[i];
}

template <int W, class T> IMBREX_INLINE void store_as_is(buffer b, uint32_t lane, uint32_t wave, const T *src) {
  word<W * sizeof(T)> x;
  __builtin_memcpy(&x, src, sizeof(x));
  raw<W * sizeof(T)>::store(x, b, lane, wave);
}

// W neighbours = src, converted to elements of type D.
template <class D, int W, class S> IMBREX_INLINE void store(buffer b, uint32_t lane, uint32_t wave, const S *src) {
  D out[W];
  copy<W>(out, src);
  store_as_is<W>(b, lane, wave, out);
}

// W neighbours = alpha * src + beta * themselves; beta == 0 does not read them.
template <class D, int W, class S, class T>
IMBREX_INLINE void scale(buffer b, uint32_t lane, uint32_t wave, const S *src, T alpha, T beta) {
  D out[W] = {};
  if (beta != T(0)) load<W>(out, b, lane, wave);
#pragma unroll
  for (int i = 0; i < W; ++i) {
    const T x = times(alpha, widen(src[i]));
    out[i] = converted<D>(beta == T(0) ? x : T(x + beta * widen(out[i])));
  }
  store_as_is<W>(b, lane, wave, out);
}
} // namespace imbrex
