// Matrix instructions: D = A * B + C over the registers of a whole wave, dense and sparse.
//
// Where an element lies follows AMD's matrix instruction calculator and the examples of the CDNA3 ISA, chapter "Matrix
// Arithmetic Instructions"; those of gfx950 alone follow public kernels for it.  Sums: of f32 and f64 in the order of
// k, each step fused; of narrower types in f64, rounded once.  Hardware's order is not documented.
#include "operand.h"

enum Type : i32 { F32, F16, BF16, I8, F64, XF32, FP8, BF8, FP6, BF6, FP4, I32 };

static int bits_of(i32 type) {
  switch (type) {
    case F64: return 64;
    case F16:
    case BF16: return 16;
    case FP6:
    case BF6: return 6;
    case FP4: return 4;
    case I8:
    case FP8:
    case BF8: return 8;
    default: return 32;
  }
}
static f32 flushed(f32 x, f32 smallest, bool flushes) {
  return flushes && __builtin_fabsf(x) < smallest ? __builtin_copysignf(0.f, x) : x;
}

// Element `which` of those that a lane holds from this register on.
static f64 element(Wave &w, int first, int lane, int which, i32 type, bool flushes) {
  if (type == F64) return bit_cast<f64>(w.v[first + 2 * which][lane] | u64(w.v[first + 2 * which + 1][lane]) << 32);
  const int width = bits_of(type), at = which * width;
  u32 bits = w.v[first + at / 32][lane] >> at % 32;
  if (at % 32 + width > 32) bits |= w.v[first + at / 32 + 1][lane] << (32 - at % 32);
  const bool is_fnuz = w.group->settings->chip == 1;
  switch (type) {
    case F32: return bit_cast<f32>(bits);
    case XF32: return bit_cast<f32>(bits & ~0x1fffu);
    case F16: return flushed(half_value(u16(bits)), 0x1p-14f, flushes);
    case BF16: return flushed(bf16_value(u16(bits)), 0x1p-126f, flushes);
    case I8: return i8(bits);
    case FP8: return narrow_value(u8(bits), 4, 3, is_fnuz);
    case BF8: return narrow_value(u8(bits), 5, 2, is_fnuz);
    case FP6: return six_bits_value(bits & 63, false);
    case BF6: return six_bits_value(bits & 63, true);
    default: return four_bits_value(bits & 15);
  }
}

struct Place {
  int lane, which;
};
// Of A[x][k] or B[k][x] in one of `blocks` matrices of `rows` rows.
static Place place_of_operand(int rows, int depth, int blocks, int x, int k, int block, int width) {
  const int groups = 64 / (rows * blocks), each = depth / groups;
  if (each > 16 && width >= 8) {
    const int chunk = k / 16;
    return {x + rows * (block + blocks * (chunk % groups)), chunk / groups * 16 + k % 16};
  }
  return {x + rows * (block + blocks * (k / each)), k % each};
}
// Of C[x][y]: `which` counts registers.
static Place place_of_result(int m, int n, int blocks, int x, int y, int block, bool is_f64) {
  if (is_f64) {
    if (blocks > 1) return {y + n * (block + blocks * x), 0};
    const int rows = 64 / n;
    return {y + n * (x % rows), 2 * (x / rows)};
  }
  if (m == 4) return {y + 4 * block, x % 4};
  const int rows = 64 / n;
  return {y + n * (x / 4 % rows), block * (m * n / 64) + x / (4 * rows) * 4 + x % 4};
}

constexpr int MOST = 32 * 128;

struct Product {
  f64 a[MOST], b[MOST]; // a[m][k], b[k][n]
  u32 out[32][64];
};

