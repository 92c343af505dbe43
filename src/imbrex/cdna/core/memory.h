// Memory of the GPU and of a workgroup: who may touch what, who touched it before, and results that come late.
#pragma once
#include "operand.h"

enum Space : u8 { GLOBAL_SPACE, LDS_SPACE, NOWHERE, CUT };

// Of each lane: where it reads or writes.  NOWHERE: outside of a buffer, which reads zero and writes nothing; CUT: only
// the first `within` bytes are inside.
struct Addresses {
  u64 at[64];
  u8 space[64], within[64];
};

void check_bounds(Wave &w, u64 address, int bytes, int lane);
void read_lds(Wave &w, u32 address, int bytes, void *to, int lane);
void write_lds(Wave &w, u32 address, int bytes, const void *from, int lane);
void read_lane(Wave &w, const Addresses &where, int lane, int bytes, void *to);
void write_lane(Wave &w, const Addresses &where, int lane, int bytes, const void *from);

// An atomic access races with nobody.
struct Unwatched {
  Workgroup &group;
  Shadow *shadow;
  explicit Unwatched(Wave &w) : group(*w.group), shadow(group.shadow) { group.shadow = nullptr; }
  ~Unwatched() { group.shadow = shadow; }
};

enum Access { FLAT, GLOBAL, SCRATCH, BUFFER };
void flat_addresses(Wave &w, const Instruction &i, int first, Addresses &where, int bytes);
void global_addresses(Wave &w, const Instruction &i, int first, Addresses &where);
void scratch_addresses(Wave &w, const Instruction &i, int first, Addresses &where, int bytes);
void buffer_addresses(Wave &w, const Instruction &i, int first, Addresses &where, int bytes);

// first: the operand with the address; a scalar base follows it, or resource and offset of a buffer.
template <Access A> void addresses(Wave &w, const Instruction &i, int first, Addresses &where, int bytes) {
  if constexpr (A == FLAT) flat_addresses(w, i, first, where, bytes);
  else if constexpr (A == GLOBAL) global_addresses(w, i, first, where);
  else if constexpr (A == SCRATCH) scratch_addresses(w, i, first, where, bytes);
  else buffer_addresses(w, i, first, where, bytes);
}

// Results for the registers of the first operand.
inline Pending to_vector(const Instruction &i, int count, u64 exec, u32 first_mask = ~0u) {
  Pending p;
  p.kind = Pending::TO_VECTOR, p.index = i.o[0].index, p.count = count, p.exec = exec;
  p.first_mask = first_mask, p.from = &i;
  return p;
}
// A store counts, too, until it is done.
inline void count_store(Wave &w, const Instruction &i, Queue &queue) {
  if (!w.group->settings->is_deferred) return;
  Pending p;
  p.kind = Pending::NOTHING, p.from = &i;
  push(w, queue, p);
}

enum Atomic {
  ADD,
  SUB,
  REVERSE_SUB,
  SIGNED_MIN,
  MIN,
  SIGNED_MAX,
  MAX,
  AND,
  OR,
  XOR,
  INCREMENT,
  DECREMENT,
  EXCHANGE,
  COMPARE,
  ADD_FLOAT,
  MIN_FLOAT,
  MAX_FLOAT,
  ADD_HALVES,
  ADD_BF16
};
template <class T> struct Twin;
template <> struct Twin<u32> {
  using Signed = i32;
  using Real = f32;
};
template <> struct Twin<u64> {
  using Signed = i64;
  using Real = f64;
};

template <Atomic A, class U> U after(U old, U data, U expected) {
  using S = typename Twin<U>::Signed;
  using F = typename Twin<U>::Real;
  if constexpr (A == ADD) return old + data;
  else if constexpr (A == SUB) return old - data;
  else if constexpr (A == REVERSE_SUB) return data - old;
  else if constexpr (A == SIGNED_MIN) return least(S(old), S(data));
  else if constexpr (A == MIN) return least(old, data);
  else if constexpr (A == SIGNED_MAX) return most(S(old), S(data));
  else if constexpr (A == MAX) return most(old, data);
  else if constexpr (A == AND) return old & data;
  else if constexpr (A == OR) return old | data;
  else if constexpr (A == XOR) return old ^ data;
  else if constexpr (A == INCREMENT) return old >= data ? 0 : old + 1;
  else if constexpr (A == DECREMENT) return old == 0 || old > data ? data : old - 1;
  else if constexpr (A == EXCHANGE) return data;
  else if constexpr (A == COMPARE) return old == expected ? data : old;
  else if constexpr (A == ADD_FLOAT) return bit_cast<U>(F(bit_cast<F>(old) + bit_cast<F>(data)));
  else if constexpr (A == MIN_FLOAT) return bit_cast<U>(F(__builtin_fmin(bit_cast<F>(old), bit_cast<F>(data))));
  else if constexpr (A == MAX_FLOAT) return bit_cast<U>(F(__builtin_fmax(bit_cast<F>(old), bit_cast<F>(data))));
  else {
    u32 sum = 0;
    for (int at = 0; at < 32; at += 16) {
      const u16 x = u16(u32(old) >> at), y = u16(u32(data) >> at);
      sum |= u32(A == ADD_HALVES ? f16(half_value(x) + half_value(y)).bits : bf16_bits(bf16_value(x) + bf16_value(y)))
             << at;
    }
    return sum;
  }
}
template <class U> U lane_value(Wave &w, const Operand &o, int from, int l) {
  if constexpr (sizeof(U) == 4) return w.v[o.index + from][l];
  else return w.v[o.index + 2 * from][l] | u64(w.v[o.index + 2 * from + 1][l]) << 32;
}
