"""A session: what it tries, what it keeps, who wins; on made-up times, with a real database."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from imbrex.chip import CPU_ISAS
from imbrex.config.candidates import Candidates, candidates
from imbrex.config.request import Request
from imbrex.database import Database, Device, Unit
from imbrex.kernel import target_of
from imbrex.problem import Gemm, problem_text
from imbrex.run.isolated import Failed
from imbrex.tuner.duel import FEWEST_PAIRS
from imbrex.tuner.outcome import Limits, Step, Tuned
from imbrex.tuner.session import FINALISTS, RACE_BLOCKS, Session
from imbrex.tuner.task import Build, Built, Contest, Contested, Probe, Probed, Proof, Work

PROBLEM = Gemm(300, 280, 264)
FOUND = candidates(Request(PROBLEM, CPU_ISAS["avx2"]))
FEW = Candidates(FOUND.ranked[:12], {}, {})
TEXTS = [str(one.configuration) for one in FOUND.ranked]
UNIT = Unit(problem_text(PROBLEM), "cpu", Device("a CPU", (("isa", "avx2"),)), 1)
WORK = Work(UNIT.problem, target_of(), 1)
PICK_NS = 1000.0


class Here:
    """Builders and a timer in this process.  times: of a configuration; answers: of tasks that fail, of
    contests those that have so many blocks.
    """

    count = 2

    def __init__(self, times: Callable[[str], float], **answers: Failed | Probed) -> None:
        self.times, self.answers = times, answers
        self.source, self.probes = "a", 0
        self.from_blocks = 0
        self.noise, self.noise_ln = random.Random(0), 0.01

    def submit(self, task: Build) -> Future[Built | Failed]:
        future: Future[Built | Failed] = Future()
        future.set_result(self._answer("build", task, Built(self.source, "clang", 0.1)))
        return future

    def probe(self, task: Probe, limit_s: float) -> Probed | Failed:
        assert 0 < limit_s < 1000
        self.probes += 1
        samples = tuple(self._time(task.configuration) for _ in range(5))
        return self._answer("probe", task, Probed(None, samples))

    def prove(self, task: Proof, limit_s: float) -> Probed | Failed:
        return self._answer("prove", task, Probed(None))

    def contest(self, task: Contest, limit_s: float) -> Contested | Failed:
        for text in task.configurations:
            if (
                broken := self.answers.get(f"contest_{TEXTS.index(text)}")
            ) and task.blocks >= self.from_blocks:
                assert isinstance(broken, Failed)
                return broken
        blocks = [tuple(map(self._time, task.configurations)) for _ in range(task.blocks)]
        return Contested(tuple(blocks), (False,) * len(blocks))

    def _time(self, configuration: str) -> float:
        return self.times(configuration) * math.exp(self.noise.gauss(0, self.noise_ln))

    def _answer(self, kind: str, task: Any, usual: Any) -> Any:
        place = TEXTS.index(task.configuration)
        return self.answers.get(f"{kind}_{place}", usual)


def session(here: Any, database: Database, trials: int | None = None, **rest: Any) -> Session:
    limits = rest.pop("limits", Limits(trials, math.inf, Event()))
    found: Candidates = rest.pop("found", FEW)
    name: str = rest.pop("name", "s")
    return Session(UNIT, WORK, found, rest.pop("seeds", ()), limits, here, here, database, name, _nothing)


def _nothing(step: Step) -> None:
    """Nobody watches."""


@pytest.fixture
def database(tmp_path: Path) -> Any:
    with Database(tmp_path / "db.sqlite") as opened:
        yield opened


def better(place: int, factor: float = 0.8) -> Callable[[str], float]:
    return lambda text: PICK_NS * (factor if text == TEXTS[place] else 1.1 if text != TEXTS[0] else 1.0)


def test_what_is_faster_wins_and_is_kept(database: Database) -> None:
    tuned = session(Here(better(5)), database).run()
    assert (tuned.winner, tuned.pick) == (TEXTS[5], TEXTS[0])
    assert tuned.low <= tuned.gain <= tuned.high and tuned.gain == pytest.approx(1.25, rel=0.02)
    assert tuned.counts == {"ok": 12} and tuned.tried[0].rank == 0
    best = database.best(UNIT)
    assert best is not None and best.configuration == TEXTS[5] and best.gain == tuned.gain
    assert len(database.trials(UNIT)) == 12


def test_the_pick_stays_where_nothing_is_proven_faster(database: Database) -> None:
    tuned = session(Here(lambda text: PICK_NS), database).run()
    assert tuned.winner == TEXTS[0] and tuned.gain == 1.0
    assert database.best(UNIT) is not None


def test_what_was_measured_is_not_measured_again(database: Database) -> None:
    first = session(Here(better(5)), database).run()
    here = Here(better(5))
    again = session(here, database).run()
    assert here.probes == again.fresh == 0 and again.winner == first.winner and again.gain == first.gain


def test_other_code_is_measured_again(database: Database) -> None:
    session(Here(better(5)), database).run()
    here = Here(better(4))
    here.source = "b"
    assert session(here, database).run().winner == TEXTS[4] and here.probes == 12


def test_seeds_are_tried_after_the_pick(database: Database) -> None:
    tuned = session(Here(better(40)), database, trials=4, seeds=[TEXTS[40]], found=FOUND).run()
    assert tuned.tried[1].rank == 40 and tuned.winner == TEXTS[40]


def test_a_failure_is_a_row_and_the_search_goes_on(database: Database) -> None:
    answers = {
        "build_1": Failed("error", "no such register"),
        "probe_2": Failed("hang", "no answer"),
        "probe_3": Failed("crash", "exit code -11"),
        "probe_4": Probed("element [0, 0] is wrong"),
    }
    tuned = session(Here(better(5), **answers), database).run()
    assert tuned.winner == TEXTS[5]
    assert tuned.counts == {"failed": 1, "timeout": 1, "crashed": 1, "wrong": 1, "ok": 8}
    notes = {trial.configuration: trial.note for trial in database.trials(UNIT)}
    assert notes[TEXTS[4]] == "element [0, 0] is wrong" and notes[TEXTS[1]] == "no such register"


def test_who_ended_a_process_once_is_tried_again_and_twice_is_not(database: Database) -> None:
    """Once may be the machine's doing, where memory was short."""
    broken = {"probe_0": Failed("crash", "exit code -9"), "probe_3": Failed("hang", "no answer")}
    first = session(Here(better(5), **broken), database, name="1").run()
    assert first.counts == {"ok": 10, "crashed": 1, "timeout": 1} and not first.is_judged
    here = Here(better(5), probe_3=broken["probe_3"])
    second = session(here, database, name="2").run()
    assert here.probes == 2 and second.counts == {"ok": 11, "timeout": 1} and second.winner == TEXTS[5]
    third = session(Here(better(5)), database, name="3").run()
    assert third.fresh == 0 and third.counts == second.counts


