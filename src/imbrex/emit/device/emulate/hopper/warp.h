// Matrices of a warp: 8 x 8 halves to and from shared memory, and products of 16 x 8 x 16.
//
// Source: PTX ISA, stmatrix, ldmatrix, and the fragments of mma.m16n8k16.
#pragma once
#include "unit.h"

namespace imbrex::hopper {

// A lane's part of a matrix instruction.
struct matrix_part {
  uint32_t offset;
  uint32_t *x;
};

// Where a lane's row of 16 bytes is, of those whose address counts.
inline uint32_t row_offset(uint32_t address, int32_t count, const char *does) {
  if (int32_t(here->number % 32) >= 8 * count) return 0;
  return lane_offset(address, 16, does);
}

void put_matrices(uint32_t to, const uint32_t *x, int32_t count, bool turned) {
  workgroup &of = *here->home;
  const bool counts = int32_t(here->number % 32) < 8 * count;
  matrix_part mine = {row_offset(to, count, "writes"), const_cast<uint32_t *>(x)};
  if (counts) {
    expect_writable(of, mine.offset, 16, "writes");
    mark_written(of, mine.offset, 16, now());
  }
  as_warp("stmatrix", &mine, [&](void **given, uint32_t) {
    for (int32_t m = 0; m < count; ++m)
      for (uint32_t i = 0; i < 64; ++i) {
        const uint32_t row = i / 8, column = i % 8;
        const matrix_part &at = *static_cast<matrix_part *>(given[uint32_t(m) * 8 + (turned ? column : row)]);
        const matrix_part &from = *static_cast<matrix_part *>(given[row * 4 + column / 2]);
        const uint16_t half = uint16_t(from.x[m] >> 16 * (column % 2));
        copy_memory(of.memory + at.offset + (turned ? row : column) * 2, &half, 2);
      }
  });
}

void take_turned(uint32_t *x, uint32_t from) {
  workgroup &of = *here->home;
  matrix_part mine = {row_offset(from, 4, "reads"), x};
  expect_readable(of, mine.offset, 16, proxy::lane, "reads");
  mark_read(of, mine.offset, 16, here->warpgroup(), now());
  as_warp("ldmatrix", &mine, [&](void **given, uint32_t) {
    for (uint32_t m = 0; m < 4; ++m)
      for (uint32_t i = 0; i < 64; ++i) {
        const uint32_t row = i / 8, column = i % 8; // of what is turned: a lane has two rows' elements of a column
        uint16_t half;
        copy_memory(&half, of.memory + static_cast<matrix_part *>(given[m * 8 + row])->offset + column * 2, 2);
        uint32_t &to = static_cast<matrix_part *>(given[column * 4 + row / 2])->x[m];
        to = row % 2 ? (to & 0xffffu) | uint32_t(half) << 16 : (to & 0xffff0000u) | half;
      }
  });
}

// A lane's part of a product.
struct product_part {
  float *d;
  const uint32_t *a;
  uint32_t b[2];
};

void warp_product(element of, float *d, const uint32_t *a, uint32_t first, uint32_t second) {
  product_part mine = {d, a, {first, second}};
  as_warp("mma.sync", &mine, [&](void **given, uint32_t) {
    float x[16][16], y[16][8];
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const product_part &part = *static_cast<product_part *>(given[lane]);
      for (uint32_t i = 0; i < 8; ++i) {
        const uint16_t half = uint16_t(part.a[i / 2] >> 16 * (i % 2));
        const uint32_t row = lane / 4 + i / 2 % 2 * 8, k = lane % 4 * 2 + i % 2 + i / 4 * 8;
        x[row][k] = of == element::f16 ? float_of_f16(half) : float_of_bf16(half);
      }
      for (uint32_t i = 0; i < 4; ++i) {
        const uint16_t half = uint16_t(part.b[i / 2] >> 16 * (i % 2));
        y[lane % 4 * 2 + i % 2 + i / 2 * 8][lane / 4] = of == element::f16 ? float_of_f16(half) : float_of_bf16(half);
      }
    }
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t i = 0; i < 4; ++i) {
        float sum = 0;
        for (uint32_t k = 0; k < 16; ++k) sum += x[lane / 4 + i / 2 * 8][k] * y[k][lane % 4 * 2 + i % 2];
        static_cast<product_part *>(given[lane])->d[i] += sum;
      }
  });
}
} // namespace imbrex::hopper
