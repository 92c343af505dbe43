"""Texts that become values, and come back from their text: problems, epilogues, tunings, schedules."""

from __future__ import annotations

import ast
from dataclasses import fields

import numpy as np
from hypothesis import strategies as st
from tests.fuzz.drawn import (
    EPILOGUES,
    NUMBERS,
    conv_lines,
    damaged,
    gemm_lines,
    hipblaslt_lines,
    json_problems,
)
from tests.fuzz.generator import Generator, expect_message

from imbrex.chip import CPU_ISAS, GPU_MACHINES
from imbrex.config import tiles, tuning
from imbrex.config.context import GemmContext
from imbrex.config.legal import check
from imbrex.diagnostic import Diagnostic
from imbrex.dtype import F16, F32
from imbrex.problem import epilogue, epilogue_function, from_json, parse_problem, problem_text
from imbrex.problem.epilogue_array import ARRAYS


def problem(text: str) -> bool:
    """A problem is that of its canonical line and of its JSON."""
    try:
        found = parse_problem(text, "fuzz")
    except Diagnostic as error:
        return expect_message(error)
    for one in found:
        line = problem_text(one)
        assert parse_problem(line) == [one], line
        assert problem_text(*parse_problem(line)) == line
        assert from_json(one.to_json()) == one, line
    return True


FUNCTIONS = {name: function.value for name, function in epilogue_function.FUNCTIONS.items()}
READ = [name for name, row in ARRAYS.items() if not row.is_stored]
VALUES = {"x": np.linspace(-3, 3, 7)} | {
    name: np.linspace(2.5 - i, i / 8 - 1, 7) for i, name in enumerate(READ)
}


class Floats(ast.NodeTransformer):
    """Whole numbers as floats: an epilogue has no others."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.copy_location(ast.Constant(float(node.value)), node)  # type: ignore[arg-type]


def expression(text: str) -> bool:
    """An epilogue is that of its text, and has the value that Python gives the text."""
    try:
        found = epilogue.parse(text)
    except Diagnostic as error:
        return expect_message(error)
    assert epilogue.parse(str(found)) == found, str(found)
    inner = text.strip()
    if found.result is not None:
        inner = inner[inner.index("(") :]
    with np.errstate(all="ignore"):
        got = found.evaluate(VALUES)
        try:
            tree = Floats().visit(ast.parse(inner.strip(), mode="eval"))
            want = eval(compile(tree, "epilogue", "eval"), {"__builtins__": {}, **FUNCTIONS, **VALUES})
        except (OverflowError, ZeroDivisionError):  # of Python's numbers; ours are NumPy's
            return True
        assert np.array_equal(got, want, equal_nan=True), f"{found}: {got} is not {want}"
    return True


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    """Operators and functions around names and numbers, with and without brackets."""
    leaf = st.sampled_from([*VALUES, "1", "0.5", "3", "1e300", "16777217", "0"]) | NUMBERS
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(leaf)
    inner = expressions(depth - 1)
    name = draw(st.sampled_from(["-", "+", "*", "/", "()", "unary", *epilogue_function.FUNCTIONS]))
    if name in "+-*/":
        return f"{draw(inner)} {name} {draw(inner)}"
    if name == "unary":
        return f"-{draw(inner)}"
    if name == "()":
        return f"({draw(inner)})"
    return f"{name}({', '.join(draw(inner) for _ in range(epilogue_function.FUNCTIONS[name].arity))})"


CONTEXTS = [
    GemmContext(*sizes, dtype=kind)
    for kind in (F32, F16)
    for sizes in ((1, 1, 1), (5, 7, 9), (256, 512, 64), (4096, 33, 2**20))
]
MACHINES = [*GPU_MACHINES.values(), *CPU_ISAS.values()]


def tuned(text: str, place: str) -> bool:
    """A tuning is that of its text; and on every machine it is legal or says why not."""
    try:
        found = tuning.parse(text)
    except Diagnostic as error:
        return expect_message(error)
    assert tuning.parse(tuning.text(found)) == found
    for machine in MACHINES:
        for reason in check(found, CONTEXTS[int(place)], machine):
            assert str(reason)
    return True


SMALL = st.sampled_from([1, 2, 3, 4, 8, 16, 32, 64, 96, 128, 256]) | st.integers(1, 2**63 - 1)
WORDS = {field: st.sampled_from(list(words)) for field, words in tuning.WORDS.items()}
INSTRUCTIONS = st.sampled_from(["auto", "mfma_f32_32x32x8_f16", "mfma_f32_16x16x4_f32"])


@st.composite
def tunings(draw: st.DrawFn) -> str:
    """A tuning of any kind, with any numbers."""
    kind = draw(st.sampled_from(sorted(tuning.KINDS)))
    values = [
        draw(INSTRUCTIONS if field.name == tuning.INSTRUCTION else WORDS.get(field.name, SMALL.map(str)))
        for field in fields(tuning.KINDS[kind])
    ]
    return f"v1:{kind}:{','.join(values)}"


def scheduled(text: str) -> bool:
    """A schedule is that of its text."""
    try:
        found = tiles.parse(text)
    except Diagnostic as error:
        return expect_message(error)
    assert tiles.parse(str(found)) == found, str(found)
    return True


@st.composite
def schedules(draw: st.DrawFn) -> str:
    """A mode, perhaps with workgroups, perhaps with an order."""
    text = draw(st.sampled_from([*tiles.WORDS, "auto", "cluster_k"]))
    text += draw(st.sampled_from(["", "", ":2", ":2", ":13", ":304"]) | NUMBERS.map(":{}".format))
    for option in draw(
        st.lists(st.sampled_from(["wgm=4", "along=n", "along=m", "xcd=8", "runtime", "wgm="]), max_size=3)
    ):
        text += f"/{option}"
    return text


PROBLEMS = Generator(
    "problems",
    st.tuples(damaged(gemm_lines() | conv_lines() | hipblaslt_lines() | json_problems())),
    problem,
)
EXPRESSIONS = Generator(
    "epilogues", st.tuples(damaged(expressions() | st.sampled_from(EPILOGUES))), expression
)
TUNINGS = Generator(
    "tunings", st.tuples(damaged(tunings()), st.sampled_from([str(i) for i in range(len(CONTEXTS))])), tuned
)
SCHEDULES = Generator("schedules", st.tuples(damaged(schedules())), scheduled)
