"""The search of the tuner on recorded times, against the model's order and against chance.

    python benchmarks/search.py                      replays the records as today's model orders them
    python benchmarks/search.py --picture docs/search.svg --json FILE
    python benchmarks/search.py --record "gemm -m 256 -n 256 -k 256" ...
    python benchmarks/search.py --target sm_90a --jobs 15 --record "gemm -t f16 -m 1024 -n 1024 -k 1024" ...

Recording compiles and times the configurations of a problem on one thread of this CPU: the model's first
`--top`, and of the others `--more`, drawn by lot.  Each is timed in turn with the model's pick, and the
fastest are timed again, all in turn.  On a GPU they are timed as trials of `imbrex tune` are.  A record of
the same problem is begun anew.

A second table is of the same times and a model that is wrong: the CPU model with every price off by a
factor of exp(0.7 z), z normal, half or double the first cache, a quarter to double the second, and one or two
multiply-adds a cycle.  It stands for a machine that the model was not fitted to.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, TypeAlias

import numpy as np

from imbrex.bench.contest import contest, turn_of
from imbrex.bench.picture import Line, lines_picture
from imbrex.chip import PRICES, CpuMachine, Level, Machine
from imbrex.config.candidates import Candidate, Candidates, candidates
from imbrex.config.modelled import is_modelled, modelled
from imbrex.config.request import Request
from imbrex.database import Database, Unit
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import Target, compile, target_of
from imbrex.pipeline import machine_for, machine_on
from imbrex.problem import Problem, parse_problem, problem_text
from imbrex.run.host_machine import host_machine
from imbrex.run.time import Timing
from imbrex.tuner.campaign import here_of, lock_of, request_of
from imbrex.tuner.outcome import Limits, Step
from imbrex.tuner.pool import Builders, Timer
from imbrex.tuner.replay import STRATEGIES, Record, Strategy, read, regrets, write
from imbrex.tuner.session import Session
from imbrex.tuner.task import Work
from imbrex.verify.data import random_operands

RECORDS = Path(__file__).resolve().parent / "records"
TRIALS = (1, 2, 4, 8, 12, 16, 20, 30, 40, 50, 70, 100)
TOLD = (20, 50, 100)
WRONG = 4
"""Wrong models, each of all records."""
BLOCK, AGAIN = 8, 32
WINDOWS, WINDOWS_AGAIN = 14, 60
COLOURS: dict[Strategy, str] = {"search": "#0b6e4f", "model": "#b8860b", "random": "#888888"}
NAMES: dict[Strategy, str] = {"search": "search", "model": "the model's order", "random": "chance"}


def main() -> None:
    options = arguments()
    if options.record:
        if options.target == "cpu":
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        options.records.mkdir(exist_ok=True)
        for problem in (problem for line in options.record for problem in parse_problem(line)):
            found = recorded(problem, options)
            write(found, options.records / f"{problem.key()}.txt.gz")
        return
    records = [of_today(read(path)) for path in sorted(options.records.glob("*.txt.gz"))]
    cpus = [record for record in records if record.about["target"] == "cpu"]
    gpus = [record for record in records if record.about["target"] != "cpu"]
    kinds = {"as it is": cpus, "wrong": list(wrong_models(cpus)), "of a GPU as it is": gpus}
    found = {kind: outcomes(those, options.seeds) for kind, those in kinds.items() if those}
    for kind, those in found.items():
        print(f"\n{len(kinds[kind])} replays x {options.seeds} seeds, the model {kind}\n")
        print(table(those))
    if options.picture:
        options.picture.write_text(picture(found["as it is"]), encoding="utf-8")
    if options.json:
        told = {k: {s: np.round(v, 5).tolist() for s, v in those.items()} for k, those in found.items()}
        options.json.write_text(json.dumps({"trials": TRIALS, "regrets": told}) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", nargs="+", metavar="PROBLEM")
    parser.add_argument("--target", default="cpu", help="of what is recorded: cpu, or a GPU that is here")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile for a GPU")
    parser.add_argument("--records", type=Path, default=RECORDS, help="the folder of the records")
    parser.add_argument("--top", type=int, default=180)
    parser.add_argument("--more", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def outcomes(records: Sequence[Record], seeds: int) -> dict[Strategy, Any]:
    """Regrets, a row a run and a column for each of TRIALS."""
    runs = [(record, seed) for record in records for seed in range(seeds)]
    return {s: np.array([regrets(record, s, TRIALS, seed) for record, seed in runs]) for s in STRATEGIES}


def table(found: dict[Strategy, Any]) -> str:
    """Rows of Markdown: regret in percent, mean / p95 / worst."""
    lines = [
        f"| tried next by | the pick alone | {' | '.join(f'{n} trials' for n in TOLD)} |",
        f"| {' | '.join(['---'] * (2 + len(TOLD)))} |",
    ]
    for strategy, values in found.items():
        cells = [_cell(values[:, TRIALS.index(count)]) for count in TOLD]
        first = _cell(values[:, 0]) if strategy != "random" else ""
        lines.append(f"| {NAMES[strategy]} | {first} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(values: Any) -> str:
    told = (values.mean(), np.quantile(values, 0.95), values.max())
    return " / ".join(f"{100 * value:.1f}" for value in told)


def picture(found: dict[Strategy, Any]) -> str:
    """Mean regret against trials, as SVG."""
    lines = [
        Line(NAMES[s], COLOURS[s], tuple(zip(TRIALS, 100 * values.mean(axis=0), strict=True)))
        for s, values in found.items()
    ]
    return lines_picture(lines, "trials", "slower than the fastest, %, mean")


def of_today(record: Record) -> Record:
    """The record as today's model orders it; as it is where the model does not know all of it."""
    here = machine_of(record)
    known = all(is_modelled(candidate.configuration) for candidate in record.candidates)
    return ordered_by(record, here, here) if known else record


