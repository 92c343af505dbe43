"""Machines as numbers: what a configuration may use on each, what each can do, and where the facts are from.

Law: code asks a row for what it wants to know, and never compares names: a rule in `legal` compares against a
field of a machine here, a family of kernels asks for the capability that it is made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, TypeAlias

from imbrex.cached import keeps_hash
from imbrex.chip.adder import Unit
from imbrex.chip.bank import Access, Phases
from imbrex.chip.cdna_rates import Device, Rates
from imbrex.chip.cpu_prices import PRICES, Prices
from imbrex.chip.warpgroup_rates import ItemRates, LaneRates, WarpgroupRates

__all__ = [
    "COPY_BYTES",
    "L2",
    "LINE_BYTES",
    "SECTOR_BYTES",
    "USUAL",
    "VECTOR_BYTES",
    "CodeObjects",
    "CpuMachine",
    "GpuMachine",
    "Machine",
    "Multiprocessor",
    "Vendor",
    "WaveSlots",
    "WorkItems",
]

Vendor: TypeAlias = Literal["AMD", "NVIDIA"]
"""Who makes it: AMD's kernels are HIP source and code objects, NVIDIA's are CUDA C++ and cubins."""


VECTOR_BYTES: Final = 16
"""The widest access of a lane to memory or LDS, on every GPU here (global_load_dwordx4, ds_write_b128,
ld.v4.b32); strides of tensor maps are multiples of it."""
LINE_BYTES: Final = 128
"""A line of L2 (Nsight Compute, "Memory Tables"; AMD CDNA 3 white paper, "Memory Hierarchy")."""
SECTOR_BYTES: Final = 32
"""What NVIDIA's L2 fetches of a line at the least (Nsight Compute, "Memory Tables")."""
COPY_BYTES: Final = 4
"""The least that a lane of NVIDIA's copies to shared memory past its registers (PTX ISA, cp.async)."""


@dataclass(frozen=True)
class WorkItems:
    """How the work items of a general tuning share its tiles.

    cluster: of the inner cluster along (m, n). lanes_along_k: neighbours copy neighbours along k where memory
    runs that way, and LDS keeps groups of rows apart, so that what they turn meets no bank twice.
    reads_ahead: rows for the next k are read before the products of this one, which are then all together.
    """

    cluster: tuple[int, int] = (4, 4)
    lanes_along_k: bool = False
    reads_ahead: bool = False


USUAL: Final = WorkItems()
"""Work items as in the seeds."""


@dataclass(frozen=True)
class L2:
    """bytes: of one die's cache; xcds: dies, to which hardware deals workgroups in turn."""

    bytes: int
    xcds: int = 1
    source: str = "told"


@dataclass(frozen=True)
class WaveSlots:
    """What bounds the waves that a SIMD of AMD's holds, and how finely it is dealt out.

    vgpr_file: 32-bit registers of one lane on one SIMD; gfx908 has a second file of as many AGPRs.
    barriers: workgroups of several waves on one compute unit.
    """

    vgpr_file: int
    vgpr_granule: int
    waves_per_simd: int
    lds_granule: int
    sgpr_file: int = 800
    sgpr_granule: int = 16
    barriers: int = 16


@dataclass(frozen=True)
class CodeObjects:
    """What tells AMD's code objects of one machine from those of another, for whoever executes them.

    elf_machine: EF_AMDGPU_MACH of the header's flags.  core_number: of the machine in the emulator's core,
    None where its code objects are not executed.
    flushes_halves: matrix instructions take subnormal halves as zeros (CDNA2 ISA, "Denormal Handling").
    has_scratch_offset: waves are told where their scratch begins.  has_vector_offsets: scratch accesses have
    a bit for a vector offset where the others have one for LDS.  has_scales: of a matrix instruction, in the
    words before it.  scopes: what assemblers call the bits glc, slc and scc.
    """

    elf_machine: int
    core_number: int | None = None
    flushes_halves: bool = False
    has_scratch_offset: bool = False
    has_vector_offsets: bool = False
    has_scales: bool = False
    scopes: tuple[str, str, str] = ("sc0", "nt", "sc1")


@dataclass(frozen=True)
class Multiprocessor:
    """What a multiprocessor of NVIDIA's issues, as far as the model of general tunings needs it.

    schedulers: each issues one warp's instruction a cycle.  registers: of 32 bits, for all its work items.
    multiply_add: cycles of a warp's, by the type of the sum.  rates: of the rest.
    """

    schedulers: int
    registers: int
    multiply_add: Mapping[str, int]
    rates: ItemRates
    source: str


