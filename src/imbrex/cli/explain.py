"""imbrex explain: the maps, the tuning and what follows from it, the IR, and its meaning at every level."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from imbrex.chip import Machine
from imbrex.cli.candidates import candidates_json, print_candidates
from imbrex.cli.guard import FAILED
from imbrex.cli.options import Choices, choices, format_option, keep_going_option, sources
from imbrex.cli.skipped import Skipped
from imbrex.cli.source import ProblemEntry
from imbrex.cli.table import print_table
from imbrex.cli.text import bytes_text, facts, flops_text, json_text, seconds_text
from imbrex.config import tuning as tunings
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.config.buckets import buckets, of_most
from imbrex.diagnostic import Diagnostic
from imbrex.explore.products import OperandView, Product, products
from imbrex.ir.printed import print_module
from imbrex.kernel.choice import Choice
from imbrex.kernel.decided import decided
from imbrex.kernel.options import CompileOptions
from imbrex.numeral import MOST, counted
from imbrex.pipeline import Request, configuration_of, levels
from imbrex.problem import Operand, Problem, problem_text
from imbrex.problem.run_time import expect_fixed

__all__ = ["command", "explained"]


@click.command("explain", short_help="show the maps, the tuning and every level of the IR")
@sources
@choices
@format_option
@keep_going_option
@click.option("--levels", "with_levels", is_flag=True, help="Print the IR at every level.")
@click.option("--compact", is_flag=True, help="The IR with short transforms: 0: merge(1: c, 2: y), gemmK.")
@click.option("--meaning", is_flag=True, help="Execute a small problem at every level and compare.")
@click.option(
    "--configs", type=click.IntRange(1, MOST), metavar="N", help="The N configurations that cost least."
)
def command(
    chosen: Choices,
    sources: tuple[str, ...],
    form: str,
    skipped: Skipped,
    with_levels: bool,
    compact: bool,
    meaning: bool,
    configs: int | None,
) -> int:
    """Show how each problem becomes matrix products: every operand's map with its simplified address, guards
    and vector widths; the tuning and what follows, or why not.  A size `?` has a product for each bucket.

    Here --target also takes a GPU or an instruction set by name: the schedule is chosen for it.

    `imbrex explain mma` is about matrix instructions, `imbrex explain swizzle` about the tiles that they
    want, `imbrex explain schedule` about workgroups that share tiles: see `imbrex explain mma --help`.
    """
    code = served = 0
    documents: list[dict[str, Any]] = []
    for entry in chosen.problems(sources, skipped):
        with entry.unless_served(skipped):
            _expect_fixed(entry.problem, configs=configs is not None, meaning=meaning)
            options, choice = chosen.options(entry), None
            request = options.request()
            if configs is None:
                request, choice = _advised(options, request)
            if configs is not None and form == "json":
                documents.append(candidates_json(request, configs))
            elif configs is not None:
                print_candidates(request, configs)
            elif with_levels:
                _print_levels(request, compact)
            elif meaning:
                code |= _print_meaning(chosen, entry, request)
            else:
                documents.append(_explained(options, entry, request, choice, form))
                code |= FAILED if any(product["reasons"] for product in documents[-1]["products"]) else 0
            served += 1
    if form == "json" and documents:
        click.echo(json_text(documents))
    skipped.show(on_errors=form == "json")
    return code or skipped.code(served)


def _explained(
    options: CompileOptions, entry: ProblemEntry, request: Request, choice: Choice | None, form: str
) -> dict[str, Any]:
    """What there is to say of one problem, as JSON; in a table, it is said."""
    found, known = [p for part in _fixed(request) for p in products(part)], options.calibration
    head = _head(request, choice) | {"times": entry.count, "calibration": known and str(known)}
    if form == "table":
        click.echo(_problem_text(entry.problem, head, choice))
        for number, product in enumerate(found, 1):
            click.echo("\n".join(_product_text(product, number, len(found), request.machine)))
    return {**head, "products": [_json(p) for p in found]}


def _expect_fixed(problem: Problem, **options: bool) -> None:
    """A Diagnostic where an option is given that takes numbers alone."""
    for option in (name for name, is_given in options.items() if is_given):
        expect_fixed(problem.run_time, f"explain --{option}")


def _fixed(request: Request) -> list[Request]:
    """The request, or, of a run-time size, one for the greatest size of each bucket, as it is compiled."""
    if request.problem.run_time is None:
        return [request]
    parts = buckets(request, configuration_of(request))
    return [of_most(part).by(own) for part, own in parts]


def _head(request: Request, choice: Choice | None) -> dict[str, Any]:
    """The problem, and what is chosen for it, by whom."""
    return {
        "problem": problem_text(request.problem),
        "algorithm": algorithm_of(request) if request.config is None else request.config.algorithm,
        "configuration": _configuration_text(request),
        "choice": choice and choice.to_json(),
    }


def _configuration_text(request: Request) -> str | None:
    """All that is chosen; None where nothing serves."""
    try:
        return str(configuration_of(request))
    except Diagnostic:
        return None


def explained(options: CompileOptions) -> Request:
    """The request with the configuration that a kernel would have, where the model does not choose it."""
    return _advised(options, options.request())[0]


def _advised(options: CompileOptions, request: Request) -> tuple[Request, Choice]:
    """The request with the configuration that a kernel would have, where the model does not choose it."""
    if options.advice is None:
        return request, Choice("model" if request.is_open else "caller")
    lowered, choice = decided(request, options.advice)
    return (request if choice.by == "model" else request.by(lowered.configuration)), choice


def _print_levels(request: Request, compact: bool) -> None:
    for number, level in enumerate(levels(request)):
        click.echo(click.style(f"// {number}. {level.name}", bold=True))
        click.echo(print_module(level.module, compact=compact))


def _print_meaning(chosen: Choices, entry: ProblemEntry, request: Request) -> int:
    from imbrex.cli.meaning import executed, small  # xDSL's interpreters take a fifth of the time to start

    problem = small(request.problem)
    click.echo(click.style(problem_text(problem), bold=True))
    if problem != request.problem:
        click.echo(f"  made small from {problem_text(request.problem)}")
    found = list(executed(replace(request, problem=problem)))
    rows = [[e.level, str(e.operations), str(e.comparison), seconds_text(e.seconds)] for e in found]
    is_right = all(e.comparison.is_right for e in found)
    if chosen.target.is_native:
        started = time.perf_counter()
        verdict = chosen.kernel(replace(entry, problem=problem)).check(values="integer")
        rows.append(["compiled", "", str(verdict), seconds_text(time.perf_counter() - started)])
        is_right = is_right and verdict.is_right
    print_table(["level", "operations", "result", "time"], rows)
    return 0 if is_right else FAILED


def _problem_text(problem: Problem, head: Mapping[str, Any], choice: Choice | None) -> str:
    dims = {o.role: dims for o, dims in zip(problem.operands, problem.all_dims, strict=False)}
    rows = [(o.role, _array(o, dims.get(o.role))) for o in problem.operands]
    rows.append(("work", f"{flops_text(problem.flops)} on {bytes_text(problem.bytes)}"))
    rows += [("asked for", f"{head['times']} times")] if head["times"] > 1 else []
    if head["algorithm"] is not None:
        rows.append(("algorithm", head["algorithm"]))
    if head["configuration"] is not None:
        rows.append(("config", head["configuration"]))
    if choice is not None:
        rows.append(("chosen", str(choice)))
    if head["calibration"]:
        rows.append(("model", head["calibration"]))
    return facts(problem_text(problem), rows)


def _array(operand: Operand, dims: Sequence[tuple[str, int]] | None) -> str:
    """dims: those of the dialect; None for one whose dimensions are its own."""
    named = zip(operand.layout, operand.shape, strict=True) if dims is None else dims
    sizes = ", ".join(f"{name} {size}" for name, size in named)
    gaps = "" if operand.strides is None else f", strides {', '.join(map(str, operand.strides))}"
    packs = f" in packs of {operand.dtype.pack}" if operand.dtype.pack > 1 else ""
    return f"[{sizes}] {operand.dtype}{packs}{gaps}{'  written' if operand.is_written else ''}"


def _product_text(product: Product, number: int, count: int, machine: Machine) -> Iterator[str]:
    title = f"product {number} of {count}: {product.sizes}" if count > 1 else f"product: {product.sizes}"
    yield "\n" + click.style(title, bold=True)
    for view in product.operands:
        yield from _operand_text(view)
    yield f"  C is stored by {product.store_method.replace('_', ' ')}"
    yield from _tuning_text(product, machine)


def _operand_text(view: OperandView) -> Iterator[str]:
    yield f"  {click.style(view.operand, bold=True)} is {view.array}, through the map"
    yield from (f"      {line}" for line in str(view.map).splitlines())
    yield f"    address    {view.address}"
    yield from (f"    guard      {guard}" for guard in view.guards)
    widths = ", ".join(f"{width} along {name}" for name, width in view.widths.items())
    yield f"    vectors    {widths}"
    yield f"    injective  {'yes' if view.is_injective else 'no'}"


def _tuning_text(product: Product, machine: Machine) -> Iterator[str]:
    refused = sum(product.refused.values())
    why = ", ".join(f"{count} by {rule}" for rule, count in product.refused.items())
    listed = f"{counted(product.candidates, 'candidate')} on {machine.name}" + (
        f", {refused} refused: {why}" if why else ""
    )
    if product.tuning is None:
        yield f"  {click.style('no legal tuning', fg='red')}; {listed}"
        yield from (f"    because    {reason}" for reason in product.reasons)
        return
    yield f"  tuning       {tunings.text(product.tuning)}; {listed}"
    wide = max(map(len, product.derived))
    yield from (f"    {name.ljust(wide)}  {value}" for name, value in product.derived.items())


def _json(product: Product) -> dict[str, Any]:
    context = product.context
    return {
        "sizes": {"g": context.g, "m": context.m, "n": context.n, "k": context.k},
        "operands": [
            {
                "operand": view.operand,
                "array": view.array,
                "map": str(view.map).splitlines(),
                "address": view.address,
                "guards": list(view.guards),
                "vector_widths": view.widths,
                "injective": view.is_injective,
            }
            for view in product.operands
        ],
        "store_method": product.store_method,
        "tuning": None if product.tuning is None else tunings.text(product.tuning),
        "reasons": list(product.reasons),
        "candidates": product.candidates,
        "refused": dict(product.refused),
        "schedule": None if product.launched is None else product.launched.schedule,
        "workgroups": None if product.launched is None else product.launched.workgroups,
        "derived": product.derived,
        "defines": product.defines,
    }