def wrong_models(records: Sequence[Record]) -> Iterator[Record]:
    """The records as models with other prices and caches would order them."""
    for seed in range(WRONG):
        rng = np.random.default_rng(1000 + seed)
        prices = _off(PRICES, rng)
        smaller, fewer = 2.0 ** rng.integers(-1, 2), 2.0 ** rng.integers(-2, 2)
        rate = float(rng.choice([1.0, 2.0]))
        for record in records:
            here = machine_of(record)
            assert isinstance(here, CpuMachine), here
            off = replace(
                here,
                l1_bytes=int(here.l1_bytes * smaller),
                l2_bytes=int(here.l2_bytes * fewer),
                fma_per_cycle=rate,
                prices=prices,
            )
            yield ordered_by(record, here, off)


def ordered_by(record: Record, here: Machine, other: Machine) -> Record:
    """The record of the machine `here` as the model orders it with the other one's parameters."""
    (problem,) = parse_problem(record.about["problem"])
    request = Request(problem, here, record.about["target"])
    return record.ranked_by(modelled(request, [c.configuration for c in record.candidates])(other))


def machine_of(record: Record) -> Machine:
    """What a record's times are of."""
    about = record.about["machine"]
    if record.about["target"] != "cpu":
        return machine_on(host_machine(), record.about["target"], 1)
    facts = about["isa"], 1, about["l2_bytes"], about["l3_bytes"], about["fma_per_cycle"]
    return machine_for("cpu", *facts)


def _off(prices: Any, rng: np.random.Generator) -> Any:
    """Prices with every number off by a factor."""

    def one(value: Any) -> Any:
        return _off(value, rng) if isinstance(value, Level) else value * float(np.exp(0.7 * rng.normal()))

    return replace(prices, **{f.name: one(getattr(prices, f.name)) for f in fields(prices)})


def recorded(problem: Problem, options: argparse.Namespace) -> Record:
    """Configurations of a problem, compiled and timed: the model's first, and some of the others."""
    top, target = options.top, target_of(options.target)
    ranked = candidates(request_of(problem, target, 1, host_machine())).ranked
    others = range(min(top, len(ranked)), len(ranked))
    rest = sorted(random.Random(0).sample(others, min(options.more, len(others))))
    places = [*range(min(top, len(ranked))), *rest]
    about = {
        "problem": problem_text(problem),
        "target": options.target,
        "threads": 1,
        "legal": len(ranked),
        "recorded": len(places),
        "left_out": f"of those after the model's first {top} all but {len(rest)}, drawn by lot",
        "date": datetime.now(UTC).date().isoformat(),
    }
    kept = [ranked[place] for place in places]
    if target.is_native:
        more_about, times = recorded_here(problem, kept)
    else:
        more_about, times = recorded_there(problem, target, kept, options.jobs)
    return Record(about | more_about, tuple(kept), tuple(times))


