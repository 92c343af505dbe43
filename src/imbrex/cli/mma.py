"""imbrex explain mma: matrix instructions, and where their lanes hold the elements of A, B and C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from imbrex.cli import mma_answer as answers
from imbrex.cli.mma_answer import OPERANDS, Answer
from imbrex.cli.report_file import file_name
from imbrex.cli.text import facts
from imbrex.diagnostic import Diagnostic
from imbrex.numeral import whole
from imbrex.view.mma import (
    Element,
    Instruction,
    LaneRegister,
    Operand,
    instruction,
    instructions,
    on_chip,
    taking,
)
from imbrex.whole_file import write_text

__all__ = ["command"]


@click.command("mma", short_help="show matrix instructions and what their lanes hold")
@click.argument("name", required=False)
@click.option("--chip", metavar="CHIP", help="Only what this chip has, such as gfx942.")
@click.option("--types", metavar="A[,B]", help="Only what multiplies these types, such as f16 or fp8,bf8.")
@click.option("--operand", type=click.Choice(OPERANDS), help="Show this matrix only.")
@click.option("--register-of", metavar="ROW,COL[,BLOCK]", help="Which lane and register hold an element.")
@click.option("--element-of", metavar="LANE,REGISTER", help="Which element a lane's register holds.")
@click.option("--matrix", is_flag=True, help="The lane and register of every element.")
@click.option("--registers", is_flag=True, help="The element in every lane's register.")
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "json", "svg"]), default="table",
    help="How to print the answer; svg draws --matrix, its default, or --registers.",
)  # fmt: skip
@click.option("-o", "--output", metavar="FILE", type=file_name, help="Write to a file instead.")
def command(
    name: str | None,
    chip: str | None,
    types: str | None,
    operand: Operand | None,
    register_of: str | None,
    element_of: str | None,
    matrix: bool,
    registers: bool,
    form: str,
    output: str | None,
) -> None:
    """List the matrix instructions of AMD's and NVIDIA's chips, or show one: its shape, types, builtin,
    cycles, and how its lanes hold A, B and C.

    NAME is the table's name, a builtin or a mnemonic.  Registers count the elements that a lane holds; rows,
    columns, blocks and lanes count from 0.
    """
    questions = {
        "--register-of": register_of, "--element-of": element_of,
        "--matrix": matrix, "--registers": registers,
    }  # fmt: skip
    given = [option for option, value in questions.items() if value not in (None, False)]
    if len(given) > 1:
        raise Diagnostic(f"{given[0]} and {given[1]} are two questions", hint="ask one at a time")
    if name is None:
        text = _list(chip, types, [*given, *(["--operand"] if operand else [])], form)
    else:
        if types is not None:
            raise Diagnostic(
                "--types chooses from the list, and NAME one instruction", hint="give one of them"
            )
        found = instruction(name) if chip is None else on_chip(name, chip)
        chosen = found.held if operand is None else (operand,)
        text = _answer(found, chosen, given, str(register_of or element_of or ""), form)
    if output is None:
        click.echo(text)
    else:
        write_text(f"{text}\n", Path(output))


def _list(chip: str | None, types: str | None, questions: Sequence[str], form: str) -> str:
    if questions or form == "svg":
        what = questions[0] if questions else "--format svg"
        raise Diagnostic(f"{what} is about one instruction", hint="name it: imbrex explain mma NAME ...")
    if types is None:
        found = instructions(chip)
    else:
        a, _, b = (word.strip() for word in types.partition(","))
        found = taking(chip, a, b or None)
    return answers.written([answers.listing(found)], form)


def _answer(
    found: Instruction, chosen: Sequence[Operand], questions: Sequence[str], given: str, form: str
) -> str:
    """The answer to the one question, or all facts where there is none."""
    question = questions[0] if questions else None
    if form == "svg":
        from imbrex.explore.mma_picture import matrix_picture, register_picture
        from imbrex.explore.svg import document

        if question not in (None, "--matrix", "--registers"):
            raise Diagnostic(f"{question} has no picture", hint="--matrix and --registers have")
        drawn = register_picture if question == "--registers" else matrix_picture
        return document(drawn(found, chosen)).rstrip()
    match question:
        case "--register-of":
            row, column, *block = _numbers(question, given, (2, 3), "ROW,COL or ROW,COL,BLOCK")
            wanted = Element(row, column, *block)
            found_there = _where_there_is_one(chosen, lambda o: answers.register_of(found, o, wanted))
            return answers.written(found_there, form)
        case "--element-of":
            place = LaneRegister(*_numbers(question, given, (2,), "LANE,REGISTER"))
            found_there = _where_there_is_one(chosen, lambda o: answers.element_of(found, o, place))
            return answers.written(found_there, form)
        case "--matrix":
            return answers.written([a for o in chosen for a in answers.matrix(found, o)], form)
        case "--registers":
            return answers.written([answers.register_file(found, o) for o in chosen], form)
        case _:
            return _facts(found, chosen, form)


def _where_there_is_one(chosen: Sequence[Operand], ask: Callable[[Operand], Answer]) -> list[Answer]:
    """The answers of the operands that have what is asked for; where none has, what the first one says."""
    found: list[Answer] = []
    refused: list[Diagnostic] = []
    for operand in chosen:
        try:
            found.append(ask(operand))
        except Diagnostic as error:
            refused.append(error)
    if not found:
        raise refused[0]
    return found


def _facts(found: Instruction, chosen: Sequence[Operand], form: str) -> str:
    answer = answers.described(found, chosen)
    if form != "table":
        return answers.written([answer], form)
    return facts(answer.title, [(name, value) for name, value in answer.rows])


def _numbers(option: str, text: str, counts: Sequence[int], shape: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    numbers = [number for word in words if (number := whole(word)) is not None]
    if len(words) not in counts or len(numbers) < len(words):
        raise Diagnostic(f"{option} takes {shape}, got '{text}'")
    return numbers
