// Operands: reading and writing scalar registers and the lanes of vector ones, with what SDWA, DPP and modifiers do.
#pragma once
#include "state.h"

inline u64 special(Wave &w, int which) {
  switch (which) {
    case 1: return w.scc;
    case 2: return w.vcc() == 0;
    case 3: return w.exec() == 0;
    case 4: return SHARED_BASE;
    case 5: return SHARED_BASE | 0xffffffff;
    case 6: return PRIVATE_BASE;
    default: return PRIVATE_BASE | 0xffffffff;
  }
}
inline u32 scalar32(Wave &w, const Operand &o) {
  switch (o.kind) {
    case SCALAR: return w.s[o.index];
    case INTEGER:
    case LITERAL: return u32(o.integer);
    case FLOAT: return bit_cast<u32>(f32(o.real));
    case SPECIAL: return o.index >= 4 ? u32(special(w, o.index) >> 32) : u32(special(w, o.index));
    case VECTOR: return w.v[o.index][0];
  }
  fail(w, BAD_OPERAND);
}
inline u64 scalar64(Wave &w, const Operand &o) {
  switch (o.kind) {
    case SCALAR: return w.s[o.index] | u64(w.s[o.index + 1]) << 32;
    case INTEGER: return u64(o.integer);
    case LITERAL: return u32(o.integer);
    case FLOAT: return bit_cast<u64>(o.real);
    case SPECIAL: return special(w, o.index);
  }
  fail(w, BAD_OPERAND);
}
inline void set32(Wave &w, const Operand &o, u32 value) {
  if (o.kind != SCALAR) fail(w, BAD_OPERAND);
  w.s[o.index] = value;
}
inline void set64(Wave &w, const Operand &o, u64 value) {
  if (o.kind != SCALAR) fail(w, BAD_OPERAND);
  w.s[o.index] = u32(value);
  w.s[o.index + 1] = u32(value >> 32);
}

// DPP: the lanes of the first source take those of others; a lane without one is not written, or reads zero.
inline int dpp_source(const Instruction &i, int l) {
  constexpr int NONE = -1, KEEP = -2;
  const int row = l & ~15, p = l & 15, n = i.dpp_argument;
  switch (i.dpp) {
    case 1: return (l & ~3) | (n >> (2 * (l & 3)) & 3); // quad_perm
    case 2: return p + n < 16 ? l + n : NONE;           // row_shl
    case 3: return p >= n ? l - n : NONE;               // row_shr
    case 4: return row | ((p - n) & 15);                // row_ror
    case 5: return l + 1 < 64 ? l + 1 : NONE;           // wave_shl
    case 6: return (l + 1) & 63;                        // wave_rol
    case 7: return l - 1;                               // wave_shr
    case 8: return (l - 1) & 63;                        // wave_ror
    case 9: return row | (15 - p);                      // row_mirror
    case 10: return (l & ~7) | (7 - (l & 7));           // row_half_mirror
    case 11: return l >= 16 ? row - 1 : KEEP;           // row_bcast:15
    case 12: return l >= 32 ? 31 : KEEP;                // row_bcast:31
    default: return row | n;                            // row_newbcast
  }
}
inline void turn(Wave &w, const Instruction &i, u32 *lanes) {
  u32 before[64];
  __builtin_memcpy(before, lanes, sizeof before);
  const u64 exec = w.exec();
  FOR_LANES {
    const int source = dpp_source(i, l);
    const bool is_there = source >= 0 && (exec >> source & 1);
    if (is_there) lanes[l] = before[source];
    else if (i.bound_ctrl && source != -2) lanes[l] = 0;
    else w.written &= ~(1ull << l);
    if (!(i.row_mask >> (l >> 4) & 1) || !(i.bank_mask >> ((l & 15) >> 2) & 1)) w.written &= ~(1ull << l);
  }
}

// The lanes of an operand, as 32 bits each.
inline void lanes32(Wave &w, const Instruction &i, int k, u32 *out) {
  const Operand &o = i.o[k];
  if (o.kind == VECTOR) __builtin_memcpy(out, w.v[o.index], 256);
  else {
    const u32 x = scalar32(w, o);
    FOR_LANES out[l] = x;
  }
  if (i.dpp && k == i.first) turn(w, i, out);
  if (!i.sdwa || o.select == 6) return;
  FOR_LANES {
    const u32 x = o.select < 4 ? out[l] >> (8 * o.select) & 0xff : out[l] >> (16 * (o.select - 4)) & 0xffff;
    out[l] = !o.is_signed ? x : o.select < 4 ? u32(i32(i8(x))) : u32(i32(i16(x)));
  }
}

