"""Dispatch: the table of a library and its header, in C.

Law: a size that is a member's runs on that kernel, else on one that is told its rows and takes so many;
another one on the largest members that add up to it; one that no members add up to is refused by a code, and
nothing runs.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from imbrex.library.family import Family
from imbrex.library.find import find_source
from imbrex.problem import Operand, Problem
from imbrex.run.cpu import Parameter
from imbrex.symbol import symbol_of
from imbrex.version import __version__

__all__ = ["Part", "header", "quoted", "source", "unit"]

ABI = 1
"""What the functions of the header take and give; another number where that changes."""

ALIGNMENT = 64


@dataclass(frozen=True)
class Interface:
    """What the functions of a library take where it runs.

    argument: the last of `run`, as a declaration; given: its name.  how: where arrays are, in words.  codes:
    more of them.  more: further declarations.  check: the call by which the test runs a problem on arrays of
    the host.
    """

    argument: str
    given: str
    how: str
    codes: str
    more: str
    check: str


HOST = Interface(
    "int threads",
    "threads",
    "on so many threads; 0: one for each CPU.",
    "  SHOUT_NO_TILES = 3    /* the system keeps AMX from this process */",
    "",
    "NAME_run(family, rows, arrays, threads)",
)


@dataclass(frozen=True)
class Part:
    """A kernel of the library: its name, and the arrays that its entry point takes besides."""

    name: str
    workspace: tuple[Parameter, ...]


def quoted(text: str) -> str:
    """Text as a string of C."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def header(name: str, families: Sequence[Family], target: str, interface: Interface = HOST) -> str:
    """NAME.h."""
    s, shout = symbol_of(name), symbol_of(name).upper()
    lines: list[str] = []
    for number, family in enumerate(families):
        rows = ", ".join(member.range_text for member in family.members)
        arrays = "; ".join(map(_array, family.members[0].problem.operands))
        lines += [f"   {number}: {family.text}", f"      rows {rows}; arrays {arrays}"]
    text = files("imbrex.library").joinpath("interface.h").read_text(encoding="utf-8")
    codes = interface.codes.replace("SHOUT", shout)
    more = interface.more.replace("SHOUT", shout).replace("NAME", s)
    return string.Template(text).substitute(
        codes=codes, more=more, how=interface.how, argument=interface.argument,
        name=name, symbol=s, shout=shout, version=__version__, target=target, abi=ABI, families=len(families),
        listed="\n".join(line.replace("*/", "* /") for line in lines),
    )  # fmt: skip


def _array(operand: Operand) -> str:
    sizes = ", ".join(f"{name} {size}" for name, size in zip(operand.layout, operand.shape, strict=True))
    steps = "" if operand.strides is None else f"; strides {', '.join(map(str, operand.strides))}"
    return f"{operand.role} [{sizes}{steps}] {operand.dtype}{', written' if operand.is_written else ''}"


def source(name: str, families: Sequence[Family], parts: Sequence[Part]) -> str:
    """The unit that holds the table; freestanding, as kernels are."""
    lines = [
        "#include <stddef.h>",
        "",
        'extern "C" {',
        "void *aligned_alloc(size_t alignment, size_t bytes);",
        "void free(void *memory);",
    ]
    every = {member.kernel: member for family in families for member in family.members}
    for number, part in enumerate(parts):
        lines.append(f"{_declared(part, every[number].problem)};")
    lines += ["}", "", "namespace {"]
    for number, part in enumerate(parts):
        lines += _adapter(number, part, every[number].problem)
    return table(name, families, [*lines, "} // namespace"])


def table(name: str, families: Sequence[Family], head: Sequence[str], interface: Interface = HOST) -> str:
    """The unit that holds the table.  head: a function `run_N` for each kernel, and what it needs."""
    lines = [
        f'#include "{name}.h"',
        *head,
        "",
        "namespace {",
        "struct kernel {",
        "  int64_t rows, least; // least: fewer than rows where it is told them",
        "  int (*run)(void *const *arrays, int64_t rows, int threads);",
        "};",
        "struct family {",
        "  const char *text;",
        "  int arrays, count;",
        "  const int64_t *steps;",
        "  const kernel *kernels;",
        "  bool is_joined; // do kernels serve rows that add up to theirs?",
        "};",
    ]
    for number, family in enumerate(families):
        members = ", ".join(f"{{{one.rows}, {one.least}, run_{one.kernel}}}" for one in family.members)
        steps = ", ".join(map(str, family.steps))
        lines += [
            f"const int64_t steps_{number}[] = {{{steps}}};",
            f"const kernel kernels_{number}[] = {{{members}}};",
        ]
    lines.append("const family families[] = {")
    for number, family in enumerate(families):
        sizes, joined = f"{len(family.steps)}, {len(family.members)}", str(family.is_joined).lower()
        lines.append(f"    {{{quoted(family.text)}, {sizes}, steps_{number}, kernels_{number}, {joined}}},")
    lines += ["};", TABLE.replace("MOST", str(max(len(family.steps) for family in families)))]
    s = symbol_of(name)
    text = "\n".join(lines) + find_source() + ENTRIES.replace("NAME", s).replace("SHOUT", s.upper())
    return text.replace(HOST.argument, interface.argument).replace(HOST.given, interface.given)


