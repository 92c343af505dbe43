// Memory of a workgroup: loads, stores, atomics, and exchanges between lanes that go through it.
#include "memory.h"

enum Half { WHOLE, LOW, HIGH };

// A write that waves see at once, but others may see late.
static Pending stored(Wave &w, const Instruction &i, int bytes) {
  Pending p;
  p.kind = Pending::NOTHING, p.from = &i, p.exec = w.exec(), p.touched = bytes, p.stores = true;
  return p;
}
template <int Bytes, bool IsSigned = false, Half H = WHOLE> void load(Wave &w, const Instruction &i) {
  constexpr int count = Bytes < 4 ? 1 : Bytes / 4;
  Pending p = to_vector(i, count, w.exec(), H == LOW ? 0xffff : H == HIGH ? 0xffff0000 : ~0u);
  FOR_LANES {
    if (!(p.exec >> l & 1)) continue;
    u32 words[4] = {};
    p.touched = Bytes, p.address[l] = w.v[i.o[1].index][l] + i.offset;
    read_lds(w, p.address[l], Bytes, words, l);
    if (IsSigned && Bytes == 1) words[0] = u32(i32(i8(words[0])));
    if (IsSigned && Bytes == 2) words[0] = u32(i32(i16(words[0])));
    if (H == HIGH) words[0] <<= 16;
    for (int k = 0; k < count; ++k) p.words[k][l] = words[k];
  }
  push(w, w.other_memory, p);
}
template <int Bytes, Half H = WHOLE> void store(Wave &w, const Instruction &i) {
  constexpr int count = Bytes < 4 ? 1 : Bytes / 4;
  Pending p = stored(w, i, Bytes);
  FOR_LANES {
    if (!(p.exec >> l & 1)) continue;
    u32 words[4];
    for (int k = 0; k < count; ++k) words[k] = w.v[i.o[1].index + k][l];
    if (H == HIGH) words[0] >>= 16;
    p.address[l] = w.v[i.o[0].index][l] + i.offset;
    write_lds(w, p.address[l], Bytes, words, l);
  }
  push(w, w.other_memory, p);
}
// Two places, whose offsets count elements, or 64 of them.
template <int Bytes, int Step> void load_two(Wave &w, const Instruction &i) {
  constexpr int count = Bytes / 4;
  Pending p = to_vector(i, 2 * count, w.exec());
  FOR_LANES {
    if (!(p.exec >> l & 1)) continue;
    const u32 start = w.v[i.o[1].index][l];
    u32 words[4];
    p.touched = Bytes, p.has_second = true;
    p.address[l] = start + i.offset0 * Bytes * Step, p.second[l] = start + i.offset1 * Bytes * Step;
    read_lds(w, p.address[l], Bytes, words, l);
    read_lds(w, p.second[l], Bytes, words + count, l);
    for (int k = 0; k < 2 * count; ++k) p.words[k][l] = words[k];
  }
  push(w, w.other_memory, p);
}
template <int Bytes, int Step> void store_two(Wave &w, const Instruction &i) {
  Pending p = stored(w, i, Bytes);
  p.has_second = true;
  FOR_LANES {
    if (!(p.exec >> l & 1)) continue;
    for (int which = 0; which < 2; ++which) {
      u32 words[2];
      for (int k = 0; k < Bytes / 4; ++k) words[k] = w.v[i.o[1 + which].index + k][l];
      u32 &address = which ? p.second[l] : p.address[l];
      address = w.v[i.o[0].index][l] + (which ? i.offset1 : i.offset0) * Bytes * Step;
      write_lds(w, address, Bytes, words, l);
    }
  }
  push(w, w.other_memory, p);
}
template <Atomic Op, class U, bool Returns> void atomic(Wave &w, const Instruction &i) {
  constexpr int count = sizeof(U) / 4, first = Returns ? 1 : 0;
  Pending p = to_vector(i, count, w.exec());
  {
    const Unwatched atomically(w);
    FOR_LANES {
      if (!(p.exec >> l & 1)) continue;
      const u32 address = w.v[i.o[first].index][l] + i.offset;
      U old;
      read_lds(w, address, sizeof(U), &old, l);
      const U given = lane_value<U>(w, i.o[first + 1], 0, l);
      const U now = Op == COMPARE ? after<Op, U>(old, lane_value<U>(w, i.o[first + 2], 0, l), given)
                                  : after<Op, U>(old, given, 0);
      write_lds(w, address, sizeof(U), &now, l);
      p.words[0][l] = u32(old);
      if (count == 2) p.words[1][l] = u32(u64(old) >> 32);
    }
  }
  if (Returns) push(w, w.other_memory, p);
  else count_store(w, i, w.other_memory);
}