inline u64 constant64(Wave &w, const Operand &o, bool is_real) {
  return is_real && o.kind == LITERAL ? u64(u32(o.integer)) << 32 : scalar64(w, o);
}

// The lanes of an operand as T, which says its width.
template <class T> inline void fetch(Wave &w, const Instruction &i, int k, T *out) {
  const Operand &o = i.o[k];
  if constexpr (sizeof(T) == 4) {
    u32 r[64];
    lanes32(w, i, k, r);
    const u32 keep = o.absolute ? 0x7fffffff : ~0u, change = o.negative ? 0x80000000 : 0;
    FOR_LANES r[l] = (r[l] & keep) ^ change;
    __builtin_memcpy(out, r, 256);
  } else if constexpr (sizeof(T) == 2) {
    u32 r[64];
    if (o.kind == FLOAT) {
      const u32 h = half_bits(o.real);
      FOR_LANES r[l] = h;
    } else lanes32(w, i, k, r);
    const int shift = !i.sdwa && (i.op_sel >> (k - i.first) & 1) ? 16 : 0;
    const u32 keep = o.absolute ? 0x7fff : 0xffff, change = o.negative ? 0x8000 : 0;
    FOR_LANES out[l] = bit_cast<T>(u16((r[l] >> shift & keep) ^ change));
  } else {
    u64 r[64];
    if (o.kind == VECTOR) {
      u32 low[64], high[64];
      __builtin_memcpy(low, w.v[o.index], 256);
      __builtin_memcpy(high, w.v[o.index + 1], 256);
      if (i.dpp && k == i.first) {
        turn(w, i, low);
        turn(w, i, high);
      }
      FOR_LANES r[l] = low[l] | u64(high[l]) << 32;
    } else {
      const u64 x = constant64(w, o, same<T, f64>);
      FOR_LANES r[l] = x;
    }
    const u64 keep = o.absolute ? ~0ull >> 1 : ~0ull, change = o.negative ? 1ull << 63 : 0;
    FOR_LANES r[l] = (r[l] & keep) ^ change;
    __builtin_memcpy(out, r, 512);
  }
}

// omod and clamp of a result that is a float.
template <class T> inline T modified(const Instruction &i, T x) {
  if (i.omod) x = T(x * T(i.omod == 1 ? 2.f : i.omod == 2 ? 4.f : 0.5f));
  if (i.clamp) x = !(x > T(0.f)) ? T(0.f) : x > T(1.f) ? T(1.f) : x;
  return x;
}

inline u32 sdwa_result(const Instruction &i, u32 old, u32 x) {
  const int shift = i.dst_sel < 4 ? 8 * i.dst_sel : 16 * (i.dst_sel - 4), width = i.dst_sel < 4 ? 8 : 16;
  const u32 mask = ((1u << width) - 1) << shift, value = x << shift & mask;
  if (i.dst_unused == 2) return value | (old & ~mask);
  const bool extends = i.dst_unused == 1 && (value >> (shift + width - 1) & 1) && shift + width < 32;
  return extends ? value | ~0u << (shift + width) : value;
}
inline void put32(Wave &w, const Instruction &i, int k, const u32 *r) {
  const Operand &o = i.o[k];
  if (o.kind != VECTOR) fail(w, BAD_OPERAND);
  u32 *to = w.v[o.index];
  const u64 mask = w.written;
  const bool is_part = i.sdwa && i.dst_sel != 6;
  if (mask == ~0ull && !is_part) {
    __builtin_memcpy(to, r, 256);
    return;
  }
  FOR_LANES
  if (mask >> l & 1) to[l] = is_part ? sdwa_result(i, to[l], r[l]) : r[l];
}
inline void put64(Wave &w, const Instruction &i, int k, const u64 *r) {
  const Operand &o = i.o[k];
  if (o.kind != VECTOR) fail(w, BAD_OPERAND);
  FOR_LANES
  if (w.written >> l & 1) {
    w.v[o.index][l] = u32(r[l]);
    w.v[o.index + 1][l] = u32(r[l] >> 32);
  }
}

