"""Generator: where cases come from, and what is asked of each.

Law: a case is a tuple of texts, so that it can be kept in a file and tried again; an oracle raises
AssertionError for a fault, returns False for a case that was refused in one message, and True for one that
was carried out.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from collections.abc import Generator as Iterated
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from imbrex.diagnostic import Diagnostic

CORPUS = Path(__file__).parent / "corpus"

Case: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Generator:
    """cases: what is drawn.  oracle: see above.  cases_a_round: of one seed.

    is_quick: fast enough for failures to be made small, and for a few cases in every run of the tests.
    limit_s: what one case may take.
    """

    name: str
    cases: st.SearchStrategy[Case]
    oracle: Callable[..., bool]
    cases_a_round: int = 100
    is_quick: bool = True
    limit_s: int = 20

    @property
    def corpus(self) -> list[Case]:
        """The cases that once were faults."""
        path = CORPUS / f"{self.name}.json"
        return [tuple(case) for case in json.loads(path.read_text("utf-8"))] if path.exists() else []

    def ask(self, case: Case) -> bool:
        """The oracle's answer, in time."""
        with within(self.limit_s):
            return self.oracle(*case)


@dataclass
class Round:
    """What became of the cases of one seed.  failed: the last case that was a fault, made small."""

    tried: int = 0
    carried_out: int = 0
    seconds: float = 0.0
    failed: Case | None = None
    error: BaseException | None = field(default=None, repr=False)


def run(generator: Generator, number: int, cases: int | None = None, until_s: float = 1e30) -> Round:
    """One round with that seed; it ends early once `until_s`, of time.monotonic, has come."""
    done, started = Round(), time.monotonic()
    is_failing = False

    def one(case: Case) -> None:
        nonlocal is_failing
        if not is_failing and time.monotonic() > until_s:
            return
        done.tried += 1
        try:
            done.carried_out += generator.ask(case)
        except BaseException:
            is_failing, done.failed = True, case
            raise

    phases = (Phase.generate, Phase.shrink) if generator.is_quick else (Phase.generate,)
    setting = settings(
        max_examples=cases or generator.cases_a_round, database=None, deadline=None, phases=phases,
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False, print_blob=False,
    )  # fmt: skip
    try:
        seed(number)(setting(given(generator.cases)(one)))()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        assert done.failed is not None, error
        done.error = error
    done.seconds = time.monotonic() - started
    return done


class TooSlow(AssertionError):
    """A case that takes longer than any may."""


@contextmanager
def within(seconds: int) -> Iterated[None]:
    """TooSlow, from wherever the program is, once that time is over."""

    def over(_: int, __: FrameType | None) -> None:
        raise TooSlow(f"not done in {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def expect_message(error: Diagnostic) -> bool:
    """False, for a case that is refused; AssertionError where the message is none that a user could read."""
    text = str(error)
    assert error.message and len(text) < 3000, f"a message of {len(text)} characters"
    assert all(c.isprintable() or c in "\n\t" for c in text), f"not printable: {text!r}"
    assert "not well-formed" not in text, text
    if error.source is not None and error.col is not None:
        carets = text.split("\n")[2]
        assert set(carets) <= set(" \t^") and "^" in carets, text
    return False