// BLGP of B: which lanes stand in for which.
static int turned(int lane, int how) {
  switch (how) {
    case 1: return lane % 32;
    case 2: return lane % 32 + 32;
    case 3: return (lane + 16) & 63;
    case 4: return lane % 16;
    case 5: return lane % 16 + 16;
    case 6: return lane % 16 + 32;
    case 7: return lane % 16 + 48;
    default: return lane;
  }
}
static void gather(Wave &w, const Instruction &i, Product &p, int block, int blocks, bool flushes) {
  const bool is_narrow = i.flags & IS_NARROW, is_f64 = i.c_type == F64;
  const int spread = is_narrow ? 0 : i.cbsz, how = is_narrow || is_f64 ? 0 : i.blgp;
  const f64 a_sign = is_f64 && i.blgp & 1 ? -1 : 1, b_sign = is_f64 && i.blgp & 2 ? -1 : 1;
  const int a_block = spread ? (block >> spread << spread) | (i.abid & ((1 << spread) - 1)) : block;
  const int a_width = bits_of(i.a_type), b_width = bits_of(i.b_type);
  for (int x = 0; x < i.m; ++x)
    for (int k = 0; k < i.k; ++k) {
      const Place at = place_of_operand(i.m, i.k, blocks, x, k, a_block, a_width);
      p.a[x * i.k + k] = a_sign * element(w, i.o[1].index, at.lane, at.which, i.a_type, flushes);
    }
  for (int y = 0; y < i.n; ++y)
    for (int k = 0; k < i.k; ++k) {
      const Place at = place_of_operand(i.n, i.k, blocks, y, k, block, b_width);
      p.b[k * i.n + y] = b_sign * element(w, i.o[2].index, turned(at.lane, how), at.which, i.b_type, flushes);
    }
}
// Of 32 neighbours along k each: a power of two, whose byte op_sel chooses.
static void scale(Wave &w, const Instruction &i, Product &p) {
  const auto factor = [&](const Operand &o, int lane, int byte) -> f64 {
    const u32 e = (o.kind == VECTOR ? w.v[o.index][lane] : scalar32(w, o)) >> (8 * byte) & 0xff;
    return e == 255 ? f64(NaN) : __builtin_ldexp(1.0, int(e) - 127);
  };
  const int a_byte = (i.op_sel & 1) | (i.op_sel_hi & 1) << 1, b_byte = (i.op_sel >> 1 & 1) | (i.op_sel_hi >> 1 & 1)
                                                                                                 << 1;
  for (int k = 0; k < i.k; ++k) {
    for (int x = 0; x < i.m; ++x) p.a[x * i.k + k] *= factor(i.o[4], x + i.m * (k / 32), a_byte);
    for (int y = 0; y < i.n; ++y) p.b[k * i.n + y] *= factor(i.o[5], y + i.n * (k / 32), b_byte);
  }
}
static f64 addend(Wave &w, const Instruction &i, Place at) {
  const Operand &c = i.o[3];
  if (i.c_type == F64) {
    const f64 sign = i.blgp & 4 ? -1 : 1;
    if (c.kind == VECTOR)
      return sign * bit_cast<f64>(w.v[c.index + at.which][at.lane] | u64(w.v[c.index + at.which + 1][at.lane]) << 32);
    return sign * bit_cast<f64>(scalar64(w, c));
  }
  const u32 bits = c.kind == VECTOR ? w.v[c.index + at.which][at.lane] : scalar32(w, c);
  return i.c_type == I32 ? f64(i32(bits)) : f64(bit_cast<f32>(bits));
}
static void finish(const Instruction &i, Product &p, Place at, f64 sum, bool flushes) {
  if (i.c_type == F64) {
    p.out[at.which][at.lane] = u32(bit_cast<u64>(sum));
    p.out[at.which + 1][at.lane] = u32(bit_cast<u64>(sum) >> 32);
  } else if (i.c_type == I32) {
    const i64 whole = i64(sum);
    p.out[at.which][at.lane] = u32(i.clamp ? most<i64>(-2147483648ll, least<i64>(2147483647ll, whole)) : whole);
  } else {
    const bool is_half = i.a_type == F16 || i.a_type == BF16;
    p.out[at.which][at.lane] = bit_cast<u32>(flushed(f32(sum), 0x1p-126f, flushes && is_half));
  }
}
static void add_row(Wave &w, const Instruction &i, Product &p, int x, int block, int blocks, bool flushes) {
  const bool is_f64 = i.c_type == F64;
  f64 c[32], sum[32] = {};
  for (int y = 0; y < i.n; ++y) c[y] = addend(w, i, place_of_result(i.m, i.n, blocks, x, y, block, is_f64));
  const f64 *a = p.a + x * i.k;
  if (is_f64 || i.a_type == F32) {
    for (int y = 0; y < i.n; ++y) sum[y] = c[y];
    for (int k = 0; k < i.k; ++k)
      for (int y = 0; y < i.n; ++y) {
        const f64 b = p.b[k * i.n + y];
        sum[y] = is_f64 ? __builtin_fma(a[k], b, sum[y]) : f64(__builtin_fmaf(f32(a[k]), f32(b), f32(sum[y])));
      }
  } else {
    for (int k = 0; k < i.k; ++k)
      for (int y = 0; y < i.n; ++y) sum[y] += a[k] * p.b[k * i.n + y];
    for (int y = 0; y < i.n; ++y) sum[y] += c[y];
  }
  for (int y = 0; y < i.n; ++y) finish(i, p, place_of_result(i.m, i.n, blocks, x, y, block, is_f64), sum[y], flushes);
}
static void store(Wave &w, const Instruction &i, const Product &p) {
  for (int r = 0; r < i.o[0].count; ++r) __builtin_memcpy(w.v[i.o[0].index + r], p.out[r], sizeof p.out[r]);
}