// The lanes of a result.  keeps: the high half of a register whose low half is written stays.
template <class T> inline void put(Wave &w, const Instruction &i, int k, const T *given, bool keeps = false) {
  T r[64];
  constexpr bool is_real = same<T, f32> || same<T, f64> || same<T, f16>;
  if constexpr (is_real) {
    if (i.omod || i.clamp) FOR_LANES r[l] = modified<T>(i, given[l]);
    else __builtin_memcpy(r, given, sizeof r);
  } else __builtin_memcpy(r, given, sizeof r);
  if constexpr (sizeof(T) == 4) put32(w, i, k, reinterpret_cast<const u32 *>(r));
  else if constexpr (sizeof(T) == 8) put64(w, i, k, reinterpret_cast<const u64 *>(r));
  else {
    u32 q[64];
    const u32 *old = w.v[i.o[k].index];
    FOR_LANES {
      const u32 h = bit_cast<u16>(r[l]);
      if (!i.sdwa && (i.op_sel >> 3 & 1)) q[l] = h << 16 | (old[l] & 0xffff);
      else q[l] = keeps && !i.sdwa ? h | (old[l] & 0xffff0000) : h;
    }
    put32(w, i, k, q);
  }
}

template <class D, class A, class F> inline void unary(Wave &w, const Instruction &i, F f) {
  w.written = w.exec();
  A a[64];
  D d[64];
  fetch<A>(w, i, 1, a);
  FOR_LANES d[l] = f(a[l]);
  put<D>(w, i, 0, d);
}
template <class D, class A, class B, class F> inline void binary(Wave &w, const Instruction &i, F f) {
  w.written = w.exec();
  A a[64];
  B b[64];
  D d[64];
  fetch<A>(w, i, 1, a);
  fetch<B>(w, i, 2, b);
  FOR_LANES d[l] = f(a[l], b[l]);
  put<D>(w, i, 0, d);
}
template <class D, class A, class B, class C, class F>
inline void ternary(Wave &w, const Instruction &i, F f, bool keeps = false) {
  w.written = w.exec();
  A a[64];
  B b[64];
  C c[64];
  D d[64];
  fetch<A>(w, i, 1, a);
  fetch<B>(w, i, 2, b);
  fetch<C>(w, i, 3, c);
  FOR_LANES d[l] = f(a[l], b[l], c[l]);
  put<D>(w, i, 0, d, keeps);
}
// The result is the third source, too.
template <class D, class A, class B, class F> inline void adding(Wave &w, const Instruction &i, F f) {
  w.written = w.exec();
  A a[64];
  B b[64];
  D c[64], d[64];
  fetch<A>(w, i, 1, a);
  fetch<B>(w, i, 2, b);
  const int at = i.o[0].index;
  FOR_LANES {
    if constexpr (sizeof(D) == 8) c[l] = bit_cast<D>(w.v[at][l] | u64(w.v[at + 1][l]) << 32);
    else if constexpr (sizeof(D) == 4) c[l] = bit_cast<D>(w.v[at][l]);
    else c[l] = bit_cast<D>(u16(w.v[at][l]));
  }
  FOR_LANES d[l] = f(a[l], b[l], c[l]);
  put<D>(w, i, 0, d);
}

// Rows: a name, and what it does as statements over `w` and `i`, or as an expression over its sources a, b and c.
#define DO(name, ...)                                                                                                  \
  Row {                                                                                                                \
    name, [](Wave &w, const Instruction &i) {                                                                          \
      (void)w, (void)i;                                                                                                \
      __VA_ARGS__                                                                                                      \
    }                                                                                                                  \
  }
#define V1(name, D, A, ...)                                                                                            \
  Row {                                                                                                                \
    name, [](Wave &w, const Instruction &i) { unary<D, A>(w, i, [](A a) -> D { return (D)(__VA_ARGS__); }); }          \
  }
#define V2(name, D, A, B, ...)                                                                                         \
  Row {                                                                                                                \
    name, [](Wave &w, const Instruction &i) { binary<D, A, B>(w, i, [](A a, B b) -> D { return (D)(__VA_ARGS__); }); } \
  }
#define V3(name, D, A, B, C, ...)                                                                                      \
  Row {                                                                                                                \
    name, [](Wave &w, const Instruction &i) {                                                                          \
      ternary<D, A, B, C>(w, i, [](A a, B b, C c) -> D { return (D)(__VA_ARGS__); });                                  \
    }                                                                                                                  \
  }
#define V3_KEEPS(name, D, A, B, C, ...)                                                                                \
  Row {                                                                                                                \
    name, [](Wave &w, const Instruction &i) {                                                                          \
      ternary<D, A, B, C>(w, i, [](A a, B b, C c) -> D { return (D)(__VA_ARGS__); }, true);                            \
    }                                                                                                                  \
  }
#define V_ADDS(name, D, A, B, ...)                                                                                     \
  Row {                                                                                                                \
    name, [](Wave &w, const Instruction &i) {                                                                          \
      adding<D, A, B>(w, i, [](A a, B b, D c) -> D { return (D)(__VA_ARGS__); });                                      \
    }                                                                                                                  \
  }
