"""What a check sees beside the result: small kernels by hand, each right but for what it does to memory or to
the thread; one library holds them all.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from imbrex.build.shared_library import build_shared
from imbrex.kernel import Kernel, compile
from imbrex.problem import Gemm
from imbrex.run.arrays import Array
from imbrex.run.cpu import CpuKernel, Parameter, load
from imbrex.run.gpu import uploaded
from imbrex.run.guarded import guarded
from imbrex.run.guarded_call import LAYOUTS, changed, control_words, environment
from imbrex.run.watched import MARGIN, watched

M, N, K = 5, 7, 9
GEMM = Gemm(M, N, K)
SCRATCH = Parameter("scratch", (33,), np.dtype(np.float32))

SOURCE = """
extern "C" void abort();
enum { M = 5, N = 7, K = 9 };
static void product(const float *a, const float *b, float *c) {
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += a[m * K + k] * b[k * N + n];
      c[m * N + n] = sum;
    }
}
static void read(const volatile float *p) { (void)*p; }
static void write(volatile float *p) { *p = 1; }
#define KERNEL(NAME, SLIP) \\
  extern "C" int NAME##_launch_count() { return 0; } \\
  extern "C" int NAME(const float *a, const float *b, float *c, int) { product(a, b, c); SLIP; return 0; }
#define SCRATCHED(NAME, SLIP) \\
  extern "C" int NAME##_launch_count() { return 0; } \\
  extern "C" int NAME(const float *a, const float *b, float *c, float *s, int) { \\
    for (int i = 0; i < 33; ++i) s[i] = 1; product(a, b, c); SLIP; return 0; }
KERNEL(right, )
KERNEL(writes_input, write(const_cast<float *>(b) + 3))
KERNEL(writes_after, write(c + M * N))
KERNEL(writes_before, write(c - 1))
KERNEL(reads_after, read(a + M * K))
KERNEL(reads_before, read(b - 1))
KERNEL(aborts, abort())
KERNEL(has_no_memory, return 1)
SCRATCHED(scratched, )
SCRATCHED(writes_after_scratch, write(s + 33))
SCRATCHED(reads_before_scratch, read(s - 1))
#if defined(__x86_64__)
KERNEL(flushes, __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040))
KERNEL(rounds_up, __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x4000))
#elif defined(__aarch64__)
static void set_fpcr(unsigned long bits) {
  unsigned long was;
  asm volatile("mrs %0, fpcr" : "=r"(was));
  asm volatile("msr fpcr, %0" : : "r"(was | bits));
}
KERNEL(flushes, set_fpcr(1 << 24))
KERNEL(rounds_up, set_fpcr(1 << 22))
#endif
"""


@pytest.fixture(scope="module")
def library(kernel_cache: Path) -> Path:
    return build_shared({"slips.cpp": SOURCE}, flags=("-Wno-unused-parameter",)).path


@pytest.fixture(scope="module")
def own(kernel_cache: Path) -> Kernel:
    return compile(GEMM)


def slipping(own: Kernel, library: Path, symbol: str, *workspace: Parameter) -> Kernel:
    assert isinstance(own.loaded, CpuKernel)
    return replace(own, loaded=load(library, symbol, own.loaded.parameters, workspace))


SLIPS = {
    "writes_input": "it writes into its input 'b'",
    "writes_after": "it writes beyond the end of 'c'",
    "writes_before": "it writes before the start of 'c'",
    "reads_after": "it reads beyond the end of 'a'",
    "reads_before": "it reads before the start of 'b'",
    "aborts": "its call ends with SIGABRT, and not at the pages beside its arrays",
}


@pytest.mark.parametrize("symbol", SLIPS)
def test_slips_are_named(own: Kernel, library: Path, symbol: str) -> None:
    outcome = slipping(own, library, symbol).check()
    assert not outcome.is_right and outcome.fault == SLIPS[symbol]
    assert outcome.failed is not None
    assert str(outcome) == f"wrong: {SLIPS[symbol]}, on {outcome.failed.values} values"


def test_right_kernels_are_right(own: Kernel, library: Path) -> None:
    for outcome in (own, slipping(own, library, "right"), slipping(own, library, "scratched", SCRATCH)):
        verdict = outcome.check()
        assert verdict.is_right and len(verdict.passes) == 3, str(verdict)


def test_memory_beside_the_arrays_is_guarded_too(own: Kernel, library: Path) -> None:
    outcome = slipping(own, library, "writes_after_scratch", SCRATCH).check()
    assert outcome.fault == "it writes beyond the end of 'scratch'"
    outcome = slipping(own, library, "reads_before_scratch", SCRATCH).check()
    assert outcome.fault == "it reads before the start of 'scratch'"


def test_control_words_have_to_stay(own: Kernel, library: Path) -> None:
    before = control_words(environment())
    if not before:
        pytest.skip(f"nobody wrote down what fegetenv stores here; known are {', '.join(map(str, LAYOUTS))}")
    for symbol, kind in (("rounds_up", "(rounding mode)"), ("flushes", "(flush to zero")):
        found = slipping(own, library, symbol).check().fault or ""
        assert found.startswith("it leaves the ") and kind in found
        found = slipping(own, library, symbol).check(values="float").fault or ""
        assert kind in found, "in this process"
        assert control_words(environment()) == before, "which rounds as before"
    assert changed({"FPCR": 0}, {"FPCR": 1 << 24}) == (
        "it leaves the FPCR at 0x1000000, which was 0x0 (flush to zero)"
    )


def test_an_input_is_compared_in_this_process_too(own: Kernel, library: Path) -> None:
    outcome = slipping(own, library, "writes_input").check(values="float")
    assert outcome.fault == SLIPS["writes_input"]


def test_a_kernel_without_memory_says_so(own: Kernel, library: Path) -> None:
    with pytest.raises(MemoryError, match="could not allocate"):
        slipping(own, library, "has_no_memory").check()


def test_what_lies_between_the_end_and_the_page_is_a_canary(own: Kernel, library: Path) -> None:
    """Arrays that begin at 64 bytes leave a rest, of which a write is seen and a read is not."""
    arrays = [np.ones(p.shape, p.dtype) for p in slipping(own, library, "right").loaded.parameters]
    for symbol, fault in (("writes_after", SLIPS["writes_after"]), ("reads_after", None)):
        kernel = slipping(own, library, symbol).loaded
        assert isinstance(kernel, CpuKernel)
        assert guarded(kernel, arrays, alignment=64).fault == fault


class HostMemory:
    """A GPU whose memory is the host's."""

    def __init__(self) -> None:
        self.held: dict[int, Array] = {}

    def allocate(self, size: int, name: str) -> int:
        array = np.empty(size, np.uint8)
        self.held[array.ctypes.data] = array
        return array.ctypes.data

    def free(self, memory: int) -> None:
        del self.held[memory]

    def put(self, memory: int, array: Array, name: str) -> None:
        self.held[memory][:] = array.reshape(-1).view(np.uint8)

    def get(self, array: Array, memory: int, name: str) -> None:
        array.reshape(-1).view(np.uint8)[:] = self.held[memory]

    def wait(self) -> None:
        pass