Times: TypeAlias = tuple[dict[str, Any], list[float | None]]
"""The machine and how it was timed; nanoseconds, None where it failed."""


def recorded_here(problem: Problem, kept: Sequence[Candidate]) -> Times:
    """Times on one thread of this CPU, in turn with the model's pick."""
    here = host_machine()
    ratios, pick_ns = dict[Candidate, float](), 0.0
    for start in range(1, len(kept), BLOCK):
        found, pick_ns = timed(problem, kept[0], kept[start : start + BLOCK], WINDOWS)
        ratios |= found
        print(f"{problem.key()}: {start + len(found)} of {len(kept)}", flush=True)
    fastest = sorted(ratios, key=ratios.__getitem__)[:AGAIN]
    again, pick_ns = timed(problem, kept[0], fastest, WINDOWS_AGAIN)
    ratios |= again | {kept[0]: 1.0}
    about = {
        "machine": {
            "cpu": here.cpu,
            "isa": here.isa.level,
            "l2_bytes": here.l2_bytes,
            "l3_bytes": here.l3_bytes,
            "fma_per_cycle": here.isa.fma_per_cycle,
        },
        "timed": f"warm caches, one pinned core; lower quartile of {WINDOWS} windows in turn with the pick, "
        f"as a ratio to it; the fastest {AGAIN} again with {WINDOWS_AGAIN} windows",
    }
    return about, [ratios[c] * pick_ns if c in ratios else None for c in kept]


def recorded_there(problem: Problem, target: Target, kept: Sequence[Candidate], jobs: int) -> Times:
    """Times on a GPU, each a trial of the tuner's: checked, then timed alone, in cold caches."""
    here, text, found = here_of(target), problem_text(problem), Candidates(tuple(kept), {}, {})

    def told(step: Step) -> None:
        if step.trials % 50 == 0:
            print(f"{problem.key()}: {step.trials} of {len(kept)}", flush=True)

    with TemporaryDirectory() as folder, ExitStack() as stack:
        builders = stack.enter_context(Builders(jobs))
        timer = stack.enter_context(Timer(lock_of(f"{here.device.key} 0"), lambda: None))
        database = stack.enter_context(Database(Path(folder) / "trials.sqlite"))
        session = Session(
            Unit(text, str(target), here.device, 0), Work(text, target, 1), found, (),
            Limits(None, math.inf, Event()), builders, timer, database, "record", told, here.is_cold,
        )  # fmt: skip
        times = session.timed(range(len(kept)))
    about = {
        "machine": {"gpu": here.device.name, **dict(here.device.hardware)},
        "timed": "as trials of imbrex tune, in cold caches; what takes 1.5 times the best, by one window",
    }
    return about, [times.get(place) for place in range(len(kept))]


def timed(
    problem: Problem, pick: Candidate, others: Sequence[Candidate], windows: int
) -> tuple[dict[Candidate, float], float]:
    """Times as ratios to the pick's, of those that compile, and the pick's."""
    found = random_operands(problem, 0, "float").arrays
    arrays = [found[o.role] for o in problem.operands]
    with ExitStack() as stack:
        calls, timed_ones = dict[str, Any](), dict[str, Candidate]()
        for candidate in (pick, *others):
            name = str(candidate.configuration)
            try:
                kernel = compile(problem, config=name, threads=1)
            except Diagnostic as error:
                print(f"{name}: {error.message}")
                continue
            calls[name] = stack.enter_context(kernel.loaded.resident(*arrays, threads=1))
            timed_ones[name] = candidate
        turns = {name: turn_of(call) for name, call in calls.items()}
        samples = contest(turns, budget_s=0.0, least=windows)
    quartile = {
        name: float(np.quantile(t.samples_ns, 0.25)) for name, t in samples.items() if isinstance(t, Timing)
    }
    base = quartile[str(pick.configuration)]
    return {timed_ones[name]: ns / base for name, ns in quartile.items() if timed_ones[name] != pick}, base


if __name__ == "__main__":
    main()