// A lane takes what another one has; one that is off has zero.
static void pull(Wave &w, const Instruction &i) {
  Pending p = to_vector(i, 1, w.exec());
  FOR_LANES {
    const int from = (w.v[i.o[1].index][l] + i.offset) >> 2 & 63;
    p.words[0][l] = p.exec >> from & 1 ? w.v[i.o[2].index][from] : 0;
  }
  push(w, w.other_memory, p);
}
// A lane gives what it has to another one.
static void give(Wave &w, const Instruction &i) {
  Pending p = to_vector(i, 1, w.exec());
  FOR_LANES p.words[0][l] = 0;
  FOR_LANES
  if (p.exec >> l & 1) p.words[0][(w.v[i.o[1].index][l] + i.offset) >> 2 & 63] = w.v[i.o[2].index][l];
  push(w, w.other_memory, p);
}
// Within four lanes, or within 32 by a mask of and, or, xor.
static void swizzle(Wave &w, const Instruction &i) {
  Pending p = to_vector(i, 1, w.exec());
  const u32 o = u32(i.offset) & 0xffff;
  FOR_LANES {
    const int masked = int(((((l & 31) & o) | o >> 5) ^ o >> 10) & 31);
    const int from = o & 0x8000 ? (l & ~3) | (o >> (2 * (l & 3)) & 3) : (l & 32) | masked;
    p.words[0][l] = p.exec >> from & 1 ? w.v[i.o[1].index][from] : 0;
  }
  push(w, w.other_memory, p);
}

// gfx950: 16 lanes read a matrix of Bits-wide elements, row by row, and each gets a column.  All lanes take part, at
// addresses that are aligned to the data (CDNA4 ISA, "MFMA Transpose Load from LDS"), 12 bytes to 16.
template <int Bits, int Bytes> void load_transposed(Wave &w, const Instruction &i) {
  constexpr int count = Bytes / 4, each = Bytes * 8 / Bits, aligned = Bytes == 12 ? 16 : Bytes;
  Pending p = to_vector(i, count, w.exec());
  if (~p.exec) fail(w, LANES_OFF, 0, Bytes, -1);
  p.touched = Bytes;
  u8 read[64][16] = {};
  FOR_LANES {
    const u32 address = w.v[i.o[1].index][l] + i.offset;
    if (address % aligned) fail(w, LDS_ALIGNMENT, address, aligned, l);
    p.address[l] = address;
    read_lds(w, address, Bytes, read[l], l);
  }
  FOR_LANES {
    for (int k = 0; k < count; ++k) p.words[k][l] = 0;
    for (int row = 0; row < each; ++row) {
      const int element = row * 16 + (l & 15);
      const u8 *from = read[(l & ~15) + element / each];
      for (int b = 0; b < Bits; ++b) {
        const int source = element % each * Bits + b, target = row * Bits + b;
        p.words[target / 32][l] |= u32(from[source / 8] >> source % 8 & 1) << target % 32;
      }
    }
  }
  push(w, w.other_memory, p);
}

#define ATOMIC_ROWS(name, op, narrow, wide)                                                                            \
  {"ds_" name "_" narrow, atomic<op, u32, false>}, {"ds_" name "_rtn_" narrow, atomic<op, u32, true>},                 \
      {"ds_" name "_" wide, atomic<op, u64, false>}, {                                                                 \
    "ds_" name "_rtn_" wide, atomic<op, u64, true>                                                                     \
  }

