// Loads, stores and atomics of memory: flat, global, scratch, buffers; scalar loads.
#include "memory.h"

enum Half { WHOLE, LOW, HIGH };

static u32 extended(u32 x, int bytes) { return bytes == 1 ? u32(i32(i8(x))) : u32(i32(i16(x))); }

// Lanes load to LDS one behind the other, from where M0 and the offset say.  Three words take the place of four, whose
// last is skipped (CDNA4 ISA, "Memory Buffer Load to LDS").
template <Access A, int Bytes, bool IsSigned> void load_to_lds(Wave &w, const Instruction &i) {
  constexpr int stored = Bytes < 4 ? 4 : Bytes, apart = Bytes == 12 ? 16 : stored;
  Addresses where;
  addresses<A>(w, i, 0, where, Bytes);
  Pending p;
  p.kind = Pending::TO_LDS, p.count = stored, p.exec = w.exec(), p.from = &i;
  FOR_LANES {
    u32 words[4] = {};
    if (p.exec >> l & 1) read_lane(w, where, l, Bytes, words);
    if (IsSigned && Bytes < 4) words[0] = extended(words[0], Bytes);
    for (int k = 0; k < 4; ++k) p.words[k][l] = words[k];
    p.address[l] = (w.s[M0] & 0x3ffff) + (A == BUFFER || A == GLOBAL ? i.offset : 0) + l * apart;
  }
  push(w, w.vector_memory, p);
}
template <Access A, int Bytes, bool IsSigned = false, Half H = WHOLE> void load(Wave &w, const Instruction &i) {
  if (i.flags & TO_LDS) return load_to_lds<A, Bytes, IsSigned>(w, i);
  constexpr int count = Bytes < 4 ? 1 : Bytes / 4;
  Addresses where;
  addresses<A>(w, i, 1, where, Bytes);
  Pending p = to_vector(i, count, w.exec(), H == LOW ? 0xffff : H == HIGH ? 0xffff0000 : ~0u);
  FOR_LANES {
    if (!(p.exec >> l & 1)) continue;
    u32 words[4] = {};
    read_lane(w, where, l, Bytes, words);
    if (IsSigned && Bytes < 4) words[0] = extended(words[0], Bytes);
    if (H == HIGH) words[0] <<= 16;
    for (int k = 0; k < count; ++k) p.words[k][l] = words[k];
  }
  if (A == FLAT) count_store(w, i, w.other_memory);
  push(w, w.vector_memory, p);
}
template <Access A, int Bytes, Half H = WHOLE> void store(Wave &w, const Instruction &i) {
  constexpr int count = Bytes < 4 ? 1 : Bytes / 4;
  const Operand &data = i.o[A == BUFFER ? 0 : 2];
  Addresses where;
  addresses<A>(w, i, A == BUFFER ? 1 : 0, where, Bytes);
  const u64 exec = w.exec();
  FOR_LANES {
    if (!(exec >> l & 1)) continue;
    u32 words[4];
    for (int k = 0; k < count; ++k) words[k] = w.v[data.index + k][l];
    if (H == HIGH) words[0] >>= 16;
    write_lane(w, where, l, Bytes, words);
  }
  count_store(w, i, w.vector_memory);
  if (A == FLAT) count_store(w, i, w.other_memory);
}
template <Access A, Atomic Op, class U> void atomic(Wave &w, const Instruction &i) {
  constexpr int count = sizeof(U) / 4;
  const bool returns = i.flags & RETURNS;
  const int first = A == BUFFER || returns ? 1 : 0;
  const Operand &data = i.o[A == BUFFER ? 0 : first + 2];
  Addresses where;
  addresses<A>(w, i, first, where, sizeof(U));
  Pending p = to_vector(i, count, w.exec());
  {
    const Unwatched atomically(w);
    FOR_LANES {
      if (!(p.exec >> l & 1)) continue;
      U old = 0;
      read_lane(w, where, l, sizeof(U), &old);
      const U expected = Op == COMPARE ? lane_value<U>(w, data, 1, l) : U(0);
      const U now = after<Op, U>(old, lane_value<U>(w, data, 0, l), expected);
      write_lane(w, where, l, sizeof(U), &now);
      p.words[0][l] = u32(old);
      if (count == 2) p.words[1][l] = u32(u64(old) >> 32);
    }
  }
  if (A == FLAT) count_store(w, i, w.other_memory);
  if (returns) push(w, w.vector_memory, p);
  else count_store(w, i, w.vector_memory);
}

// Of the constants, or of a buffer whose end is known.
template <int Words, bool IsBuffer> void load_scalar(Wave &w, const Instruction &i) {
  const u32 *resource = &w.s[i.o[1].index];
  const u64 start = IsBuffer ? resource[0] | u64(resource[1] & 0xffff) << 32 : scalar64(w, i.o[1]);
  const u64 offset = (i.o[2].kind == SCALAR ? scalar32(w, i.o[2]) : u64(i.o[2].integer)) + i.offset;
  const u64 address = (start + offset) & ~3ull;
  Pending p;
  p.kind = Pending::TO_SCALAR, p.index = i.o[0].index, p.count = Words, p.from = &i;
  for (int k = 0; k < Words; ++k) {
    p.words[0][k] = 0;
    if (IsBuffer && offset + 4 * k + 4 > resource[2]) continue;
    check_bounds(w, address + 4 * k, 4, -1);
    __builtin_memcpy(&p.words[0][k], reinterpret_cast<void *>(address + 4 * k), 4);
  }
  push(w, w.other_memory, p);
}

