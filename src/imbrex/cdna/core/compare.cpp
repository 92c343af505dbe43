// Comparisons: a bit for each lane, and into EXEC where the name says x.
#include "operand.h"

template <class T, bool X, class F> void compared(Wave &w, const Instruction &i, F f) {
  w.written = w.exec();
  T a[64], b[64];
  fetch<T>(w, i, 1, a), fetch<T>(w, i, 2, b);
  u64 r = 0;
  FOR_LANES r |= u64(f(a[l], b[l])) << l;
  r &= w.exec();
  set64(w, i.o[0], r);
  if (X) w.set_exec(r);
}
template <class T> u32 class_of(T x) {
  const bool sign = sign_of(f64(x));
  const f64 smallest = sizeof(T) == 4 ? 0x1p-126 : sizeof(T) == 8 ? 0x1p-1022 : 0x1p-14;
  if (is_nan(f64(x))) {
    if constexpr (sizeof(T) == 8) return bit_cast<u64>(x) >> 51 & 1 ? 2 : 1;
    else if constexpr (sizeof(T) == 4) return bit_cast<u32>(x) >> 22 & 1 ? 2 : 1;
    else return bit_cast<u16>(x) >> 9 & 1 ? 2 : 1;
  }
  if (is_inf(f64(x))) return sign ? 4 : 512;
  if (f64(x) == 0) return sign ? 32 : 64;
  return __builtin_fabs(f64(x)) < smallest ? (sign ? 16 : 128) : sign ? 8 : 256;
}
template <class T, bool X> void classified(Wave &w, const Instruction &i) {
  w.written = w.exec();
  T a[64];
  u32 b[64];
  fetch<T>(w, i, 1, a), lanes32(w, i, 2, b);
  u64 r = 0;
  FOR_LANES r |= u64((class_of<T>(a[l]) & b[l]) != 0) << l;
  r &= w.exec();
  set64(w, i.o[0], r);
  if (X) w.set_exec(r);
}

#define ONE(name, T, X, ...)                                                                                           \
  Row {                                                                                                                \
    name, [](Wave &w, const Instruction &i) {                                                                          \
      compared<T, X>(w, i, [](T a, T b) -> bool { return (void)a, (void)b, (__VA_ARGS__); });                          \
    }                                                                                                                  \
  }
#define BOTH(relation, type, T, ...)                                                                                   \
  ONE("v_cmp_" relation "_" type, T, false, __VA_ARGS__), ONE("v_cmpx_" relation "_" type, T, true, __VA_ARGS__)
#define INTEGER_ROWS(T)                                                                                                \
  BOTH("f", #T, T, false), BOTH("lt", #T, T, a < b), BOTH("eq", #T, T, a == b), BOTH("le", #T, T, a <= b),             \
      BOTH("gt", #T, T, a > b), BOTH("ne", #T, T, a != b), BOTH("ge", #T, T, a >= b), BOTH("t", #T, T, true)
#define FLOAT_ROWS(T)                                                                                                  \
  BOTH("f", #T, T, false), BOTH("lt", #T, T, a < b), BOTH("eq", #T, T, a == b), BOTH("le", #T, T, a <= b),             \
      BOTH("gt", #T, T, a > b), BOTH("lg", #T, T, a<b || a> b), BOTH("ge", #T, T, a >= b),                             \
      BOTH("o", #T, T, a == a && b == b), BOTH("u", #T, T, a != a || b != b), BOTH("nge", #T, T, !(a >= b)),           \
      BOTH("nlg", #T, T, !(a < b || a > b)), BOTH("ngt", #T, T, !(a > b)), BOTH("nle", #T, T, !(a <= b)),              \
      BOTH("neq", #T, T, !(a == b)), BOTH("nlt", #T, T, !(a < b)), BOTH("tru", #T, T, true)
#define CLASS_ROWS(T)                                                                                                  \
  {"v_cmp_class_" #T, classified<T, false>}, { "v_cmpx_class_" #T, classified<T, true> }

extern const Row COMPARE[];
const Row COMPARE[] = {
    INTEGER_ROWS(u16), INTEGER_ROWS(i16), INTEGER_ROWS(u32),  INTEGER_ROWS(i32), INTEGER_ROWS(u64),
    INTEGER_ROWS(i64), FLOAT_ROWS(f16),   FLOAT_ROWS(f32),    FLOAT_ROWS(f64),   CLASS_ROWS(f16),
    CLASS_ROWS(f32),   CLASS_ROWS(f64),   {nullptr, nullptr},
};
