"""What ptxas says of kernels, read from its log: of real compiles, and of lines as it writes them."""

from __future__ import annotations

import pytest

from imbrex.build.nvidia.cubin import LOG, compile_cubin
from imbrex.build.nvidia.report import CubinUsage, Geometry, KernelResources, kernel_resources, usages

WGMMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
MULTIPLY = f'asm volatile("{WGMMA}" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));'
SOURCE = f"""
extern "C" __global__ void __launch_bounds__(128) plain(float *c) {{
  extern __shared__ float s[];
  __shared__ float q[32];
  q[threadIdx.x % 32] = s[threadIdx.x] = c[threadIdx.x];
  __syncthreads();
  c[threadIdx.x] = s[127 - threadIdx.x] + q[threadIdx.x / 4];
}}
extern "C" __global__ void __launch_bounds__(1024) spilling(float *c) {{
  float d[160];
  #pragma unroll
  for (int i = 0; i < 160; ++i) d[i] = c[i * 1024 + threadIdx.x];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 160; ++i) c[i * 1024 + threadIdx.x] = d[159 - i] * d[i / 2];
}}
extern "C" __global__ void __launch_bounds__(128) waiting(float *c, size_t a, size_t b) {{
  float d[4] = {{}};
  asm volatile("wgmma.fence.sync.aligned;");
  {MULTIPLY}
  d[1] += c[threadIdx.x];
  {MULTIPLY}
  asm volatile("wgmma.commit_group.sync.aligned;\\nwgmma.wait_group.sync.aligned 0;");
  c[threadIdx.x] = d[0] + d[1];
}}
"""
GEOMETRIES = (Geometry("plain", 128, 512), Geometry("spilling", 1024), Geometry("waiting", 128, 0, 2))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelResources]:
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")
    directory = tmp_path_factory.mktemp("nvidia")
    compile_cubin({"k.cu": SOURCE}, "k.cu", "sm_90a", directory)
    return {r.usage.kernel: r for r in kernel_resources((directory / LOG).read_text(), GEOMETRIES)}


def test_a_plain_kernel(found: dict[str, KernelResources]) -> None:
    plain = found["plain"]
    assert 4 < plain.registers < 32 and plain.usage.barriers == 1
    assert (plain.usage.static_shared_bytes, plain.shared_bytes) == (128, 640)
    assert plain.errors == () and plain.workgroups_per_processor == 16, "2048 threads"
    told = plain.to_json()
    assert (told["kernel"], told["block_size"], told["dynamic_shared_bytes"]) == ("plain", 128, 512)
    assert (told["spill_store_bytes"], told["stack_bytes"], told["errors"]) == (0, 0, [])


def test_spilled_registers_are_an_error(found: dict[str, KernelResources]) -> None:
    spilling = found["spilling"]
    assert spilling.registers == 64, "of 1024 threads"
    assert spilling.usage.spill_store_bytes > 0 < spilling.usage.stack_bytes
    (error,) = spilling.errors
    assert error.startswith("registers are spilled: ")
    assert ("error", error) in list(spilling.rows())


def test_wgmma_that_waits_for_itself_is_an_error(found: dict[str, KernelResources]) -> None:
    waiting = found["waiting"]
    (error,) = waiting.errors
    assert "wgmma.mma_async instructions are serialized" in error and error.startswith("(C75")
    assert waiting.to_json()["errors"] == [error]
    assert found["plain"].usage.remarks == ()


def test_kernels_come_in_the_order_of_launches(found: dict[str, KernelResources]) -> None:
    assert list(found) == ["plain", "spilling", "waiting"]


LINES = """\
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to non \
wgmma instructions defining accumulator registers of a wgmma between start and end of the pipeline stage in \
the function 'gemm_0'
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemm_0' for 'sm_90a'
ptxas info    : Function properties for helper
ptxas         .     64 bytes stack frame, 64 bytes spill stores, 64 bytes spill loads
ptxas info    : Function properties for gemm_0
ptxas         .     8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 168 registers, used 16 barriers, 8 bytes cumulative stack size, 1040 bytes smem
ptxas info    : Compile time = 123.4 ms
"""


def test_what_is_told_of_other_functions_is_left_out() -> None:
    (usage,) = usages(LINES)
    assert (usage.registers, usage.barriers, usage.static_shared_bytes) == (168, 16, 1040)
    assert (usage.stack_bytes, usage.spill_store_bytes, usage.spill_load_bytes) == (8, 4, 12)
    (remark,) = usage.remarks
    assert remark.startswith("(C7510) Potential Performance Loss")


@pytest.mark.parametrize(
    ("registers", "block_size", "shared", "groups"),
    [(168, 384, 0, 1), (128, 256, 0, 2), (32, 64, 0, 32), (32, 128, 113 * 1024, 2), (255, 1024, 0, 0)],
)
def test_what_fits_a_processor(registers: int, block_size: int, shared: int, groups: int) -> None:
    usage = CubinUsage("k", registers, 0, 0, 0, 0, 1)
    assert KernelResources(usage, Geometry("k", block_size, shared)).workgroups_per_processor == groups