GPU_SLIPS = {
    None: lambda bytes_of: None,
    "it writes before the start of 'a'": lambda of: of["a"].__setitem__(MARGIN - 1, 0),
    "it writes beyond the end of 'c'": lambda of: of["c"].__setitem__(-MARGIN, 0),
    "it writes into its input 'a'": lambda of: of["a"].__setitem__(MARGIN + 5, 9),
    "it writes between the rows of 'c'": lambda of: of["c"].__setitem__(MARGIN + 4 * 3, 9),
}


@pytest.mark.parametrize("fault", GPU_SLIPS)
def test_margins_on_a_gpu(fault: str | None) -> None:
    parameters = (
        Parameter("a", (2, 3), np.dtype("f4")),
        Parameter("c", (2, 3), np.dtype("f4"), True, strides=(5, 1)),
    )
    memory, faults = HostMemory(), list[str]()
    a, room = np.ones((2, 3), np.float32), np.full(10, 7, np.float32)
    c = np.lib.stride_tricks.as_strided(room, (2, 3), (20, 4))
    with watched(memory, (a, c), parameters, faults) as addresses:
        held = {p.name: memory.held[at - MARGIN] for p, at in zip(parameters, addresses, strict=True)}
        held["c"][MARGIN : MARGIN + 12] = np.full(3, 2, np.float32).view(np.uint8)
        GPU_SLIPS[fault](held)
    assert faults == ([] if fault is None else [fault])
    assert c.tolist() == [[2, 2, 2], [7, 7, 7]] and room[3:5].tolist() == [7, 7] and not memory.held


@pytest.mark.parametrize("is_watched", [True, False])
def test_arrays_of_the_host_lie_between_margins_where_faults_are_asked_for(is_watched: bool) -> None:
    memory, faults = HostMemory(), list[str]() if is_watched else None
    parameter = Parameter("c", (2, 3), np.dtype("f4"), True)
    with uploaded(memory, (np.ones((2, 3), np.float32),), (parameter,), faults) as (address,):
        assert (address in memory.held) is not is_watched
        if is_watched:
            memory.held[address - MARGIN][MARGIN - 1] = 0
    assert faults == (["it writes before the start of 'c'"] if is_watched else None) and not memory.held