def _declared(part: Part, problem: Problem) -> str:
    arrays = [f"{'' if o.is_written else 'const '}void *" for o in problem.operands]
    numbers = [*(["int64_t"] if problem.run_time else []), "int"]
    return f"int {symbol_of(part.name)}({', '.join([*arrays, *['void *'] * len(part.workspace), *numbers])})"


def unit(part: Part, problem: Problem) -> str:
    """A kernel's declaration, and `run_0` of the problem's arrays, a number of rows and one of threads."""
    return "\n".join([f'extern "C" {_declared(part, problem)};', "static", *_adapter(0, part, problem)])


def _adapter(number: int, part: Part, problem: Problem) -> list[str]:
    """A function that takes the arrays of a problem, and finds the workspace itself."""
    arrays = [f"p[{i}]" for i in range(len(problem.operands))]
    head = f"int run_{number}(void *const *p, int64_t{' rows' if problem.run_time else ''}, int threads) {{"
    numbers = "rows, threads" if problem.run_time else "threads"
    if not part.workspace:
        return [head, f"  return {symbol_of(part.name)}({', '.join(arrays)}, {numbers});", "}"]
    starts: list[int] = []
    total = 0
    for array in part.workspace:
        starts.append(total)
        total += -(-array.bytes // ALIGNMENT) * ALIGNMENT
    zeroed = [
        f"  __builtin_memset(w + {start}, 0, {array.bytes});"
        for start, array in zip(starts, part.workspace, strict=True)
        if array.is_zeroed
    ]
    more = [f"w + {start}" for start in starts]
    return [
        head,
        f"  char *const w = static_cast<char *>(aligned_alloc({ALIGNMENT}, {total}));",
        "  if (w == nullptr) return 1;",
        *zeroed,
        f"  const int status = {symbol_of(part.name)}({', '.join([*arrays, *more])}, {numbers});",
        "  free(w);",
        "  return status;",
        "}",
    ]


TABLE = """
constexpr int known = int(sizeof(families) / sizeof(*families));

// The kernel of so many rows, else the one that is told them, of the fewest at most; -1 where there is none.
int one_of(const family &f, int64_t rows) {
  int found = -1;
  for (int i = 0; i < f.count; ++i) {
    const kernel &one = f.kernels[i];
    if (one.rows == rows && one.least == rows) return i;
    if (one.least <= rows && rows <= one.rows) found = i;
  }
  return found;
}

// The first of the kernels that add up to these rows, the largest first, what is left being one's; -1 where
// none do.  Where one has them all, that is behind the last.
int first_of(const family &f, int64_t rows) {
  if (rows <= 0) return -1;
  if (one_of(f, rows) >= 0) return f.count;
  if (!f.is_joined) return -1;
  for (int first = 0; first < f.count; ++first) {
    int64_t left = rows;
    for (int i = first; i < f.count; ++i) left %= f.kernels[i].rows;
    if (left == 0 || one_of(f, left) >= 0) return first;
  }
  return -1;
}

int run(const family &f, int first, int64_t rows, void *const *arrays, int threads) {
  char *at[MOST];
  for (int i = 0; i < f.arrays; ++i) at[i] = static_cast<char *>(arrays[i]);
  for (int k = first; k < f.count; ++k)
    for (const kernel &one = f.kernels[k]; rows >= one.rows; rows -= one.rows) {
      if (const int status = one.run(reinterpret_cast<void *const *>(at), one.rows, threads)) return status;
      for (int i = 0; i < f.arrays; ++i) at[i] += f.steps[i] * one.rows;
    }
  return rows ? f.kernels[one_of(f, rows)].run(reinterpret_cast<void *const *>(at), rows, threads) : 0;
}
} // namespace
"""
ENTRIES = """
extern "C" {
int NAME_abi(void) { return SHOUT_ABI; }

const char *NAME_text(int family) { return family < 0 || family >= known ? nullptr : families[family].text; }

int NAME_find(const char *problem, int64_t *rows) {
  for (int i = 0; i < known; ++i)
    if (means(families[i].text, problem, rows)) return i;
  return -1;
}

int NAME_serves(int family, int64_t rows) {
  if (family < 0 || family >= known) return SHOUT_NOT_SERVED;
  return first_of(families[family], rows) < 0 ? SHOUT_NOT_SERVED : SHOUT_OK;
}

int NAME_run(int family, int64_t rows, void *const *arrays, int threads) {
  if (NAME_serves(family, rows) != SHOUT_OK) return SHOUT_NOT_SERVED;
  return run(families[family], first_of(families[family], rows), rows, arrays, threads);
}
}
"""
