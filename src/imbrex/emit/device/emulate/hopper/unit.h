// The matrix unit: products of a warpgroup, whose operands lie in shared memory as descriptors say, A perhaps in registers; and
// those of a warp.
//
// Lanes of a warp ask for products in step, the warps of a warpgroup each in its time.  A group is multiplied when its warpgroup waits for it: what came into a stage before that shows.
// Source: PTX ISA, wgmma: "Matrix descriptor", "Shared memory matrix layout", and the fragments of D.
#pragma once
#include "engine.h"

namespace imbrex::hopper {

constexpr uint32_t rows_of_product = 64;

inline int32_t width_of(element of) {
  return of == element::tf32 ? 4 : of == element::f16 || of == element::bf16 ? 2 : 1;
}
inline float value_of(element of, const uint8_t *at) {
  uint16_t half;
  float whole;
  switch (of) {
  case element::f16: copy_memory(&half, at, 2); return float_of_f16(half);
  case element::bf16: copy_memory(&half, at, 2); return float_of_bf16(half);
  case element::tf32: copy_memory(&whole, at, 4); return tf32_of(whole);
  case element::e4m3: return float_of_e4m3(*at);
  case element::e5m2: return float_of_e5m2(*at);
  case element::s8: return float(int8_t(*at));
  }
  return 0;
}

// A matrix of `count` rows or columns, and of 32 bytes of k, by its descriptor.
struct operand {
  uint32_t start, leading, stride, count;
  int32_t swizzle, width;
  bool is_turned;

  operand(uint64_t descriptor, uint32_t count, int32_t width, bool is_turned)
      : start(uint32_t(descriptor & 0x3fff) << 4), leading(uint32_t(descriptor >> 16 & 0x3fff) << 4),
        stride(uint32_t(descriptor >> 32 & 0x3fff) << 4), count(count), width(width), is_turned(is_turned) {
    constexpr int32_t of_code[4] = {0, 128, 64, 32};
    swizzle = of_code[descriptor >> 62];
  }
  uint32_t depth() const { return 32u / uint32_t(width); }
  // Where 16 bytes of neighbours begin, before the swizzle: of d at k, or, turned, of k at d.
  uint32_t piece(uint32_t d, uint32_t k) const {
    const uint32_t row = swizzle ? uint32_t(swizzle) : 16, each = 16 / uint32_t(width);
    if (!is_turned)
      return swizzle ? d % 8 * row + d / 8 * stride + k * uint32_t(width) : d % 8 * 16 + d / 8 * stride + k / each * leading;
    const uint32_t wide = row / uint32_t(width);
    if (!swizzle) return d / each * stride + k % 8 * 16 + k / 8 * leading;
    return d % wide * uint32_t(width) + d / wide * leading + k % 8 * row + k / 8 * stride;
  }
  uint32_t offset(uint32_t d, uint32_t k) const { return swizzled(start + piece(d, k), swizzle) - shared_base; }
  // Each piece: its offset, and its first (d, k).
  template <class Each> void for_each_piece(Each each) const {
    const uint32_t many = 16 / uint32_t(width), d_step = is_turned ? many : 1, k_step = is_turned ? 1 : many;
    for (uint32_t d = 0; d < count; d += d_step)
      for (uint32_t k = 0; k < depth(); k += k_step) each(offset(d, k), d, k);
  }
  // x[k][d], or x[d][k] where it is `by_rows`.
  void take(const workgroup &from, element of, float *x, bool by_rows) const {
    for_each_piece([&](uint32_t at, uint32_t d, uint32_t k) {
      for (uint32_t i = 0; i < 16 / uint32_t(width); ++i) {
        const uint32_t row = is_turned ? d + i : d, step = is_turned ? k : k + i;
        x[by_rows ? row * depth() + step : step * count + row] = value_of(of, from.memory + at + i * uint32_t(width));
      }
    });
  }
};

// x[row][k] of A in registers, an element each: a warp has 16 rows, a lane two of them, 8 apart, and of either half of k one.
inline void take_held(const product &one, float *x) {
  for (uint32_t lane = 0; lane < 128; ++lane)
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t row = lane / 32 * 16 + i % 2 * 8 + lane % 32 / 4, k = i / 2 * 4 + lane % 4;
      x[row * 8 + k] = value_of(one.of, reinterpret_cast<const uint8_t *>(one.held[lane] + i));
    }
}

// sums[row][column] += a product, in floats or, exactly, in whole numbers.
template <class Sum> inline void multiply_now(const workgroup &from, const product &one) {
  static float a[64 * 32], b[32 * 256];
  static Sum sums[256];
  const int32_t width = width_of(one.of);
  const uint32_t depth = 32u / uint32_t(width), columns = uint32_t(one.columns);
  if (one.is_held)
    take_held(one, a);
  else
    operand(one.a, rows_of_product, width, one.a_turned).take(from, one.of, a, true);
  operand(one.b, columns, width, one.b_turned).take(from, one.of, b, false);
  for (uint32_t row = 0; row < rows_of_product; ++row) {
    for (uint32_t n = 0; n < columns; ++n) sums[n] = 0;
    for (uint32_t k = 0; k < depth; ++k) {
      const Sum x = Sum(a[row * depth + k]);
      for (uint32_t n = 0; n < columns; ++n) sums[n] += x * Sum(b[k * columns + n]);
    }
    const uint32_t lane = row / 16 * 32 + row % 8 * 4, slot = row / 8 % 2 * 2;
    for (uint32_t n = 0; n < columns; ++n) {
      Sum &d = static_cast<Sum *>(one.sums[lane + n % 8 / 2])[n / 8 * 4 + slot + n % 2];
      d = one.adds ? d + sums[n] : sums[n];
    }
  }
}

