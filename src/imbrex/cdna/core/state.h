// What the host says of a launch, and the state of a workgroup: registers of waves, LDS, what is under way.
//
// The structs up to `Outcome` are written by the host, field by field in this order (core.py).
#pragma once
#include "number.h"

enum Kind : i32 { VECTOR = 1, SCALAR, INTEGER, LITERAL, FLOAT, OFF, SPECIAL };

struct Operand {
  i32 kind, index, count, negative, absolute, is_signed, select, unused;
  i64 integer;
  f64 real;
};

// target: of a branch, as an index.  first: the place of the first source.  Of a matrix instruction: sizes, types.
struct Instruction {
  i32 row, operands;
  Operand o[7];
  i32 offset, offset0, offset1, clamp, omod, op_sel, op_sel_hi, neg_lo, neg_hi;
  i32 sdwa, dst_sel, dst_unused, dpp, dpp_argument, row_mask, bank_mask, bound_ctrl, cbsz, abid, blgp, flags, simm;
  i32 target, bitop3, m, n, k, a_type, b_type, c_type, byte_sel, first;
  i64 address;
};
enum Flag : i32 { OFFEN = 1, IDXEN = 2, TO_LDS = 4, RETURNS = 8, IS_SCALED = 16, IS_NARROW = 32 };

// Memory that may be touched.
struct Region {
  u64 low, high;
};

// chip: 0 gfx90a, 1 gfx942, 2 gfx950.  is_deferred: what is read is there when it was waited for.  seed: of the order
// of waves, 0 for their own.  seats: workgroups under way at a time.  at: which instruction begins at each word from `code_low` on, -1 for none.
struct Settings {
  u64 scratch, scratch_bytes, code_base, seed;
  i64 code_low, code_words, most_steps;
  i32 chip, lds_bytes, is_deferred, finds_races, flushes, regions, seats;
  const Region *region;
  const i32 *at;
};

struct Launch {
  i32 grid[3], block[3], users, user[64];
  i32 group_x, group_y, group_z, group_info, scratch_offset, flat_scratch, entry;
};

enum FaultKind : i32 {
  NO_FAULT,
  MEMORY_BOUNDS,
  LDS_BOUNDS,
  SCRATCH_BOUNDS,
  UNKNOWN,
  TOO_LONG,
  BAD_JUMP,
  TRAP,
  BAD_OPERAND,
  HANGS,
  LDS_ALIGNMENT,
  LANES_OFF,
  READ_AFTER_WRITE,
  WRITE_AFTER_WRITE,
  WRITE_AFTER_READ
};

// other: the other wave of a race.
struct Fault {
  i32 kind, wave, lane, bytes, other, instruction, group[3], unused;
  u64 address;
};

struct Outcome {
  i64 steps, race_bytes;
  Fault fault, race;
};

constexpr u64 SHARED_BASE = 1ull << 48, PRIVATE_BASE = 2ull << 48;
constexpr int VCC = 106, M0 = 124, EXEC = 126, FLAT_SCRATCH = 102;
constexpr int MOST_PENDING = 64;

struct Workgroup;

// What was issued and is not there yet.  words: of each lane, or of the wave.  touched: bytes of LDS that each lane
// reads, or writes where `stores`, at its address and, of two places, at its second one; 0 where it is no such access.
struct Pending {
  enum { NOTHING, TO_VECTOR, TO_SCALAR, TO_LDS } kind;
  int index, count;
  u64 exec;
  u32 first_mask; // of the bits of the first word that are written
  const Instruction *from;
  u32 words[4][64];
  u32 address[64];
  int touched = 0;
  bool stores = false, has_second = false;
  u32 second[64];
};

// A queue whose results come in order.
struct Queue {
  Pending at[MOST_PENDING];
  int first, count;
};

struct Wave {
  u32 s[132];
  u32 v[512][64];
  bool scc, is_done, is_at_barrier;
  int id, at;
  u64 written; // lanes that the current vector instruction writes
  u64 scratch;
  i64 steps;
  const Instruction *current;
  Workgroup *group;
  Queue vector_memory, other_memory;

  u64 exec() const {
    u64 e;
    __builtin_memcpy(&e, &s[EXEC], 8);
    return e;
  }
  void set_exec(u64 e) { __builtin_memcpy(&s[EXEC], &e, 8); }
  u64 vcc() const {
    u64 e;
    __builtin_memcpy(&e, &s[VCC], 8);
    return e;
  }
};

// Who touched a byte of LDS since the last barrier.
struct Shadow {
  i32 written, read;
  u32 readers;
  i32 writer;
};

struct Workgroup {
  u8 *lds;
  Shadow *shadow;
  i32 epoch;
  const Settings *settings;
  const Instruction *instructions;
  Outcome *outcome;
  i32 place[3];
  const Region *last; // the region that was right the last time
  void **escape;
  bool sleeps; // one of its waves waits for another workgroup
};

// Ends the run with this fault.
[[noreturn]] void fail(Wave &w, FaultKind kind, u64 address = 0, int bytes = 0, int lane = -1);

// A barrier is behind the waves: what one of them did not wait for may come to LDS after it.
void pass_barrier(Wave &w);
// All that was asked of memory comes.  queue: until so many are left.
void arrive(Wave &w, Queue &queue, int left);
void push(Wave &w, Queue &queue, Pending &one);
void jump(Wave &w, u64 address);

using Handler = void (*)(Wave &, const Instruction &);
struct Row {
  const char *name;
  Handler run;
};
