"""Find: the C by which a library finds the family of a line as its user has it.

Law: a line that `parse_problem` reads as one problem is found where that problem's canonical line is, as far
as words go: flags in any order, by any name, with their defaults left out.  What is converted, as the columns
of hipblaslt-bench are, and numbers spelled otherwise are not found; nor is a line of another problem's.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from importlib.resources import files

from imbrex.problem.flags import Flag
from imbrex.problem.gemm_line import GEMM_FLAGS
from imbrex.problem.miopen import MIOPEN_FLAGS
from imbrex.problem.text import parse_problem, problem_text

__all__ = ["find_source"]

FALSE, TRUE = "0 false False FALSE n N", "1 true True TRUE t T"
LEFT_OUT = {
    "filter_layout": "NCHW",
    "input_layout": "NCHW",
    "output_layout": "NCHW",
    "alpha": "1",
    "beta": "0",
}
"""Values of fields that a canonical line leaves out."""


def find_source() -> str:
    """Functions of C++, `means` the one that is called."""
    tables = [
        *_table("flags_of_conv", MIOPEN_FLAGS, "conv -F 1", ("direction",)),
        *_table("flags_of_gemm", GEMM_FLAGS, "gemm -m 1 -n 1 -k 1", ("m", "n", "k")),
    ]
    text = files("imbrex.library").joinpath("find.cpp").read_text(encoding="utf-8")
    return string.Template(text).substitute(tables="\n".join([*tables, ""]))


def _table(name: str, flags: Sequence[Flag], example: str, needed: Sequence[str]) -> list[str]:
    """A table of flags.  example: a line of few flags; needed: fields that it has to say."""
    (problem,) = parse_problem(example)
    words = problem_text(problem).split()[1:]
    defaults = dict(zip(words[::2], words[1::2], strict=True))
    rows: list[str] = []
    for flag in flags:
        names, usual, other = " ".join(flag.spellings), "", ""
        if flag.name.startswith("transpose"):
            usual, other = FALSE, TRUE
        elif flag.use == "ignored":
            usual = " ".join(flag.only)
        elif flag.name not in needed:
            usual = defaults.get(flag.spellings[0], LEFT_OUT.get(flag.name, ""))
        is_any = flag.use == "ignored" and not flag.only
        said = "nullptr" if is_any else f'"{usual}"'
        rows.append(f'    {{"{names}", {said}, "{other}"}},')
    return [f"const flag {name}[] = {{", *rows, "    {nullptr, nullptr, nullptr},", "};"]
