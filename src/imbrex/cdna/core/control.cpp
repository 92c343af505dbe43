// What steers a wave: branches, waits, barriers, and what has no effect here.
#include "operand.h"

static void branch(Wave &w, const Instruction &i, bool is_taken) {
  if (!is_taken) return;
  if (i.target < 0) fail(w, BAD_JUMP);
  w.at = i.target;
}
static u64 after(Wave &w, const Instruction &i) { return w.group->settings->code_base + u64(i.address) + 4; }

// Results of scalar loads come in any order, so that only a wait for all that is under way brings them.
static void wait_for_other(Wave &w, int left) {
  if (left > 0)
    for (int k = 0; k < w.other_memory.count; ++k)
      if (w.other_memory.at[(w.other_memory.first + k) % MOST_PENDING].kind == Pending::TO_SCALAR) return;
  arrive(w, w.other_memory, left);
}
static void wait(Wave &w, const Instruction &i) {
  const int vector = (i.simm & 15) | (i.simm >> 14 & 3) << 4, other = i.simm >> 8 & 15;
  if (vector < 63) arrive(w, w.vector_memory, vector);
  if (other < 15) wait_for_other(w, other);
}
static void end(Wave &w, const Instruction &) {
  arrive(w, w.vector_memory, 0);
  arrive(w, w.other_memory, 0);
  w.is_done = true;
}
static void nothing(Wave &, const Instruction &) {}

extern const Row CONTROL[];
const Row CONTROL[] = {
    DO("s_branch", branch(w, i, true);),
    DO("s_cbranch_scc0", branch(w, i, !w.scc);),
    DO("s_cbranch_scc1", branch(w, i, w.scc);),
    DO("s_cbranch_vccz", branch(w, i, w.vcc() == 0);),
    DO("s_cbranch_vccnz", branch(w, i, w.vcc() != 0);),
    DO("s_cbranch_execz", branch(w, i, w.exec() == 0);),
    DO("s_cbranch_execnz", branch(w, i, w.exec() != 0);),
    DO("s_setpc_b64", jump(w, scalar64(w, i.o[0]));),
    DO("s_swappc_b64", const u64 to = scalar64(w, i.o[1]); set64(w, i.o[0], after(w, i)); jump(w, to);),
    DO("s_call_b64", set64(w, i.o[0], after(w, i)); branch(w, i, true);),
    DO("s_getpc_b64", set64(w, i.o[0], after(w, i));),
    {"s_endpgm", end},
    DO("s_barrier", w.is_at_barrier = true;),
    {"s_waitcnt", wait},
    DO("s_trap", fail(w, TRAP);),
    DO("s_memtime", set64(w, i.o[0], u64(w.steps));),
    DO("s_memrealtime", set64(w, i.o[0], u64(w.steps));),
    DO("s_getreg_b32", set32(w, i.o[0], 0);),
    {"s_setreg_b32", nothing},
    {"s_setreg_imm32_b32", nothing},
    {"s_nop", nothing},
    DO("s_sleep", w.group->sleeps = true;),
    {"s_setprio", nothing},
    {"s_sethalt", nothing},
    {"s_icache_inv", nothing},
    {"s_dcache_inv", nothing},
    {"s_dcache_wb", nothing},
    {"s_dcache_wb_vol", nothing},
    {"s_dcache_inv_vol", nothing},
    {"s_sendmsg", nothing},
    {"s_ttracedata", nothing},
    {"s_incperflevel", nothing},
    {"s_decperflevel", nothing},
    {"s_wakeup", nothing},
    {"s_set_gpr_idx_off", nothing},
    {"buffer_wbinvl1", nothing},
    {"buffer_wbinvl1_vol", nothing},
    {"buffer_inv", nothing},
    {"buffer_wbl2", nothing},
    {"buffer_invl2", nothing},
    {nullptr, nullptr},
};
