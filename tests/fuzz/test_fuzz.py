"""What was found once is right now; a few new cases of every quick generator; and the oracles see faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import strategies as st
from tests.fuzz import texts
from tests.fuzz.drawn import EPILOGUES
from tests.fuzz.generator import Case, Generator, TooSlow, expect_message, run
from tests.fuzz.generators import GENERATORS
from tests.fuzz.machines import COMMANDS, IR, KERNELS, LEVELS

from imbrex.diagnostic import Diagnostic
from imbrex.problem import epilogue_function

FOUND = [(generator, case) for generator in GENERATORS for case in generator.corpus]
QUICK = [generator for generator in GENERATORS if generator.is_quick]


@pytest.mark.parametrize(("generator", "case"), FOUND, ids=lambda value: getattr(value, "name", None))
def test_what_was_found_is_right(generator: Generator, case: Case) -> None:
    generator.ask(case)


@pytest.mark.parametrize("generator", QUICK, ids=lambda generator: generator.name)
def test_a_few_cases(generator: Generator) -> None:
    done = run(generator, 0, cases=12)
    if done.error is not None:
        raise done.error  # with the case in its notes; or a skip, where only quick tests are wanted
    assert done.tried >= 10


@pytest.mark.parametrize("text", EPILOGUES)
def test_epilogues_that_all_cases_begin_with(text: str) -> None:
    assert texts.EXPRESSIONS.ask((text,)) == (not text.startswith("f16(x * "))


def _raise(error: BaseException) -> Callable[..., bool]:
    def oracle(*_: str) -> bool:
        raise error

    return oracle


@pytest.mark.parametrize("error", [AssertionError("wrong"), RecursionError(), SystemExit(3)])
def test_control_any_fault_is_seen_and_made_small(error: BaseException) -> None:
    generator = Generator("control", st.tuples(st.text()), _raise(error))
    done = run(generator, 0)
    assert done.failed == ("",) and type(error) is type(done.error)


def test_control_a_case_without_end_is_seen() -> None:
    def forever(_: str) -> bool:
        while True:
            pass

    with pytest.raises(TooSlow):
        Generator("control", st.tuples(st.text()), forever, limit_s=1).ask(("",))


def test_control_the_oracles_see_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    subtract = replace(epilogue_function.FUNCTIONS["subtract"], value=lambda x, y: y - x)
    with monkeypatch.context() as patch, pytest.raises(AssertionError, match="is not"):
        patch.setitem(epilogue_function.FUNCTIONS, "subtract", subtract)  # pyright: ignore[reportArgumentType]
        texts.EXPRESSIONS.ask(("x - bias",))
    with monkeypatch.context() as patch, pytest.raises(AssertionError):
        patch.setattr(texts, "problem_text", lambda _: "gemm -m 1 -n 1 -k 2")
        texts.PROBLEMS.ask(("gemm -m 1 -n 1 -k 1",))
    with monkeypatch.context() as patch, pytest.raises(AssertionError, match="a fault of Imbrex"):
        patch.setattr("imbrex.cli.map.raster_order", _raise(KeyError("x")))
        COMMANDS.ask(("map", "4x4"))
    for wrong in (Diagnostic("not well-formed (KeyError: 'x')"), Diagnostic(""), Diagnostic("a\nb" * 2000)):
        with pytest.raises(AssertionError):
            expect_message(wrong)


@pytest.mark.parametrize(
    ("generator", "case", "is_carried_out"),
    [
        (IR, ("func.func @f(%a: memref<4xf32>) { func.return }",), True),
        (IR, ("func.func @f(%a: memref<4xf32>) { func.retur }",), False),
        (COMMANDS, ("map", "6x8"), True),
        (COMMANDS, ("map", "6x8", "-o", "out.txt", "--format", "json"), True),
        (COMMANDS, ("map", "6"), False),
        (LEVELS, ("gemm -m 5 -n 3 -k 2", "avx2", "", ""), True),
        (LEVELS, ("gemm -m 5 -n 3 -k 2", "avx2", "winograd", ""), False),
        (KERNELS, ("gemm -m 5 -n 3 -k 2", "v1:cpu:99,16,99,16,32,16,k_major,a,straight", ""), False),
    ],
)
def test_answers(generator: Generator, case: Case, is_carried_out: bool) -> None:
    assert generator.ask(case) is is_carried_out
