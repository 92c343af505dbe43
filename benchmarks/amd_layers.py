"""ResNet-50's layers on an AMD GPU by the timing model: how near its roofline each one is, and what it loses.

    python benchmarks/amd_layers.py                                gfx950, f16, NHWC, batch 64, all directions
    python benchmarks/amd_layers.py --chip gfx942 --batch 256 --directions forward

Nothing is compiled, and no GPU is used.  What the columns mean is in docs/amd_quality.md; the report goes to
benchmarks/results/amd_layers_CHIP.json.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import prod
from pathlib import Path
from statistics import fmean

from imbrex.bench.resnet import LAYERS, Layer, conv
from imbrex.chip import GPU_MACHINES, GpuMachine, gpus
from imbrex.cli.bench import write_report
from imbrex.cli.progress import progress
from imbrex.cli.table import print_table
from imbrex.config.algorithm.product import Products
from imbrex.config.products import products
from imbrex.config.xdlops.cost import product_of
from imbrex.config.xdlops.lost import lost_of
from imbrex.config.xdlops.plan import XdlopsPlan, XdlopsTuning
from imbrex.config.xdlops.residency import resident_groups
from imbrex.pipeline import Request, configuration_of
from imbrex.problem import Conv2d
from imbrex.problem.conv import DIRECTIONS, Direction
from imbrex.timing.kernel import device_of, step_of

HERE = Path(__file__).resolve().parent
STEM = "conv1"
GOOD = 0.85
TIMES = 4


@dataclass(frozen=True)
class Row:
    """A layer in one direction.  clocks: of the pick, or what its bytes take at memory's rate, where more;
    memory: the latter.  lost: clocks by part.  bound: of a loop that is less than GOOD busy, what it would be
    with four times the rate of each of its paths, in turn.
    """

    layer: str
    direction: str
    count: int
    configuration: str
    clocks: float
    useful: float
    memory: float
    in_loop: float
    lost: Mapping[str, float]
    bound: Mapping[str, float]

    @property
    def of_roofline(self) -> float:
        """Clocks that the matrix units or memory take at least, over those of the pick."""
        return max(self.useful, self.memory) / self.clocks

    def cells(self) -> tuple[str, ...]:
        lost = sorted(self.lost.items(), key=lambda part: -part[1])[:2]
        shares = (self.useful / self.clocks, self.memory / self.clocks, self.of_roofline, self.in_loop)
        return (
            f"{self.layer} {self.direction.removeprefix('backward_')}",
            f"{self.clocks / 1e3:.1f}",
            *(f"{share:.0%}" for share in shares),
            ", ".join(f"{name} {clocks / self.clocks:.0%}" for name, clocks in lost),
            ", ".join(f"{name} {busy:.0%}" for name, busy in list(self.bound.items())[:2]),
            self.configuration.partition("=v1:xdlops:")[2],
        )


COLUMNS = ("layer", "kclocks", "busy", "memory", "roofline", "loop", "lost most", "loop if free", "pick")


def main() -> None:
    os.environ.setdefault("IMBREX_DB", "off")
    options = arguments()
    machine = GPU_MACHINES[options.chip]
    rows: list[Row] = []
    for layer in (layer for layer in LAYERS if layer.name != STEM):
        for direction in (d for d in DIRECTIONS if d in options.directions.split(",")):
            with progress(f"{layer.name} {direction}"):
                problem = conv(layer, direction, "nhwc", dtype=options.type, batch=options.batch)
                rows.append(row(layer, direction, problem, machine))
    print_table(COLUMNS, (one.cells() for one in rows))
    for direction in dict.fromkeys(one.direction for one in rows):
        print(said([one for one in rows if one.direction == direction]))
    output = Path(options.output or HERE / "results" / f"amd_layers_{options.chip}.json")
    document = {"chip": options.chip, "type": options.type, "batch": options.batch}
    write_report(document | {"layers": [asdict(one) for one in rows]}, output)
    print(f"wrote {output}")


def row(layer: Layer, direction: Direction, problem: Conv2d, machine: GpuMachine) -> Row:
    """The default pick."""
    found = configuration_of(Request(problem, machine, machine.name))
    made = products(problem, found, machine)
    assert isinstance(made, Products), found
    assert all(isinstance(one.tuning, XdlopsTuning) for one in found.products), found
    parts = lost_of(found.products, [product.context for product in made.products], machine)
    device = device_of(machine)
    sizes = (prod(o.shape) * o.dtype.bytes for o in problem.operands)
    memory = sum(sizes) * device.hz / device.memory_bytes
    clocks = max(memory, parts.clocks)
    of = layer.name, direction, layer.count, str(found)
    bound: Mapping[str, float] = {}
    if parts.in_loop < GOOD:
        largest = max(
            zip(found.products, made.products, strict=True), key=lambda pair: pair[1].context.multiplies
        )
        assert isinstance(largest[0].tuning, XdlopsTuning)
        bound = bound_of(largest[0].tuning.plan(largest[1].context, machine), machine)
    return Row(*of, clocks, parts.useful, memory, parts.in_loop, parts.parts, bound)


def bound_of(plan: XdlopsPlan, machine: GpuMachine) -> dict[str, float]:
    """How busy the loop would be were one path TIMES as wide, the path that helps most first."""
    rates, device = machine.rates, device_of(machine)
    assert rates is not None
    flight = {"l1_capacity": rates.l1_capacity * TIMES, "request_queue": rates.request_queue * TIMES}
    wide = replace(machine, device=replace(device, l2_bytes=device.l2_bytes * TIMES))
    freed = {
        "bytes in flight": replace(machine, rates=replace(rates, **flight)),
        "L2": replace(wide, rates=replace(rates, l1_bytes=rates.l1_bytes * TIMES)),
        "LDS": replace(machine, rates=replace(rates, lds_bytes=rates.lds_bytes * TIMES)),
    }
    freed["all loads"] = replace(freed["L2"], rates=replace(rates, l1_bytes=rates.l1_bytes * TIMES, **flight))
    groups = resident_groups(plan)
    busy = {name: step_of(product_of(plan), groups, gpu).busy for name, gpu in freed.items()}
    return dict(sorted(busy.items(), key=lambda entry: -entry[1]))


def said(rows: Sequence[Row]) -> str:
    """Means over layers, and the clocks of the network, which has some layers several times."""
    means = fmean(r.in_loop for r in rows), fmean(r.useful / r.clocks for r in rows)
    of_roofline = fmean(r.of_roofline for r in rows)
    whole = sum(r.count * r.clocks for r in rows)
    least = sum(r.count * max(r.useful, r.memory) for r in rows)
    return (
        f"{rows[0].direction}: loop {means[0]:.0%}, busy {means[1]:.0%}, of the roofline {of_roofline:.0%}; "
        f"the network {whole / 1e6:.2f} million clocks, {least / whole:.0%} of its roofline"
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chip", choices=gpus("AMD"), default="gfx950")
    parser.add_argument("--type", default="f16")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--directions", default=",".join(DIRECTIONS))
    parser.add_argument("--output")
    return parser.parse_args()


if __name__ == "__main__":
    main()
