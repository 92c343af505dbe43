"""Usage: what each kernel of a code object asks of a compute unit, read from the compiler's assembly text.

Law: the numbers are those that the code object carries, for it is assembled from this very text: the kernel
descriptor (`.amdhsa_...` directives) tells what a wave is given, the metadata (`.amdgpu_metadata`) what of
it is used.  Both are specified in LLVM's "User Guide for AMDGPU Backend", sections "Code Object V5 Metadata"
and "AMDHSA Kernel Directives".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Usage", "usages"]

_METADATA = re.compile(r"^\s*\.amdgpu_metadata$(?P<yaml>.*?)^\s*\.end_amdgpu_metadata$", re.M | re.S)
_DESCRIPTOR = re.compile(
    r"^\s*\.amdhsa_kernel (?P<name>\S+)$(?P<lines>.*?)^\s*\.end_amdhsa_kernel$", re.M | re.S
)
_DIRECTIVE = re.compile(r"^\s*\.amdhsa_(\w+) (\d+)$", re.M)
_KERNEL_START = re.compile(r"^  - ", re.M)
_SCALAR = re.compile(r"^    \.(\w+): +(\S+)$", re.M)


@dataclass(frozen=True, slots=True)
class Usage:
    """Registers are 32-bit, of one lane; SGPRs of one wave.  LDS is a workgroup's, scratch a work item's.

    vgprs, agprs: used.  total_vgprs: of both kinds, as one wave is given them from the file that holds both;
    the compiler raises it where LDS bounds the waves anyway.  spilled_*: registers that went to scratch.
    """

    kernel: str
    vgprs: int
    agprs: int
    total_vgprs: int
    sgprs: int
    spilled_vgprs: int
    spilled_sgprs: int
    lds_bytes: int
    scratch_bytes: int
    kernarg_bytes: int
    block_size: int

    @property
    def spills(self) -> int:
        """Registers of either kind that the compiler could not hold."""
        return self.spilled_vgprs + self.spilled_sgprs


def usages(assembly: str) -> tuple[Usage, ...]:
    """Registers, spills and LDS of every kernel in the text, in its order."""
    metadata = _METADATA.search(assembly)
    assert metadata is not None, "the compiler wrote no metadata"
    given = {found["name"]: _numbers(found["lines"]) for found in _DESCRIPTOR.finditer(assembly)}
    kernels = metadata["yaml"].partition("amdhsa.kernels:\n")[2].partition("\namdhsa.")[0]
    entries = _KERNEL_START.split(kernels)[1:]
    return tuple(_usage(dict(_SCALAR.findall(f"    {entry}")), given) for entry in entries)


def _numbers(lines: str) -> dict[str, int]:
    return {key: int(value) for key, value in _DIRECTIVE.findall(lines)}


def _usage(used: Mapping[str, str], descriptors: Mapping[str, Mapping[str, int]]) -> Usage:
    """accum_offset is where AGPRs begin in the file that both kinds share; gfx908 has a file for each."""
    name = used["name"]
    given = descriptors[name]
    agprs, most = int(used["agpr_count"]), int(used["vgpr_count"])
    is_shared = "accum_offset" in given
    return Usage(
        kernel=name,
        vgprs=given["accum_offset"] if agprs and is_shared else most,
        agprs=agprs,
        total_vgprs=given["next_free_vgpr"],
        sgprs=int(used["sgpr_count"]),
        spilled_vgprs=int(used["vgpr_spill_count"]),
        spilled_sgprs=int(used["sgpr_spill_count"]),
        lds_bytes=int(used["group_segment_fixed_size"]),
        scratch_bytes=int(used["private_segment_fixed_size"]),
        kernarg_bytes=int(used["kernarg_segment_size"]),
        block_size=int(used["max_flat_workgroup_size"]),
    )
