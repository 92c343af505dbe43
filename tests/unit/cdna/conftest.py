"""Programs of a few instructions, assembled by the bundled clang and executed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imbrex.build.amd.code_object import assemble_code_object
from imbrex.cdna.code_object import load_code_object
from imbrex.cdna.execute import Launch, Memory, Strictness, execute

Run = Callable[..., int]

FRAME = """
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
{body}
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_count 2
  .amdhsa_next_free_vgpr 64
  .amdhsa_next_free_sgpr 64
  .amdhsa_accum_offset 64
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 16
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 64
    .vgpr_count: 64
    .max_flat_workgroup_size: 256
    .args:
      - {{.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}}
      - {{.size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}}
...
.end_amdgpu_metadata
"""
"""s[4:5] points to what is read, s[6:7] to what is written, and v1 is four times the work item's number."""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`run(body, given, result)`: executes the body on `given` into `result`, whole arrays of 32 bits."""

    def executed(
        body: str,
        given: np.ndarray[Any, Any],
        result: np.ndarray[Any, Any],
        *,
        items: int = 64,
        groups: int = 1,
        lds: int = 1024,
        chip: str = "gfx942",
        strict: Strictness | None = None,
    ) -> int:
        text = tmp_path / "k.s"
        text.write_text(FRAME.format(body=body, lds=lds))
        code = load_code_object(assemble_code_object(text, chip).read_bytes())
        arrays = (given, result)
        pointers = [array.ctypes.data.to_bytes(8, "little") for array in arrays]
        owned = [Memory(array.ctypes.data, array.nbytes) for array in arrays]
        return execute(code, "k", Launch((groups,), (items,)), pointers, owned, strict)

    return executed
