// A matrix instruction over the lanes of a wave.
//
// `Instruction` is a struct printed from the instruction's maps: its sizes, and the place in A[block][m][k],
// B[block][k][n] or C[block][m][n] of what each register of each lane holds, -1 where it holds nothing.  Operands
// are lane 0's first registers; a pitch is the distance from one lane's registers to the next.
//
// Products are summed in the type of C as it widens: f32 for 16-bit and 8-bit floats, whose products it holds
// exactly, i32 for i8, f64 for f64.  Hardware adds them in an order of its own, so only exact sums agree bit for bit.
#pragma once
#include "../cpu/element.h"
#include "../common/e8m0.h"
#include "../common/packed.h"

namespace imbrex {

// An operand of an xf32 instruction: 10 of the 23 bits after the point.
IMBREX_INLINE float xf32_of(float x) { return bit_cast<float>(bit_cast<uint32_t>(x) & ~uint32_t(0x1fff)); }

// A number, or a zero of its sign where it is below the smallest that is normal.
IMBREX_INLINE float flushed(float x, float smallest) {
  return __builtin_fabsf(x) < smallest ? __builtin_copysignf(0.f, x) : x;
}

template <int Count> struct places {
  int16_t at[Count];
};

// The formula of one operand at every lane and register, lane by lane.
template <int Lanes, int Slots, class Place> constexpr places<Lanes * Slots> tabulated(Place place) {
  places<Lanes * Slots> table{};
  for (int lane = 0; lane < Lanes; ++lane)
    for (int slot = 0; slot < Slots; ++slot) table.at[lane * Slots + slot] = int16_t(place(lane, slot));
  return table;
}

// An element of a lane's registers: of packs the one that all before it leave it.
template <class T> IMBREX_INLINE T element_of(const T *first, int slot) { return first[slot]; }
template <class Single, int Bits, int Count>
IMBREX_INLINE Single element_of(const packed<Single, Bits, Count> *first, int slot) {
  const packed<Single, Bits, Count> &pack = first[slot / Count];
  const int bit = slot % Count * Bits, byte = bit / 8, next = byte + (bit % 8 + Bits > 8);
  return {uint8_t((pack.bytes[byte] | pack.bytes[next] << 8) >> bit % 8 & ((1 << Bits) - 1))};
}

// The operand's elements, in their places.
template <class Instruction, int Slots, class Sum, class T, int Count>
IMBREX_INLINE void gather(Sum *matrix, const T *first, int pitch, const places<Count> &table) {
  for (int lane = 0; lane < Instruction::wave; ++lane)
    for (int slot = 0; slot < Slots; ++slot) {
      const int place = table.at[lane * Slots + slot];
      if (place >= 0) matrix[place] = Sum(Instruction::operand(element_of(first + lane * pitch, slot)));
    }
}

// product[m][n] = sum over k of left[m][k] * right[k][n].
template <int M, int N, int K, class Sum> IMBREX_INLINE void product_of(Sum *product, const Sum *left, const Sum *right) {
  for (int m = 0; m < M; ++m) {
    Sum row[N] = {};
    for (int k = 0; k < K; ++k)
      for (int n = 0; n < N; ++n) row[n] += left[m * K + k] * right[k * N + n];
    for (int n = 0; n < N; ++n) product[m * N + n] = row[n];
  }
}

// The elements of an operand, in their places, by the scales of the lanes.  `scale_place` numbers the runs of 32
// neighbours along k of A [m][k / 32], or of B [k / 32][n]; `run` is that of an element.
template <class Instruction, int Count, class Sum, class S, class Place, class Run>
IMBREX_INLINE void scale_by(Sum *matrix, const S *first, int pitch, Place scale_place, Run run) {
  Sum scales[Instruction::wave];
  for (int lane = 0; lane < Instruction::wave; ++lane) scales[scale_place(lane, 0)] = Sum(widen(first[lane * pitch]));
  for (int i = 0; i < Count; ++i) matrix[i] *= scales[run(i)];
}

// c += a * b, block by block; of a microscaled product a and b are multiplied by scales before.
template <class Instruction, class C, class A, class B, class... Scales>
void multiply(C *c, int c_pitch, const A *a, int a_pitch, const B *b, int b_pitch, Scales... scales) {
  using I = Instruction;
  using Sum = decltype(widen(C{}));
  static constexpr auto a_places = tabulated<I::wave, I::a_elements>(I::a);
  static constexpr auto b_places = tabulated<I::wave, I::b_elements>(I::b);
  static constexpr auto c_places = tabulated<I::wave, I::c_elements>(I::c);
  alignas(64) Sum left[I::blocks * I::m * I::k], right[I::blocks * I::k * I::n], product[I::blocks * I::m * I::n];
  gather<I, I::a_elements>(left, a, a_pitch, a_places);
  gather<I, I::b_elements>(right, b, b_pitch, b_places);
  if constexpr (sizeof...(Scales) > 0) {
    const auto apply = [&](auto *of_a, int a_step, auto *of_b, int b_step) {
      scale_by<I, I::m * I::k>(left, of_a, a_step, I::scale_a, [](int i) { return i / 32; });
      scale_by<I, I::k * I::n>(right, of_b, b_step, I::scale_b, [](int i) { return i / I::n / 32 * I::n + i % I::n; });
    };
    apply(scales...);
  }
  for (int block = 0; block < I::blocks; ++block)
    product_of<I::m, I::n, I::k>(product + block * I::m * I::n, left + block * I::m * I::k, right + block * I::k * I::n);
  for (int lane = 0; lane < I::wave; ++lane)
    for (int slot = 0; slot < I::c_elements; ++slot) {
      const int place = c_places.at[lane * I::c_elements + slot];
      if (place < 0) continue;
      C &sum = c[lane * c_pitch + slot];
      sum = narrow_to<C>::from(Instruction::sum(Sum(widen(sum) + product[place])));
    }
}
} // namespace imbrex
