// Bounds, races, addresses and results under way.
#include "memory.h"

void check_bounds(Wave &w, u64 address, int bytes, int lane) {
  Workgroup &group = *w.group;
  if (group.last && address >= group.last->low && address + bytes <= group.last->high) return;
  const Settings &settings = *group.settings;
  for (int k = 0; k < settings.regions; ++k)
    if (address >= settings.region[k].low && address + bytes <= settings.region[k].high) {
      group.last = &settings.region[k];
      return;
    }
  fail(w, MEMORY_BOUNDS, address, bytes, lane);
}

static void race(Wave &w, FaultKind kind, u32 address, int other) {
  Outcome &outcome = *w.group->outcome;
  if (outcome.race_bytes++) return;
  const int *place = w.group->place;
  outcome.race = {kind, w.id,   -1, 1, other, i32(w.current - w.group->instructions), {place[0], place[1], place[2]},
                  0,    address};
}

void read_lds(Wave &w, u32 address, int bytes, void *to, int lane) {
  Workgroup &group = *w.group;
  if (u64(address) + bytes > u64(group.settings->lds_bytes)) fail(w, LDS_BOUNDS, address, bytes, lane);
  __builtin_memcpy(to, group.lds + address, bytes);
  if (!group.shadow) return;
  for (int k = 0; k < bytes; ++k) {
    Shadow &s = group.shadow[address + k];
    if (s.written == group.epoch && s.writer != w.id) race(w, READ_AFTER_WRITE, address + k, s.writer);
    if (s.read != group.epoch) s.read = group.epoch, s.readers = 0;
    s.readers |= 1u << (w.id & 31);
  }
}
static void mark(Wave &w, u32 address, int bytes, bool stores) {
  Workgroup &group = *w.group;
  for (int k = 0; k < bytes; ++k) {
    Shadow &s = group.shadow[address + k];
    if (stores) {
      s.written = group.epoch, s.writer = w.id;
      continue;
    }
    if (s.read != group.epoch) s.read = group.epoch, s.readers = 0;
    s.readers |= 1u << (w.id & 31);
  }
}
void pass_barrier(Wave &w) {
  if (!w.group->shadow) return;
  const Queue &queue = w.other_memory;
  for (int k = 0; k < queue.count; ++k) {
    const Pending &p = queue.at[(queue.first + k) % MOST_PENDING];
    if (p.touched) FOR_LANES
    if (p.exec >> l & 1) {
      mark(w, p.address[l], p.touched, p.stores);
      if (p.has_second) mark(w, p.second[l], p.touched, p.stores);
    }
  }
}
void write_lds(Wave &w, u32 address, int bytes, const void *from, int lane) {
  Workgroup &group = *w.group;
  if (u64(address) + bytes > u64(group.settings->lds_bytes)) fail(w, LDS_BOUNDS, address, bytes, lane);
  __builtin_memcpy(group.lds + address, from, bytes);
  if (!group.shadow) return;
  for (int k = 0; k < bytes; ++k) {
    Shadow &s = group.shadow[address + k];
    const u32 others = s.readers & ~(1u << (w.id & 31));
    if (s.written == group.epoch && s.writer != w.id) race(w, WRITE_AFTER_WRITE, address + k, s.writer);
    if (s.read == group.epoch && others) race(w, WRITE_AFTER_READ, address + k, __builtin_ctz(others));
    s.written = group.epoch, s.writer = w.id;
  }
}

void read_lane(Wave &w, const Addresses &where, int lane, int bytes, void *to) {
  const u64 address = where.at[lane];
  if (where.space[lane] == LDS_SPACE) return read_lds(w, u32(address), bytes, to, lane);
  const int count = where.space[lane] == CUT ? least<int>(bytes, where.within[lane]) : bytes;
  if (where.space[lane] != GLOBAL_SPACE) __builtin_memset(to, 0, bytes);
  if (where.space[lane] == NOWHERE) return;
  check_bounds(w, address, count, lane);
  __builtin_memcpy(to, reinterpret_cast<void *>(address), count);
}
void write_lane(Wave &w, const Addresses &where, int lane, int bytes, const void *from) {
  const u64 address = where.at[lane];
  if (where.space[lane] == LDS_SPACE) return write_lds(w, u32(address), bytes, from, lane);
  if (where.space[lane] == NOWHERE) return;
  const int count = where.space[lane] == CUT ? least<int>(bytes, where.within[lane]) : bytes;
  check_bounds(w, address, count, lane);
  __builtin_memcpy(reinterpret_cast<void *>(address), from, count);
}

