// Registers of a lane: how many there are, and what the compiler may not assume of them.
#pragma once
#include "language.h"

namespace imbrex {

// Registers of each lane from here on, of those that the workgroup was launched with.
template <int Count> IMBREX_INLINE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count> IMBREX_INLINE void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}

// The value is in its register from here on.  Without it the compiler reads where the value is first used, and the
// reader waits.
template <class T> IMBREX_INLINE void arrived(T &) {}
IMBREX_INLINE void arrived(float &x) { asm volatile("" : "+f"(x)); }
IMBREX_INLINE void arrived(double &x) { asm volatile("" : "+d"(x)); }

// The compiler may not move an access to a number across this: the matrix unit writes sums, and reads factors, behind its
// back.
IMBREX_INLINE void pin(float &x) { asm volatile("" : "+f"(x)::"memory"); }
IMBREX_INLINE void pin(int32_t &x) { asm volatile("" : "+r"(x)::"memory"); }
IMBREX_INLINE void pin(uint32_t &x) { asm volatile("" : "+r"(x)::"memory"); }
} // namespace imbrex
