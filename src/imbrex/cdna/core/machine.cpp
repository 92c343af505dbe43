// The machine: workgroups one after another, their waves in turn between barriers.
//
// A wave that sleeps waits for another workgroup: the next one begins, and those that sleep go on in turn.
#include "state.h"

extern const Row SCALARS[], CONTROL[], CONVERT[], LANES[], FLOATS[], INTEGERS[], DIVIDE[], COMPARE[], PACKED[],
    MEMORY[], LDS[], MATRIX[];
static const Row *const TABLES[] = {SCALARS, CONTROL, CONVERT, LANES,  FLOATS, INTEGERS,
                                    DIVIDE,  COMPARE, PACKED,  MEMORY, LDS,    MATRIX};
constexpr int MOST_ROWS = 2048, MOST_SEATS = 64;
constexpr int PATIENCE = 1000; // looks of all that sleep, of which none gets on
static Handler HANDLERS[MOST_ROWS];

[[noreturn]] void fail(Wave &w, FaultKind kind, u64 address, int bytes, int lane) {
  Workgroup &group = *w.group;
  const int *place = group.place;
  const i32 at = w.current ? i32(w.current - group.instructions) : -1;
  group.outcome->fault = {kind, w.id, lane, bytes, 0, at, {place[0], place[1], place[2]}, 0, address};
  __builtin_longjmp(group.escape, 1);
}
void jump(Wave &w, u64 address) {
  const Settings &settings = *w.group->settings;
  const i64 word = (i64(address - settings.code_base) - settings.code_low) / 4;
  if (word < 0 || word >= settings.code_words || settings.at[word] < 0) fail(w, BAD_JUMP, address);
  w.at = settings.at[word];
}

// What nobody wrote shows: registers are NaNs, and pointers to nowhere.
// seat: the place among those that are under way at a time.
static void start(Wave &w, const Launch &launch, const Settings &settings, int items, int seat) {
  for (u32 &s : w.s) s = 0xdeadbeef;
  for (auto &lanes : w.v) FOR_LANES lanes[l] = 0x7fc0dead;
  for (int k = 0; k < launch.users; ++k) w.s[k] = launch.user[k];
  const int *place = w.group->place;
  if (launch.group_x >= 0) w.s[launch.group_x] = place[0];
  if (launch.group_y >= 0) w.s[launch.group_y] = place[1];
  if (launch.group_z >= 0) w.s[launch.group_z] = place[2];
  if (launch.group_info >= 0) w.s[launch.group_info] = 0;
  if (launch.scratch_offset >= 0) w.s[launch.scratch_offset] = 0;
  const u32 aperture = u32(PRIVATE_BASE >> 32);
  if (launch.flat_scratch >= 0) w.s[launch.flat_scratch] = 0, w.s[launch.flat_scratch + 1] = aperture;
  w.s[VCC] = w.s[VCC + 1] = 0, w.s[M0] = 0xffffffff, w.s[FLAT_SCRATCH] = 0, w.s[FLAT_SCRATCH + 1] = aperture;
  const int rest = items - w.id * 64;
  w.set_exec(rest >= 64 ? ~0ull : (1ull << rest) - 1);
  FOR_LANES {
    const u32 item = w.id * 64 + l, x = item % launch.block[0], y = item / launch.block[0] % launch.block[1];
    w.v[0][l] = x | y << 10 | item / (launch.block[0] * launch.block[1]) << 20;
  }
  const u64 before = u64(seat) * ((items + 63) / 64) + w.id;
  w.scratch = settings.scratch + before * 64 * settings.scratch_bytes;
  w.scc = w.is_done = w.is_at_barrier = false;
  w.at = launch.entry, w.steps = 0, w.current = nullptr;
  w.vector_memory.first = w.vector_memory.count = w.other_memory.first = w.other_memory.count = 0;
}

static u64 random(u64 &seed) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return seed;
}
static void step(Wave &w, int count, Outcome &outcome) {
  const Settings &settings = *w.group->settings;
  if (w.at < 0 || w.at >= count) fail(w, BAD_JUMP);
  const Instruction &i = w.group->instructions[w.at++];
  w.current = &i;
  if (i.row < 0) fail(w, UNKNOWN);
  HANDLERS[i.row](w, i);
  ++w.steps;
  if (++outcome.steps > settings.most_steps) fail(w, TOO_LONG);
}
// Until all are done, which it says, or one sleeps: each runs to a barrier, or for a while where their order is a
// random one.
static bool run_group(Wave *waves, int count, int instructions, u64 &seed, Outcome &outcome) {
  Workgroup &group = *waves[0].group;
  group.sleeps = false;
  int order[16];
  for (int k = 0; k < count; ++k) order[k] = k;
  for (;;) {
    if (seed)
      for (int k = count - 1; k > 0; --k) swap(order[k], order[random(seed) % u64(k + 1)]);
    bool runs = false, waits = false;
    for (int k = 0; k < count; ++k) {
      Wave &w = waves[order[k]];
      i64 slice = seed ? 1 + i64(random(seed) % 64) : 1ll << 62;
      while (!w.is_done && !w.is_at_barrier && slice-- > 0 && !group.sleeps) step(w, instructions, outcome), runs = true;
      if (group.sleeps) return false;
      waits = waits || (!w.is_done && w.is_at_barrier);
    }
    if (runs) continue;
    if (!waits) return true;
    ++group.epoch;
    for (int k = 0; k < count; ++k) waves[k].is_at_barrier = false, pass_barrier(waves[k]);
  }
}

