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

// Begins a basic block: what NVVM does with one takes longer than in proportion to its length.  The branch is on a
// number that NVVM does not know; ptxas makes one block of both again.
IMBREX_INLINE void next_block() {
  int32_t taken;
  asm volatile("mov.b32 %0, 0;" : "=r"(taken));
  if (taken) asm volatile("");
}

// The same, and ptxas keeps it: no load of the next block is begun in the one before.
IMBREX_INLINE void keep_block() {
  if (blockDim.y > 1) asm volatile("trap;"); // workgroups have one dimension
}

// The compiler may not move an access to a number across this: the matrix unit writes sums, and reads factors, behind its
// back.
IMBREX_INLINE void pin(float &x) { asm volatile("" : "+f"(x)::"memory"); }
IMBREX_INLINE void pin(int32_t &x) { asm volatile("" : "+r"(x)::"memory"); }
IMBREX_INLINE void pin(uint32_t &x) { asm volatile("" : "+r"(x)::"memory"); }
} // namespace imbrex
