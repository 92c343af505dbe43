"""What the files of a bundle say of a problem and of its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from imbrex.lower.stmt import Buffer, Kernel, Program
from imbrex.numeral import counted
from imbrex.symbol import symbol_of


@dataclass(frozen=True)
class Facts:
    """What the files say of themselves.  strides: of all arrays, in elements, where one has gaps; else ().

    run_time: the position in `shapes` of each size told when the kernel runs, and its range.  has_flags:
    may they ask their compiler for flags of their own?  flushes_halves: do matrix instructions of the GPU
    whose schedule runs lane by lane take subnormal halves as zeros?
    """

    title: str
    configuration: str
    shapes: tuple[tuple[int, ...], ...]
    strides: tuple[tuple[int, ...], ...] = ()
    has_flags: bool = True
    flushes_halves: bool = False
    run_time: tuple[tuple[int, ...], int, int] | None = None


def described(kernel: Kernel) -> str:
    """Geometry, and the maps that the addresses below implement, upper dims first."""
    items = "one work item" if kernel.block_size == 1 else counted(kernel.block_size, "work item")
    groups = counted(kernel.grid_size, "workgroup")
    parts = [f"{groups} of {items}.  The maps of the arguments, topmost dims first:"]
    for name, map in kernel.maps:
        parts += ["", f"{name}:", *(f"  {line}" for line in map.splitlines())]
    return "\n".join(parts)


def solver(symbol: str, facts: Facts, target: str) -> list[str]:
    """The host's functions that tell whether a kernel applies, and what was chosen for it."""
    sizes = [size for numbers in (*facts.shapes, *facts.strides) for size in numbers]
    open_at, least, most = facts.run_time or ((), 0, 0)
    shown = ["?" if position in open_at else size for position, size in enumerate(sizes)]
    wanted = [-1 if position in open_at else size for position, size in enumerate(sizes)]
    first = open_at[0] if open_at else 0
    in_range = [f"  if (sizes[{first}] < {least} || sizes[{first}] > {most}) return 0;"] if open_at else []
    in_range += [f"  if (sizes[{position}] != sizes[{first}]) return 0;" for position in open_at[1:]]
    what = "shapes, then their strides in elements" if facts.strides else "shapes, one after the other"
    return [
        f"// Are these the sizes that the kernel was generated for?  The arrays' {what}:",
        f"// [{', '.join(map(str, shown))}]",
        f"int {symbol}_is_applicable(const int64_t *sizes, int count) {{",
        f"  static const int64_t wanted[] = {{{', '.join(map(str, wanted))}}};",
        f"  if (count != {len(sizes)}) return 0;",
        f"  for (int i = 0; i < {len(sizes)}; ++i)",
        f"    if ({'wanted[i] >= 0 && ' if open_at else ''}sizes[i] != wanted[i]) return 0;",
        *in_range,
        "  return 1;",
        "}",
        "",
        f'const char *{symbol}_configuration() {{ return "{facts.configuration}"; }}',
        f'const char *{symbol}_target() {{ return "{target}"; }}',
        "",
    ]


def table(
    function: str, values: Sequence[str], kind: str = "const int64_t", argument: str = "launch"
) -> list[str]:
    """A C function from a number, of a launch by default, to its value."""
    if not values:  # C++ has no array of no elements
        return [f"{function}(int {argument}) {{", f"  (void){argument};", "  return 0;", "}"]
    return [
        f"{function}(int {argument}) {{",
        f"  static {kind} values[] = {{{', '.join(values)}}};",
        f"  return values[{argument}];",
        "}",
    ]


def workspace(program: Program) -> list[str]:
    """The host's functions that tell of arrays between the launches; none where there are no such arrays."""
    if not program.workspace:
        return []
    sizes = [f"int64_t({b.elements}) * {b.dtype.bytes}" for b in program.workspace]
    return [
        "// Arrays that the launches take after the problem's own; what they hold before is not read.",
        f"int {symbol_of(program.name)}_scratch_count() {{ return {len(sizes)}; }}",
        *table(f"int64_t {symbol_of(program.name)}_scratch_bytes", sizes, argument="array"),
    ]


def parameter(buffer: Buffer, outputs: frozenset[str], qualifier: str = "") -> str:
    """An array as the argument of a C function; qualifier: of the pointer, with a space after it."""
    const = "" if buffer.name in outputs else "const "
    return f"{const}{buffer.dtype.c_name} *{qualifier}{buffer.name}"
