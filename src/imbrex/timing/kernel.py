"""How long a kernel takes: rounds of workgroups, each with a prologue, its steps of K and an epilogue.

    clocks  = sum over rounds of (prologue + steps * clocks of a step + bytes of C / rate), at least what
              memory takes for all that L2 does not have
    seconds = (clocks + launch) / clock that power allows

A round is as many workgroups as compute units hold at a time; in the last one a compute unit may hold fewer.
"""

from __future__ import annotations

from dataclasses import dataclass

from imbrex.chip import Device, GpuMachine
from imbrex.timing.compute_unit import Trip, simulated
from imbrex.timing.operation import Loop, Residents, matrix_clocks_of

__all__ = ["Prediction", "Product", "predicted", "residents_of", "step_of", "tile_clocks"]


@dataclass(frozen=True)
class Product:
    """A product's tiles as a chip sees them.

    loop: of a wave; steps: of K in a trip of it.  waves: of a workgroup.  groups: workgroups that a compute
    unit holds at most.  workgroups: of the launch, with k_steps each.  stored_bytes: of C, of a workgroup.
    memory_bytes: of A and B that come from memory, of all.
    """

    loop: Loop
    waves: int
    groups: int
    workgroups: int
    k_steps: int
    stored_bytes: float
    memory_bytes: float = 0.0
    steps: int = 1
    is_ping_pong: bool = False


@dataclass(frozen=True)
class Prediction:
    """What a model says, and nobody measured.  in_loop, busy: the matrix units' share of the time of a step
    where compute units are full, and of the whole kernel.  hz: the clock.
    """

    clocks: float
    in_loop: float
    busy: float
    hz: float
    seconds: float

    def flops_per_second(self, flops: float) -> float:
        return flops / self.seconds


def residents_of(waves: int, groups: int, gpu: GpuMachine, is_ping_pong: bool = False) -> Residents:
    """Waves of one SIMD where a compute unit holds so many workgroups; of four waves and more a workgroup has
    some on each SIMD.
    """
    if waves >= gpu.simds:
        of_group = -(-waves // gpu.simds)
        return Residents(groups * of_group, of_group, gpu.simds, is_ping_pong)
    simds = min(gpu.simds, waves * groups)
    return Residents(-(-waves * groups // simds), 1, simds)


def step_of(product: Product, groups: int, gpu: GpuMachine) -> Trip:
    """A step of K of all workgroups that a compute unit holds."""
    own = residents_of(product.waves, groups, gpu, product.is_ping_pong)
    trip = simulated(product.loop, gpu, own)
    return Trip(trip.clocks / product.steps, trip.busy)


def tile_clocks(product: Product, groups: int, gpu: GpuMachine) -> float:
    """Clocks of a round of a compute unit that holds so many workgroups."""
    device = device_of(gpu)
    stored = groups * product.stored_bytes / device.stored_bytes
    return device.prologue + product.k_steps * step_of(product, groups, gpu).clocks + stored


def predicted(product: Product, gpu: GpuMachine) -> Prediction:
    """The whole kernel."""
    device = device_of(gpu)
    full, rest = divmod(product.workgroups, gpu.compute_units * product.groups)
    clocks = full * tile_clocks(product, product.groups, gpu) if full else 0.0
    if rest:
        clocks += tile_clocks(product, -(-rest // gpu.compute_units), gpu)
    clocks = max(clocks, product.memory_bytes * device.hz / device.memory_bytes)
    of_wave = product.k_steps / product.steps * matrix_clocks_of(product.loop)
    worked = product.workgroups * product.waves * of_wave / (gpu.simds * gpu.compute_units)
    busy = min(1.0, worked / clocks)
    hz = device.clock(busy)
    most = product.groups if full else -(-rest // gpu.compute_units)
    in_loop = step_of(product, most, gpu).busy
    return Prediction(clocks, in_loop, busy, hz, (clocks + device.launch) / hz)


def device_of(gpu: GpuMachine) -> Device:
    """The chip around the compute units of a GPU that is modelled."""
    assert gpu.device is not None, gpu.name
    return gpu.device
