"""Models of PyTorch as they are, compiled by inductor, and with their layers replaced by kernels, in one run.

    python benchmarks/models.py --threads 1                       on the CPU, f32, one image
    python benchmarks/models.py --device cuda --type f16 --graph  on a GPU, replayed as CUDA graphs

Contenders of a model take turns, round after round, on the same input; medians of milliseconds.  Each has a
copy of the model, and its results are compared with those of the model in f64.  `--graph` leaves the host's
part out: each contender's forward is recorded once and replayed.  Without it the time is that from the call
until the result is there.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from imbrex.bench import networks
from imbrex.torch import clock

torch: Any = import_module("torch")
TYPES: Final = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class Entry:
    """make: the model.  input: shape of its input for a batch.  is_image: may it lie channels_last?"""

    make: Callable[[], Any]
    input: Callable[[int], tuple[int, ...]]
    is_image: bool = True


def _image(size: int) -> Callable[[int], tuple[int, ...]]:
    return lambda batch: (batch, 3, size, size)


ENTRIES: Final[Mapping[str, Entry]] = {
    "resnet18": Entry(networks.resnet18, _image(224)),
    "resnet50": Entry(networks.resnet50, _image(224)),
    "vit": Entry(lambda: networks.transformer(384, 6, 16), _image(224)),
    "unet": Entry(lambda: networks.unet(32), _image(128)),
    "decoder": Entry(lambda: networks.decoder(2048, 8192, 16), lambda rows: (1, rows, 2048), False),
    "between": Entry(lambda: networks.between(1024), lambda rows: (rows, 1024), False),
}
"""A batch is one of images, or of rows."""


def main() -> None:
    given = arguments()
    os.environ.setdefault("IMBREX_DB", "off")
    torch.set_num_threads(given.threads)
    told: list[dict[str, Any]] = []
    for name in given.models.split(","):
        for batch in map(int, given.batches.split(",")):
            row = {"model": name, "batch": batch, **measured(ENTRIES[name], batch, given)}
            told.append(row)
            words = (f"{who} {ms:.3f}" for who, ms in row["ms"].items())
            print(f"{name} x {batch}: {', '.join(words)}; {row['replaced']}", flush=True)
            if given.output:
                with open(given.output, "w", encoding="utf-8") as file:
                    json.dump(told, file, indent=1)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", default="resnet18,resnet50,vit,unet", help=", ".join(ENTRIES))
    parser.add_argument("--batches", default="1", help="numbers of images, or of rows")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--type", default="f32", choices=TYPES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--graph", action="store_true", help="replay CUDA graphs")
    parser.add_argument("--tune", choices=("quick", "normal", "full"), help="tune the replaced layers first")
    parser.add_argument("--contenders", default="eager,inductor,replaced", help="compared with each other")
    parser.add_argument("--output", help="a JSON file of all rows")
    return parser.parse_args()


def measured(entry: Entry, batch: int, given: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds by contender, how far each is from f64, and how many layers were replaced."""
    model = entry.make().eval().to(given.device)
    x = torch.randn(entry.input(batch), device=given.device)
    with torch.no_grad():
        wide = copy.deepcopy(model).double()(x.double())
    kind = TYPES[given.type]
    model, x = model.to(kind), x.to(kind)
    runs: dict[str, Callable[[], Any]] = {}
    replaced = ""
    for who in given.contenders.split(","):
        for lies in ("", ", channels_last")[: 1 + entry.is_image]:
            own, input = copy.deepcopy(model), x
            if lies:
                own = own.to(memory_format=torch.channels_last)
                input = x.contiguous(memory_format=torch.channels_last)
            if who == "replaced":
                replace = import_module("imbrex.torch").replace
                report = replace(own, input, tune=given.tune, cuda_graph=given.graph)
                replaced += f"{len(report.swapped)} of {len(report.rows)} layers{lies}; "
            run = _compiled(own) if who == "inductor" else own
            runs[who + lies] = _called(run, input, given.graph)
    off = {who: _off(run(), wide) for who, run in runs.items()}
    return {"ms": _contest(runs, given.rounds, given.device), "off": off, "replaced": replaced.rstrip("; ")}


def _compiled(model: Any) -> Any:
    torch._dynamo.reset()
    return torch.compile(model)


def _called(model: Any, x: Any, as_graph: bool) -> Callable[[], Any]:
    def run() -> Any:
        with torch.no_grad():
            return model(x)

    for _ in range(3):
        run()
    return clock.recorded(run, x.device) if as_graph else run


def _contest(runs: Mapping[str, Callable[[], Any]], rounds: int, device: str) -> dict[str, float]:
    """Medians of milliseconds, in turn; the first call of a turn is not counted."""
    samplers = {who: clock.sampler(run, torch.device(device), queued=1) for who, run in runs.items()}
    samples: dict[str, list[float]] = {who: [] for who in runs}
    for _ in range(rounds):
        for who, sample in samplers.items():
            runs[who]()
            samples[who] += [1e3 * sample() for _ in range(3)]
    return {who: statistics.median(of) for who, of in samples.items()}


def _off(got: Any, wide: Any) -> float:
    """The largest difference, by the root mean square of what it should be."""
    return float((got.double() - wide).abs().max() / wide.square().mean().sqrt())


if __name__ == "__main__":
    main()
