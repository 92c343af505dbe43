"""imbrex explore without a problem: a page in the browser, in which the problem is edited."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

import click

from imbrex.cli.explain import explained
from imbrex.cli.guard import fault_text
from imbrex.cli.options import Choices
from imbrex.cli.source import EXAMPLE, ProblemEntry, meant_on, stated
from imbrex.diagnostic import Diagnostic
from imbrex.explore import Study, study
from imbrex.explore.page import Form, page
from imbrex.explore.server import FIELDS, Page, Query, serve
from imbrex.kernel import targets
from imbrex.kernel.constraints import Constraints

__all__ = ["answer", "served", "study_of"]


def study_of(chosen: Choices, entry: ProblemEntry) -> Study:
    """The study of the kernel that a command line would build."""
    return study(explained(chosen.options(entry)))


def served(chosen: Choices, beside: str | None, port: int, opens_browser: bool) -> None:
    """Answer a browser until Ctrl-C.  chosen: what the page begins with, and how many threads it means."""
    start = (EXAMPLE, chosen.target_names or "", chosen.said.config or "", beside or "")
    serve(lambda query: answer(chosen, query if any(query) else start), port, opens_browser, _say)


def answer(chosen: Choices, query: Query) -> Page:
    """The page of a query; with the command line's message in place of the drawings where it is wrong."""
    fields = dict(zip(FIELDS, query, strict=True))
    try:
        studies = _studies(chosen, query)
        status, error = HTTPStatus.OK, None
        text = page(studies, Form(fields, targets()))
    except Exception as reason:
        is_ours = not isinstance(reason, Diagnostic)
        status = HTTPStatus.INTERNAL_SERVER_ERROR if is_ours else HTTPStatus.UNPROCESSABLE_ENTITY
        error = fault_text(reason)
        text = page((), Form(fields, targets(), error))
    return status, text


def _studies(chosen: Choices, query: Query) -> list[Study]:
    problem, target, config, beside = query
    wanted = replace(chosen, target_names=target or None)
    (first, *others) = stated(problem)
    if others:
        raise Diagnostic(f"a page shows one problem, got {1 + len(others)}")
    entry = meant_on(first, {one.chip for one in wanted.targets})
    rest = replace(chosen.said, config=None)  # holds where a field is empty
    texts = [config, beside] if beside else [config]
    said = [Constraints(config=text) if text else rest for text in texts]
    return [study_of(replace(wanted, said=one), entry) for one in said]


def _say(text: str) -> None:
    click.echo(text, err=True)
