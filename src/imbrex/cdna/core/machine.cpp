// The machine: workgroups one after another, their waves in turn between barriers.
#include "state.h"

extern const Row SCALARS[], CONTROL[], CONVERT[], LANES[], FLOATS[], INTEGERS[], DIVIDE[], COMPARE[], PACKED[],
    MEMORY[], LDS[], MATRIX[];
static const Row *const TABLES[] = {SCALARS, CONTROL, CONVERT, LANES,  FLOATS, INTEGERS,
                                    DIVIDE,  COMPARE, PACKED,  MEMORY, LDS,    MATRIX};
constexpr int MOST_ROWS = 2048;
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
static void start(Wave &w, const Launch &launch, const Settings &settings, int items) {
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
  w.scratch = settings.scratch + u64(w.id) * 64 * settings.scratch_bytes;
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
// Until all are done: each runs to a barrier, or for a while where their order is a random one.
static void run_group(Wave *waves, int count, int instructions, u64 &seed, Outcome &outcome) {
  Workgroup &group = *waves[0].group;
  int order[16];
  for (int k = 0; k < count; ++k) order[k] = k;
  for (;;) {
    if (seed)
      for (int k = count - 1; k > 0; --k) swap(order[k], order[random(seed) % u64(k + 1)]);
    bool runs = false, waits = false;
    for (int k = 0; k < count; ++k) {
      Wave &w = waves[order[k]];
      i64 slice = seed ? 1 + i64(random(seed) % 64) : 1ll << 62;
      while (!w.is_done && !w.is_at_barrier && slice-- > 0) step(w, instructions, outcome), runs = true;
      waits = waits || (!w.is_done && w.is_at_barrier);
    }
    if (runs) continue;
    if (!waits) return;
    ++group.epoch;
    for (int k = 0; k < count; ++k) waves[k].is_at_barrier = false;
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
    default: return i64(sizeof(Wave)) * waves + i64(sizeof(Shadow) + 1) * lds_bytes + 64;
  }
}
// memory: aligned, of the size that was asked for above.
EXPORTED int imbrex_cdna_run(
    const Instruction *instructions, int count, const Launch *launch, const Settings *settings, void *memory,
    Outcome *outcome) {
  const int items = launch->block[0] * launch->block[1] * launch->block[2], waves = (items + 63) / 64;
  Wave *wave = static_cast<Wave *>(memory);
  Shadow *shadow = reinterpret_cast<Shadow *>(wave + waves);
  static Workgroup group;
  group.lds = reinterpret_cast<u8 *>(shadow + settings->lds_bytes);
  group.settings = settings, group.instructions = instructions, group.outcome = outcome, group.last = nullptr;
  u64 seed = settings->seed;
  for (int k = 0; k < waves; ++k) wave[k].id = k, wave[k].group = &group;
  if (__builtin_setjmp(group.escape)) return 1;
  for (int z = 0; z < launch->grid[2]; ++z)
    for (int y = 0; y < launch->grid[1]; ++y)
      for (int x = 0; x < launch->grid[0]; ++x) {
        group.place[0] = x, group.place[1] = y, group.place[2] = z, group.epoch = 1;
        __builtin_memset(group.lds, 0xff, settings->lds_bytes);
        group.shadow = settings->finds_races ? shadow : nullptr;
        if (settings->finds_races) __builtin_memset(shadow, 0, sizeof(Shadow) * settings->lds_bytes);
        for (int k = 0; k < waves; ++k) start(wave[k], *launch, *settings, items);
        run_group(wave, waves, count, seed, *outcome);
      }
  return 0;
}