// An operand of a product that this warp asks for: written before, and read until the group is done.
inline void expect_operand(workgroup &of, const operand &x, moment until, bool is_first) {
  x.for_each_piece([&](uint32_t at, uint32_t, uint32_t) {
    if (at + 16 > of.bytes) wrong("multiplies 16 bytes at byte %d of shared memory, which has %u", int32_t(at), of.bytes);
    expect_no_barrier(of, at, 16, "multiplies");
    expect_readable(of, at, 16, proxy::engine, "multiplies");
    if (is_first) mark_read(of, at, 16, here->warpgroup(), until);
  });
}

// What this lane asks for, as the other lanes of its warpgroup do.
inline product &asked(element of, int32_t columns, void *d, uint64_t a, uint64_t b, bool adds, bool is_held) {
  unit &with = here->home->units[here->warpgroup()];
  const uint32_t number = here->products++, in_group = here->number % 128, group = with.ended[in_group];
  if (number - with.first == uint32_t(with.products.count)) {
    product *made = static_cast<product *>(calloc(1, sizeof(product)));
    made->of = of, made->columns = columns, made->adds = adds, made->is_held = is_held;
    made->a = a, made->b = b, made->group = group;
    with.products.push(made);
  }
  product &one = *with.products[int32_t(number - with.first)];
  const bool is_same = one.of == of && one.columns == columns && one.a == a && one.b == b && one.is_held == is_held;
  if (!is_same || one.adds != adds || one.group != group) wrong("lanes of a warpgroup ask for different products");
  one.sums[in_group] = d;
  return one;
}

// One more lane asks; the first of each warp sees to what the unit will read of shared memory.
inline void ask(product &one) {
  workgroup &home = *here->home;
  if (here->number % 32 == 0) {
    const int32_t width = width_of(one.of);
    const moment until = moment_of(home.unit_actor(here->warpgroup()), one.group + 1);
    if (!one.is_held) expect_operand(home, operand(one.a, rows_of_product, width, one.a_turned), until, one.lanes == 0);
    expect_operand(home, operand(one.b, uint32_t(one.columns), width, one.b_turned), until, one.lanes == 0);
  }
  ++one.lanes;
}

void multiply(element of, int32_t columns, bool a_turned, bool b_turned, void *d, uint64_t a, uint64_t b, bool adds) {
  product &one = asked(of, columns, d, a, b, adds, false);
  one.a_turned = a_turned, one.b_turned = b_turned;
  ask(one);
}

void multiply_held(element of, int32_t columns, void *d, const uint32_t (&a)[4], uint64_t b, bool adds) {
  product &one = asked(of, columns, d, 0, b, adds, true);
  one.held[here->number % 128] = a;
  one.clocks[here->number % 128] = clock_of(now());
  ask(one);
  go_on();
}

inline void in_step(const char *what) {
  as_warp(what, nullptr, [](void **, uint32_t) {});
}
void begin_products() { in_step("wgmma.fence"); }
void end_products() {
  in_step("wgmma.commit_group");
  unit &with = here->home->units[here->warpgroup()];
  ++with.ended[here->number % 128];
  wake_all(with.waiting);
}

// Multiplies what belongs to groups before `end`, when all lanes have asked for them.
inline bool has_finished(workgroup &of, unit &with, uint32_t end) {
  for (uint32_t ended : with.ended)
    if (ended < end) return false;
  int32_t count = 0;
  for (; count < with.products.count && with.products[count]->group < end; ++count) {
    product *one = with.products[count];
    if (one->of == element::s8)
      multiply_now<int32_t>(of, *one);
    else
      multiply_now<float>(of, *one);
    for (int32_t lane = 0; one->is_held && lane < 128; ++lane) with.taken[lane] = one->clocks[lane];
    free(one);
  }
  for (int32_t i = count; i < with.products.count; ++i) with.products[i - count] = with.products[i];
  with.products.count -= count;
  with.first += uint32_t(count);
  with.done = with.done < end ? end : with.done;
  return true;
}

void wait_products(int32_t groups) {
  in_step("wgmma.wait_group");
  workgroup &home = *here->home;
  unit &with = home.units[here->warpgroup()];
  const uint32_t ended = with.ended[here->number % 128];
  if (ended <= uint32_t(groups)) return;
  const uint32_t end = ended - uint32_t(groups);
  while (with.done < end && !has_finished(home, with, end)) wait_in(with.waiting, "wgmma.wait_group");
  here->knows.learn(moment_of(home.unit_actor(here->warpgroup()), end));
  for (uint32_t lane = 0; lane < 128; ++lane) // who waited for the products waited for what lanes took for them
    here->knows.learn(moment_of(home.lane_actor(here->number / 128 * 128 + lane), with.taken[lane]));
}
} // namespace imbrex::hopper