extern const Row LDS[];
const Row LDS[] = {
    {"ds_read_u8", load<1>},
    {"ds_read_i8", load<1, true>},
    {"ds_read_u16", load<2>},
    {"ds_read_i16", load<2, true>},
    {"ds_read_b32", load<4>},
    {"ds_read_b64", load<8>},
    {"ds_read_b96", load<12>},
    {"ds_read_b128", load<16>},
    {"ds_read_u8_d16", load<1, false, LOW>},
    {"ds_read_u8_d16_hi", load<1, false, HIGH>},
    {"ds_read_i8_d16", load<1, true, LOW>},
    {"ds_read_i8_d16_hi", load<1, true, HIGH>},
    {"ds_read_u16_d16", load<2, false, LOW>},
    {"ds_read_u16_d16_hi", load<2, false, HIGH>},
    {"ds_write_b8", store<1>},
    {"ds_write_b8_d16_hi", store<1, HIGH>},
    {"ds_write_b16", store<2>},
    {"ds_write_b16_d16_hi", store<2, HIGH>},
    {"ds_write_b32", store<4>},
    {"ds_write_b64", store<8>},
    {"ds_write_b96", store<12>},
    {"ds_write_b128", store<16>},
    {"ds_read2_b32", load_two<4, 1>},
    {"ds_read2_b64", load_two<8, 1>},
    {"ds_read2st64_b32", load_two<4, 64>},
    {"ds_read2st64_b64", load_two<8, 64>},
    {"ds_write2_b32", store_two<4, 1>},
    {"ds_write2_b64", store_two<8, 1>},
    {"ds_write2st64_b32", store_two<4, 64>},
    {"ds_write2st64_b64", store_two<8, 64>},
    ATOMIC_ROWS("add", ADD, "u32", "u64"),
    ATOMIC_ROWS("sub", SUB, "u32", "u64"),
    ATOMIC_ROWS("rsub", REVERSE_SUB, "u32", "u64"),
    ATOMIC_ROWS("inc", INCREMENT, "u32", "u64"),
    ATOMIC_ROWS("dec", DECREMENT, "u32", "u64"),
    ATOMIC_ROWS("min", SIGNED_MIN, "i32", "i64"),
    ATOMIC_ROWS("max", SIGNED_MAX, "i32", "i64"),
    ATOMIC_ROWS("min", MIN, "u32", "u64"),
    ATOMIC_ROWS("max", MAX, "u32", "u64"),
    ATOMIC_ROWS("and", AND, "b32", "b64"),
    ATOMIC_ROWS("or", OR, "b32", "b64"),
    ATOMIC_ROWS("xor", XOR, "b32", "b64"),
    ATOMIC_ROWS("wrxchg", EXCHANGE, "b32", "b64"),
    ATOMIC_ROWS("cmpst", COMPARE, "b32", "b64"),
    ATOMIC_ROWS("add", ADD_FLOAT, "f32", "f64"),
    ATOMIC_ROWS("min", MIN_FLOAT, "f32", "f64"),
    ATOMIC_ROWS("max", MAX_FLOAT, "f32", "f64"),
    {"ds_pk_add_f16", atomic<ADD_HALVES, u32, false>},
    {"ds_pk_add_rtn_f16", atomic<ADD_HALVES, u32, true>},
    {"ds_pk_add_bf16", atomic<ADD_BF16, u32, false>},
    {"ds_pk_add_rtn_bf16", atomic<ADD_BF16, u32, true>},
    {"ds_bpermute_b32", pull},
    {"ds_permute_b32", give},
    {"ds_swizzle_b32", swizzle},
    {"ds_read_b64_tr_b16", load_transposed<16, 8>},
    {"ds_read_b64_tr_b8", load_transposed<8, 8>},
    {"ds_read_b64_tr_b4", load_transposed<4, 8>},
    {"ds_read_b96_tr_b6", load_transposed<6, 12>},
    {nullptr, nullptr},
};