static u64 scratch(Wave &w, int lane, u64 offset, int bytes) {
  const u64 each = w.group->settings->scratch_bytes;
  if (offset + bytes > each) fail(w, SCRATCH_BOUNDS, offset, bytes, lane);
  return w.scratch + lane * each + offset;
}
void flat_addresses(Wave &w, const Instruction &i, int first, Addresses &where, int bytes) {
  const u64 exec = w.exec();
  FOR_LANES {
    if (!(exec >> l & 1)) continue;
    const u64 x = lane_value<u64>(w, i.o[first], 0, l) + i.offset;
    where.space[l] = x >> 32 == SHARED_BASE >> 32 ? LDS_SPACE : GLOBAL_SPACE;
    where.at[l] = where.space[l] ? u32(x) : x >> 32 == PRIVATE_BASE >> 32 ? scratch(w, l, u32(x), bytes) : x;
  }
}
void global_addresses(Wave &w, const Instruction &i, int first, Addresses &where) {
  const Operand &address = i.o[first], &base = i.o[first + 1];
  const u64 exec = w.exec();
  const bool has_base = base.kind == SCALAR;
  const u64 start = (has_base ? scalar64(w, base) : 0) + i.offset;
  FOR_LANES {
    if (!(exec >> l & 1)) continue;
    where.space[l] = GLOBAL_SPACE;
    where.at[l] = start + (has_base ? w.v[address.index][l] : lane_value<u64>(w, address, 0, l));
  }
}
void scratch_addresses(Wave &w, const Instruction &i, int first, Addresses &where, int bytes) {
  const Operand &address = i.o[first], &base = i.o[first + 1];
  const u64 exec = w.exec();
  FOR_LANES {
    if (!(exec >> l & 1)) continue;
    const u32 x = (address.kind == VECTOR ? w.v[address.index][l] : 0) + (base.kind == SCALAR ? scalar32(w, base) : 0) +
                  u32(i.offset);
    where.space[l] = GLOBAL_SPACE;
    where.at[l] = scratch(w, l, x, bytes);
  }
}
// Of a buffer without a stride, what is outside of it reads as zero, word by word; one that is swizzled by lanes is
// scratch.
void buffer_addresses(Wave &w, const Instruction &i, int first, Addresses &where, int bytes) {
  const Operand &address = i.o[first];
  const u32 *resource = &w.s[i.o[first + 1].index];
  const u64 base = resource[0] | u64(resource[1] & 0xffff) << 32, records = resource[2],
            from = scalar32(w, i.o[first + 2]);
  const u32 stride = resource[1] >> 16 & 0x3fff;
  const bool is_swizzled = resource[1] >> 31, adds_lane = resource[3] >> 23 & 1;
  const bool has_offset = i.flags & OFFEN, has_index = i.flags & IDXEN;
  if (is_swizzled && !adds_lane) fail(w, BAD_OPERAND);
  const u64 exec = w.exec();
  FOR_LANES {
    if (!(exec >> l & 1)) continue;
    const u64 index = (has_index ? w.v[address.index][l] : 0) + (adds_lane && !is_swizzled ? l : 0);
    const u64 offset = (has_offset ? w.v[address.index + has_index][l] : 0) + u64(u32(i.offset));
    if (is_swizzled) {
      where.space[l] = GLOBAL_SPACE, where.at[l] = scratch(w, l, u32(offset + from), bytes);
      continue;
    }
    const bool is_raw = stride == 0 || !has_index;
    const bool is_outside = is_raw ? offset + from + bytes > records : index >= records || offset + bytes > stride;
    const bool is_cut = is_outside && is_raw && offset + from + 4 <= records;
    where.at[l] = base + from + offset + index * stride;
    where.space[l] = is_cut ? CUT : is_outside ? NOWHERE : GLOBAL_SPACE;
    where.within[l] = is_cut ? u8(least<u64>((records - offset - from) & ~3ull, 16)) : 0;
  }
}

static void commit(Wave &w, Pending &p) {
  const Instruction *now = w.current;
  w.current = p.from;
  if (p.kind == Pending::TO_VECTOR)
    for (int k = 0; k < p.count; ++k) {
      const u32 mask = k ? ~0u : p.first_mask;
      u32 *to = w.v[p.index + k];
      FOR_LANES
      if (p.exec >> l & 1) to[l] = (to[l] & ~mask) | (p.words[k][l] & mask);
    }
  else if (p.kind == Pending::TO_SCALAR)
    for (int k = 0; k < p.count; ++k) w.s[p.index + k] = p.words[0][k];
  else if (p.kind == Pending::TO_LDS) FOR_LANES
  if (p.exec >> l & 1) {
    u32 words[4];
    for (int k = 0; k < 4; ++k) words[k] = p.words[k][l];
    write_lds(w, p.address[l], p.count, words, l);
  }
  w.current = now;
}
void arrive(Wave &w, Queue &queue, int left) {
  while (queue.count > left) {
    Pending &oldest = queue.at[queue.first];
    queue.first = (queue.first + 1) % MOST_PENDING;
    --queue.count;
    commit(w, oldest);
  }
}
// The machine counts no further than this, and waits.
void push(Wave &w, Queue &queue, Pending &one) {
  if (!w.group->settings->is_deferred) return commit(w, one);
  if (queue.count == MOST_PENDING) arrive(w, queue, MOST_PENDING - 1);
  queue.at[(queue.first + queue.count++) % MOST_PENDING] = one;
}
