// A lane's stack, and the switch from one to another: registers that a function keeps are saved on the stack that is
// left, and taken from the one that is entered.
#pragma once
#include "machine.h"

extern "C" void imbrex_switch_stack(void **left, void *entered) asm("imbrex.switch_stack");

#if defined(__x86_64__)
asm(R"(
.text
.balign 16
imbrex.switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
)");
#elif defined(__aarch64__)
asm(R"(
.text
.balign 16
imbrex.switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
)");
#else
#error "lanes of an emulated GPU have stacks of x86-64 and of AArch64"
#endif

namespace imbrex::hopper {

constexpr size_t stack_bytes = 1 << 16;
constexpr uint64_t stack_end = 0x1badc0de5ca1ab1eull; // stands at the stack's far end for as long as it is not too deep

// A stack on which the first switch enters `start`, which never returns.
inline void *new_stack(uint8_t *memory, void (*start)()) {
  copy_memory(memory, &stack_end, sizeof stack_end);
  void **top = reinterpret_cast<void **>(memory + stack_bytes);
#if defined(__x86_64__)
  constexpr int saved = 8, entry = 6;
#else
  constexpr int saved = 20, entry = 11;
#endif
  void **bottom = top - saved;
  for (int i = 0; i < saved; ++i) bottom[i] = nullptr;
  bottom[entry] = reinterpret_cast<void *>(start);
  return bottom;
}
inline bool is_too_deep(const uint8_t *memory) {
  uint64_t end;
  copy_memory(&end, memory, sizeof end);
  return end != stack_end;
}
} // namespace imbrex::hopper
