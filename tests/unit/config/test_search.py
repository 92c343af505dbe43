"""search: counts, order, verification before timing, and taking over earlier trials."""

import pytest

from imbrex.chip import target
from imbrex.config.choose import GENERAL_LIST
from imbrex.config.context import GemmContext
from imbrex.config.db import Trial
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.general.space import general_space
from imbrex.config.legal import check
from imbrex.config.search import SearchReport, search
from imbrex.config.tuning import Tuning
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import F32

GFX942 = target("gfx942")
CONTEXT = GemmContext(256, 256, 256, F32)
ILLEGAL = GeneralTuning(512, 128, 128, 8, 4, 4)


def fine(tuning: Tuning) -> None:
    return None


def by_k(tuning: Tuning) -> float:
    return float(tuning.k_per_block)


def test_the_fastest_wins_and_every_trial_is_recorded() -> None:
    kept: list[Trial] = []
    report = search(GENERAL_LIST, CONTEXT, GFX942, verify=fine, time_ns=by_k, record=kept.append, top=30)
    assert tuple(kept) == report.trials and len(kept) == report.legal == len(GENERAL_LIST)
    assert report.best is not None and report.best.nanoseconds == 4.0


def test_illegal_tunings_are_counted_by_rule_and_not_tried() -> None:
    tried: list[Tuning] = []

    def verify(tuning: Tuning) -> None:
        tried.append(tuning)

    report = search(
        general_space(), CONTEXT, GFX942, verify=verify, time_ns=by_k, record=lambda t: None, top=5
    )
    assert report.considered == 324 and len(tried) == len(report.trials) == 5
    assert all(not check(t, CONTEXT, GFX942) for t in tried)
    assert report.broken["thread_clusters"] > 0 and report.legal + max(report.broken.values()) <= 324


def test_a_wrong_kernel_is_not_timed() -> None:
    timed: list[Tuning] = []

    def verify(tuning: Tuning) -> str | None:
        return "element (3, 4): got 1, want 2" if tuning.k_per_block == 4 else None

    def time_ns(tuning: Tuning) -> float:
        timed.append(tuning)
        return by_k(tuning)

    report = search(
        GENERAL_LIST, CONTEXT, GFX942, verify=verify, time_ns=time_ns, record=lambda t: None, top=30
    )
    assert all(t.k_per_block != 4 for t in timed)
    assert report.best is not None and report.best.nanoseconds == 8.0
    wrong = [t for t in report.trials if t.status == "wrong"]
    assert wrong and {t.note for t in wrong} == {"element (3, 4): got 1, want 2"}


def test_a_diagnostic_is_a_failed_trial_and_another_error_ends_the_search() -> None:
    def fails(tuning: Tuning) -> float:
        raise Diagnostic("the kernel does not compile")

    def breaks(tuning: Tuning) -> float:
        raise ZeroDivisionError

    report = search(GENERAL_LIST, CONTEXT, GFX942, verify=fine, time_ns=fails, record=lambda t: None, top=2)
    assert [(t.status, t.note) for t in report.trials] == [("failed", "the kernel does not compile")] * 2
    assert report.best is None
    with pytest.raises(ZeroDivisionError):
        search(GENERAL_LIST, CONTEXT, GFX942, verify=fine, time_ns=breaks, record=lambda t: None)


def test_known_trials_are_not_run_again() -> None:
    first, new = GENERAL_LIST[0], list[Trial]()
    report = search(
        GENERAL_LIST,
        CONTEXT,
        GFX942,
        verify=fine,
        time_ns=by_k,
        record=new.append,
        known=[Trial(first, "ok", 0.5)],
        top=3,
    )
    assert report.best == Trial(first, "ok", 0.5)
    assert len(report.trials) == 3 and first not in [t.tuning for t in new] and len(new) == 2


def test_a_space_without_legal_points() -> None:
    report = search([ILLEGAL], CONTEXT, GFX942, verify=fine, time_ns=by_k, record=lambda t: None)
    assert report == SearchReport(
        1, 0, {"block_size": 1, **{r.rule: 1 for r in check(ILLEGAL, CONTEXT, GFX942)}}, ()
    )