def test_an_interrupt_does_not_wait_for_compilers(database: Database) -> None:
    here, ends = Here(better(5)), Event()
    usual, here.submit = here.submit, lambda task: Future() if here.probes > 2 else usual(task)  # type: ignore[method-assign]
    found = session(here, database, limits=Limits(None, math.inf, ends))
    found.report = lambda step: ends.set() if step.doing.startswith("compiling") and step.trials > 2 else None
    tuned = found.run()
    assert tuned.counts["ok"] == len(database.trials(UNIT)) >= 3 and not tuned.is_judged


def test_what_is_compiled_is_told_before_there_is_a_trial(database: Database) -> None:
    found, told = session(Here(better(5)), database), list[Step]()
    found.report = told.append
    found.run()
    assert (told[0].trials, told[0].doing) == (0, "compiling 2")


def test_what_is_wrong_in_a_longer_check_does_not_win(database: Database) -> None:
    tuned = session(Here(better(5), prove_5=Probed("bits are lost")), database).run()
    assert tuned.winner != TEXTS[5] and tuned.counts["wrong"] == 1
    best = database.best(UNIT)
    assert best is not None and best.configuration != TEXTS[5]


@pytest.mark.parametrize(("kind", "status"), [("crash", "crashed"), ("hang", "timeout")])
@pytest.mark.parametrize("from_blocks", [RACE_BLOCKS, FEWEST_PAIRS, FEWEST_PAIRS + 1])
def test_who_breaks_the_process_in_turn_with_others_is_dropped(
    kind: str, status: str, from_blocks: int, database: Database
) -> None:
    """In a race, in the duel's first blocks, in its others."""
    here = Here(lambda text: PICK_NS * {TEXTS[5]: 0.7, TEXTS[4]: 0.8}.get(text, 1.0))
    here.noise_ln, here.from_blocks = 0.05, from_blocks
    here.answers = {"contest_5": Failed(kind, "no answer in 20 s")}
    tuned = session(here, database).run()
    assert tuned.winner == TEXTS[4] and tuned.gain == pytest.approx(1.25, rel=0.1)
    assert tuned.counts == {"ok": 11, status: 1} and tuned.fresh == 12
    (told,) = [trial for trial in database.trials(UNIT) if trial.status != "ok"]
    assert (told.configuration, told.status, told.note) == (TEXTS[5], status, "no answer in 20 s")


def test_the_pick_stays_where_all_finalists_break_the_process(database: Database) -> None:
    here = Here(better(5), **{f"contest_{place}": Failed("crash", "") for place in range(1, 12)})
    here.from_blocks = FEWEST_PAIRS
    tuned = session(here, database).run()
    assert tuned.winner == TEXTS[0] and tuned.counts["crashed"] == FINALISTS
    best = database.best(UNIT)
    assert best is not None and best.configuration == TEXTS[0]


def test_a_pick_that_breaks_the_process_leaves_no_verdict(database: Database) -> None:
    here = Here(better(5), contest_0=Failed("crash", ""))
    here.from_blocks = FEWEST_PAIRS
    tuned = session(here, database).run()
    assert database.best(UNIT) is None and tuned.counts["crashed"] == 1 and tuned.gain == 1.0


def test_what_nobody_alone_is_to_blame_for_leaves_no_verdict(database: Database) -> None:
    here = Here(better(5))
    together, here.contest = (
        here.contest,
        lambda task, limit_s: (  # type: ignore[method-assign]
            Failed("crash", "") if len(task.configurations) > 1 else together(task, limit_s)
        ),
    )
    tuned = session(here, database).run()
    assert database.best(UNIT) is None and tuned.counts == {"ok": 12}


def test_a_pick_that_fails_leaves_no_verdict(database: Database) -> None:
    tuned = session(Here(better(5), build_0=Failed("error", "no")), database).run()
    assert database.best(UNIT) is None and tuned.pick_ns is None and tuned.gain == 1.0


def test_a_session_ends_when_it_is_told_to(database: Database) -> None:
    ends = Event()
    here = Here(better(5))
    found = session(here, database, limits=Limits(None, math.inf, ends))

    def report(step: Step) -> None:
        if step.trials >= 6:
            ends.set()

    found.report = report
    tuned: Tuned = found.run()
    assert 6 <= sum(tuned.counts.values()) <= 6 + here.count and not tuned.is_done


def test_all_candidates_are_tried_where_they_are_few(database: Database) -> None:
    assert sum(session(Here(better(2)), database).run().counts.values()) == len(FEW.ranked)