#define EXPORTED extern "C" __attribute__((visibility("default")))
// Its number, -1 where nobody knows what it does.
EXPORTED int imbrex_cdna_row(const char *name) {
  int number = 0;
  for (const Row *table : TABLES)
    for (const Row *row = table; row->name; ++row, ++number) {
      HANDLERS[number] = row->run;
      if (__builtin_strcmp(row->name, name) == 0) return number;
    }
  return -1;
}
// Of the structs that the host writes, and of the state: the host holds them to its own.
EXPORTED i64 imbrex_cdna_bytes(int which, i64 waves, i64 lds_bytes) {
  switch (which) {
    case 0: return sizeof(Operand);
    case 1: return sizeof(Instruction);
    case 2: return sizeof(Settings);
    case 3: return sizeof(Launch);
    case 4: return sizeof(Outcome);
    default: return (i64(sizeof(Wave)) * waves + i64(sizeof(Shadow) + 1) * lds_bytes + 127) & ~63ll;
  }
}
// Workgroups that are under way: those that sleep, and the one that runs.  A seat is a part of the caller's memory.
struct Seat {
  Workgroup group;
  Wave *waves;
  Shadow *shadow;
  bool is_taken;
};
static Seat SEATS[MOST_SEATS];

static void sit(Seat &seat, const Launch &launch, const Settings &settings, int waves, int items, i64 number) {
  Workgroup &group = seat.group;
  const i64 row = number / launch.grid[0];
  group.place[0] = i32(number % launch.grid[0]);
  group.place[1] = i32(row % launch.grid[1]), group.place[2] = i32(row / launch.grid[1]);
  group.epoch = 1, seat.is_taken = true;
  __builtin_memset(group.lds, 0xff, settings.lds_bytes);
  group.shadow = settings.finds_races ? seat.shadow : nullptr;
  if (settings.finds_races) __builtin_memset(seat.shadow, 0, sizeof(Shadow) * settings.lds_bytes);
  for (int k = 0; k < waves; ++k) {
    seat.waves[k].id = k, seat.waves[k].group = &group;
    start(seat.waves[k], launch, settings, items, int(&seat - SEATS));
  }
}
// memory: aligned, of the size that was asked for above, for each seat.
EXPORTED int imbrex_cdna_run(
    const Instruction *instructions, int count, const Launch *launch, const Settings *settings, void *memory,
    Outcome *outcome) {
  const int items = launch->block[0] * launch->block[1] * launch->block[2], waves = (items + 63) / 64;
  const i64 each = imbrex_cdna_bytes(-1, waves, settings->lds_bytes);
  static void *escape[5];
  u64 seed = settings->seed;
  for (int k = 0; k < settings->seats; ++k) {
    Seat &seat = SEATS[k];
    seat.waves = reinterpret_cast<Wave *>(static_cast<u8 *>(memory) + k * each);
    seat.shadow = reinterpret_cast<Shadow *>(seat.waves + waves), seat.is_taken = false;
    Workgroup &group = seat.group;
    group.lds = reinterpret_cast<u8 *>(seat.shadow + settings->lds_bytes), group.escape = escape;
    group.settings = settings, group.instructions = instructions, group.outcome = outcome, group.last = nullptr;
  }
  if (__builtin_setjmp(escape)) return 1;
  const i64 all = i64(launch->grid[0]) * launch->grid[1] * launch->grid[2];
  i64 begun = 0;
  for (int looks = 0;;) {
    Seat *free = nullptr, *last = nullptr;
    bool gets_on = false;
    for (int k = 0; k < settings->seats; ++k) {
      Seat &seat = SEATS[k];
      if (seat.is_taken && run_group(seat.waves, waves, count, seed, *outcome)) seat.is_taken = false, gets_on = true;
      if (seat.is_taken) last = &seat;
      else if (!free) free = &seat;
    }
    if (free && begun < all) {
      sit(*free, *launch, *settings, waves, items, begun++);
      free->is_taken = !run_group(free->waves, waves, count, seed, *outcome), gets_on = true;
    } else if (!last) return 0;
    looks = gets_on ? 0 : looks + 1;
    if (looks == PATIENCE) fail(last->waves[0], HANGS);
  }
}