@keeps_hash
@dataclass(frozen=True, repr=False)
class GpuMachine:
    """A GPU, or the lane-level build that stands for one.

    vector_registers: 32-bit registers of one lane that ordinary instructions reach; as many again, on all of
    AMD's, hold the sums of matrix instructions (a wave tile of 128 x 128 fills them).
    phases: of LDS, by bytes a lane.  direct_bytes: what a lane loads past its registers into LDS, the widest
    first; none where that is not done.  turned_bits: of elements that lanes transpose among them as they
    read LDS (`view.mma.wave.turned`); none where that is not done.
    has_mfma: products are of matrix instructions of waves.  has_wgmma: warpgroups multiply what is in shared
    memory.  has_tensor_maps: copies of boxes that hardware makes.  has_clusters: of workgroups that read each
    other's shared memory, of `most_in_cluster` that surely run.  overlaps_launches: one may begin before the
    one ahead has ended.
    compute_capability: what the driver calls it.
    units: by the bits of a float that a product reads, where products are not added one by one, each sum
    rounded to nearest.
    cluster_residents: workgroups of clusters of a size that surely run at a time, where they are not all that
    there are multiprocessors for; usual_residents: those that do on GPUs that were asked.
    l2, slots, rates, device, code, multiprocessor, warpgroup_rates, lane_rates: None where nothing is known
    of them.
    like: the chip whose matrix instructions it has, where they are another's.
    """

    name: str
    vendor: Vendor
    source: str
    lds_bytes: int
    lds_banks: int
    wave_size: int
    max_threads: int
    vector_registers: int
    compute_units: int
    phases: tuple[Phases, ...] = field(hash=False)
    simds: int = 4
    direct_bytes: tuple[int, ...] = ()
    turned_bits: tuple[int, ...] = ()
    has_mfma: bool = False
    has_wgmma: bool = False
    has_tensor_maps: bool = False
    has_clusters: bool = False
    most_in_cluster: int = 1
    overlaps_launches: bool = False
    compute_capability: tuple[int, int] | None = None
    units: Mapping[int, Unit] = field(default_factory=lambda: dict[int, Unit](), hash=False)
    l2: L2 | None = None
    slots: WaveSlots | None = None
    rates: Rates | None = field(default=None, hash=False)
    device: Device | None = None
    code: CodeObjects | None = field(default=None, hash=False)
    multiprocessor: Multiprocessor | None = field(default=None, hash=False)
    warpgroup_rates: WarpgroupRates | None = field(default=None, hash=False)
    lane_rates: LaneRates | None = None
    cluster_residents: Mapping[int, int] = field(default_factory=lambda: dict[int, int](), hash=False)
    usual_residents: Mapping[int, int] = field(default_factory=lambda: dict[int, int](), hash=False)
    work_items: WorkItems = USUAL
    like: str = ""

    def __repr__(self) -> str:
        return f"GpuMachine({self.name})"

    @property
    def chip(self) -> str:
        """The chip whose matrix instructions it has: gfx942's for the lane-level build."""
        return self.like or self.name

    @property
    def has_warpgroups(self) -> bool:
        """Has it all that kernels of warpgroups are made of?"""
        return self.has_wgmma and self.has_tensor_maps and self.has_clusters

    def clusters_dealt(self, units: int, size: int) -> int:
        """Clusters that are launched for units of work that do not wait for each other.

        One each, where GPUs usually run so many at a time: where one does not, some come after the others,
        which takes about as long as second units of those.
        """
        return units if units <= self.clusters_usually(size) else self.clusters_at_a_time(size)

    def clusters_usually(self, size: int) -> int:
        """Clusters of so many workgroups that run at a time on GPUs that were asked."""
        return max(self.clusters_at_a_time(size), self.usual_residents.get(size, 0) // size)

    def clusters_at_a_time(self, size: int) -> int:
        """Clusters of so many workgroups that surely run at a time, one workgroup a multiprocessor."""
        workgroups = self.cluster_residents.get(size, self.compute_units)
        return max(1, min(self.compute_units, workgroups) // size)

    def served(self, bytes_per_lane: int, access: Access) -> Phases:
        """How LDS serves an access of so many bytes a lane, or the next more that there are; the widest of
        its own beyond that.
        """
        found = [p for p in self.phases if p.access == access]
        return next((p for p in found if p.bytes >= bytes_per_lane), found[-1])


@keeps_hash
@dataclass(frozen=True)
class CpuMachine:
    """A CPU core as the register-blocked kernel sees it; cache sizes are those one core may count on.

    arch, march: what compilers call it, empty for any.  options: what they are told besides.
    features: what a host of the level has, as the kernel spells them (x86-64 psABI, micro-architecture
    levels), and `sve256` where SVE's registers have so many bits.  halved_on: vendors and families of CPUs
    that run an operation of this width as two halves.  runs_halves: is it one of these, whose operations of
    half the width take less time, whatever its model is calibrated to?  not_on: vendors whose CPUs the next
    level serves better, though they have all that this one needs.  lent: the level whose machines run its
    kernels too, with software for the rest of it, where there is some.  qemu: what QEMU calls a CPU with
    these features, and with as few others as it has; empty where nothing is run by it.  prices: what the cost
    model asks.
    """

    has_mfma: ClassVar[bool] = False
    has_warpgroups: ClassVar[bool] = False
    overlaps_launches: ClassVar[bool] = False
    multiprocessor: ClassVar[None] = None
    l2: ClassVar[None] = None

    name: str
    vector_bytes: int
    vector_registers: int
    fma_per_cycle: float
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    threads: int
    source: str
    arch: str = ""
    march: str = ""
    features: frozenset[str] = field(default=frozenset(), repr=False)
    halved_on: tuple[str, ...] = ()
    prices: Prices = field(default=PRICES, repr=False)
    options: tuple[str, ...] = ()
    qemu: str = ""
    lent: str = ""
    not_on: tuple[str, ...] = ()
    runs_halves: bool = field(default=False, repr=False)

    def lanes(self, element_bytes: int) -> int:
        """Elements of this many bytes in one vector register."""
        return max(1, self.vector_bytes // element_bytes)


Machine: TypeAlias = GpuMachine | CpuMachine