// EXEC does not count.
static void dense(Wave &w, const Instruction &i) {
  if (i.o[0].kind != VECTOR || i.o[1].kind != VECTOR || i.o[2].kind != VECTOR) fail(w, BAD_OPERAND);
  static Product p;
  const int blocks = i.o[0].count * 64 / (i.c_type == F64 ? 2 : 1) / (i.m * i.n);
  const bool flushes = w.group->settings->flushes;
  for (int block = 0; block < blocks; ++block) {
    gather(w, i, p, block, blocks, flushes);
    if (i.flags & IS_SCALED) scale(w, i, p);
    for (int x = 0; x < i.m; ++x) add_row(w, i, p, x, block, blocks, flushes);
  }
  store(w, i, p);
}

// A holds two of each four neighbours along k, and says in a register which.
static void sparse(Wave &w, const Instruction &i) {
  static Product p;
  const int groups = 64 / i.m, each = i.k / 2 / groups, index_bits = 2 * each;
  for (int k = 0; k < i.m * i.k; ++k) p.a[k] = 0;
  for (int x = 0; x < i.m; ++x)
    for (int group = 0; group < groups; ++group) {
      const int lane = x + i.m * group;
      u32 which = w.v[i.o[3].index][lane];
      if (i.cbsz == 0 && index_bits < 32) which >>= i.abid * index_bits & 31;
      for (int e = 0; e < each; ++e) {
        const int k = group * (i.k / groups) + e / 2 * 4 + int(which >> (2 * e) & 3);
        p.a[x * i.k + k] += element(w, i.o[1].index, lane, e, i.a_type, false);
      }
    }
  for (int y = 0; y < i.n; ++y)
    for (int k = 0; k < i.k; ++k) {
      const int held = i.k / groups;
      p.b[k * i.n + y] = element(w, i.o[2].index, y + i.n * (k / held), k % held, i.b_type, false);
    }
  for (int x = 0; x < i.m; ++x)
    for (int y = 0; y < i.n; ++y) {
      const Place at = place_of_result(i.m, i.n, 1, x, y, 0, false);
      const u32 before = w.v[i.o[0].index + at.which][at.lane];
      f64 sum = 0;
      for (int k = 0; k < i.k; ++k) sum += p.a[x * i.k + k] * p.b[k * i.n + y];
      sum += i.c_type == I32 ? f64(i32(before)) : f64(bit_cast<f32>(before));
      finish(i, p, at, sum, false);
    }
  store(w, i, p);
}

extern const Row MATRIX[];
const Row MATRIX[] = {{"v_mfma", dense}, {"v_smfmac", sparse}, {nullptr, nullptr}};