#define ATOMIC_ROWS(pre, A, name, op)                                                                                  \
  {pre "atomic_" name, atomic<A, op, u32>}, { pre "atomic_" name "_x2", atomic<A, op, u64> }
#define ACCESS_ROWS(pre, A)                                                                                            \
  {pre "load_ubyte", load<A, 1>}, {pre "load_sbyte", load<A, 1, true>}, {pre "load_ushort", load<A, 2>},               \
      {pre "load_sshort", load<A, 2, true>}, {pre "load_dword", load<A, 4>}, {pre "load_dwordx2", load<A, 8>},         \
      {pre "load_dwordx3", load<A, 12>}, {pre "load_dwordx4", load<A, 16>},                                            \
      {pre "load_ubyte_d16", load<A, 1, false, LOW>}, {pre "load_ubyte_d16_hi", load<A, 1, false, HIGH>},              \
      {pre "load_sbyte_d16", load<A, 1, true, LOW>}, {pre "load_sbyte_d16_hi", load<A, 1, true, HIGH>},                \
      {pre "load_short_d16", load<A, 2, false, LOW>}, {pre "load_short_d16_hi", load<A, 2, false, HIGH>},              \
      {pre "load_lds_ubyte", load<A, 1>}, {pre "load_lds_sbyte", load<A, 1, true>},                                    \
      {pre "load_lds_ushort", load<A, 2>}, {pre "load_lds_sshort", load<A, 2, true>},                                  \
      {pre "load_lds_dword", load<A, 4>}, {pre "load_lds_dwordx3", load<A, 12>},                                       \
      {pre "load_lds_dwordx4", load<A, 16>}, {pre "store_byte", store<A, 1>},                                          \
      {pre "store_byte_d16_hi", store<A, 1, HIGH>}, {pre "store_short", store<A, 2>},                                  \
      {pre "store_short_d16_hi", store<A, 2, HIGH>}, {pre "store_dword", store<A, 4>},                                 \
      {pre "store_dwordx2", store<A, 8>}, {pre "store_dwordx3", store<A, 12>}, {                                       \
    pre "store_dwordx4", store<A, 16>                                                                                  \
  }
#define ALL_ATOMIC_ROWS(pre, A)                                                                                        \
  ATOMIC_ROWS(pre, A, "add", ADD), ATOMIC_ROWS(pre, A, "sub", SUB), ATOMIC_ROWS(pre, A, "smin", SIGNED_MIN),           \
      ATOMIC_ROWS(pre, A, "umin", MIN), ATOMIC_ROWS(pre, A, "smax", SIGNED_MAX), ATOMIC_ROWS(pre, A, "umax", MAX),     \
      ATOMIC_ROWS(pre, A, "and", AND), ATOMIC_ROWS(pre, A, "or", OR), ATOMIC_ROWS(pre, A, "xor", XOR),                 \
      ATOMIC_ROWS(pre, A, "inc", INCREMENT), ATOMIC_ROWS(pre, A, "dec", DECREMENT),                                    \
      ATOMIC_ROWS(pre, A, "swap", EXCHANGE), ATOMIC_ROWS(pre, A, "cmpswap", COMPARE),                                  \
      {pre "atomic_add_f32", atomic<A, ADD_FLOAT, u32>}, {pre "atomic_add_f64", atomic<A, ADD_FLOAT, u64>},            \
      {pre "atomic_min_f64", atomic<A, MIN_FLOAT, u64>}, {pre "atomic_max_f64", atomic<A, MAX_FLOAT, u64>},            \
      {pre "atomic_pk_add_f16", atomic<A, ADD_HALVES, u32>}, {                                                         \
    pre "atomic_pk_add_bf16", atomic<A, ADD_BF16, u32>                                                                 \
  }
#define SCALAR_ROWS(suffix, words)                                                                                     \
  {"s_load_dword" suffix, load_scalar<words, false>}, { "s_buffer_load_dword" suffix, load_scalar<words, true> }

extern const Row MEMORY[];
const Row MEMORY[] = {
    ACCESS_ROWS("flat_", FLAT),
    ACCESS_ROWS("global_", GLOBAL),
    ACCESS_ROWS("scratch_", SCRATCH),
    ACCESS_ROWS("buffer_", BUFFER),
    ALL_ATOMIC_ROWS("flat_", FLAT),
    ALL_ATOMIC_ROWS("global_", GLOBAL),
    ALL_ATOMIC_ROWS("buffer_", BUFFER),
    SCALAR_ROWS("", 1),
    SCALAR_ROWS("x2", 2),
    SCALAR_ROWS("x4", 4),
    SCALAR_ROWS("x8", 8),
    SCALAR_ROWS("x16", 16),
    {nullptr, nullptr},
};
