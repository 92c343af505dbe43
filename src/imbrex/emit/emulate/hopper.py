"""A CUDA kernel for this CPU: the entry point that runs its launches on the machine of device/emulate/hopper.

NAME.cu and NAME.hpp are those of the GPU, byte for byte, and so are their headers but for device/cuda/ptx,
which is written a second time.  NAME.cpp hands the arrays and tensor maps to the kernels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from imbrex.chip import gpus
from imbrex.dtype import dtype
from imbrex.emit import c
from imbrex.emit.cuda.layout import LaunchFacts, launch_facts
from imbrex.emit.emulate import form
from imbrex.index.atom import Param
from imbrex.index.rule import COUNT
from imbrex.lower.stmt import Buffer, Kernel, Program, ZeroFill
from imbrex.symbol import symbol_of
from imbrex.view.tensor.form import Box, TensorMap, Walk

__all__ = ["FLAGS", "PTX", "emulated", "units"]

PTX: Final = {"cuda/ptx": "emulate/ptx"}
"""A folder of the GPU's headers -> where its second form is."""
FLAGS: Final = ("-O2", "-fno-threadsafe-statics", "-fno-strict-aliasing", "-Wno-unknown-pragmas")

NO_SUCH_SIZE: Final = 4
"""What the entry point returns, as `imbrex::no_such_size` of device/cpu/extent.h."""

PROLOGUE: Final = """
// An array as whatever a kernel takes it for.
struct any {
  void *p;
  template <class T> operator T *() const { return static_cast<T *>(p); }
};
"""


def emulated(target: str) -> str | None:
    """The chip whose kernels source for `emulate_CHIP` is of; None of other targets."""
    return form.emulated(target, gpus("NVIDIA"))


def units(program: Program, early: Collection[str]) -> dict[str, list[str]]:
    """File name -> lines, of what the GPU's own files do not have.  early: launches that may begin early."""
    kernels = [launch for launch in program.launches if isinstance(launch, Kernel)]
    facts = {kernel.name: launch_facts(kernel) for kernel in kernels}
    first, count = dict[str, int](), 0
    for kernel in kernels:
        first[kernel.name] = count
        count += len(facts[kernel.name].tensors)
    positions = {buffer.name: position for position, buffer in enumerate(program.arguments)}
    lines = [f'#include "{program.name}.cu"', *PROLOGUE.splitlines()]
    lines += [f"static void *given[{len(positions)}];", f"static imbrex::tensor_form forms[{max(count, 1)}];"]
    count = [] if program.count is None else [program.count.name]
    lines += [f"static int32_t {name};" for name in count]
    for kernel in kernels:
        maps = [
            f"imbrex::tensor_map{{forms + {first[kernel.name] + i}}}" for i in range(_tensors(facts, kernel))
        ]
        arrays = [f"any{{given[{positions[b.name]}]}}" for b in kernel.arguments]
        lines += ["", f"static void run_{kernel.name}() {{"]
        lines += [f"  {kernel.name}({', '.join([*maps, *arrays, *count])});", "}"]
    lines += ["", *_entry(program, facts, early)]
    return {f"{program.name}.cpp": lines}


def _tensors(facts: dict[str, LaunchFacts], kernel: Kernel) -> int:
    return len(facts[kernel.name].tensors)


def _entry(program: Program, facts: dict[str, LaunchFacts], early: Collection[str]) -> list[str]:
    """The function that a host calls, and the one that says what went wrong."""
    name, buffers = symbol_of(program.name), program.arguments
    declared = ", ".join(f"{'' if b.name in program.outputs else 'const '}void *{b.name}_" for b in buffers)
    lines = [f"given[{i}] = const_cast<void *>({b.name}_);" for i, b in enumerate(buffers)]
    kernels = [launch for launch in program.launches if isinstance(launch, Kernel)]
    for i, tensor in enumerate(t for kernel in kernels for t in _of_program(kernel, facts, buffers)):
        lines.append(f"forms[{i}] = {_form(tensor)};")
    lines.append("const imbrex::emulated_launch launches[] = {")
    lines += [f"  {_launch(launch, facts, early, buffers, program.count)}," for launch in program.launches]
    chosen, ran, refused, entered = list[str](), f"launches, {len(program.launches)}", list[str](), ""
    if program.count is not None:  # buckets, of which a call has one
        size, low, high = program.count.name, program.count.low, program.count.high
        entered = f", int64_t {size}_"
        refused = [f"if ({size}_ < {low} || {size}_ > {high}) return {NO_SUCH_SIZE};"]
        lines.insert(0, f"{size} = int32_t({size}_);")
        chosen, ran = _met(program), "met, of"
    lines += ["};", *chosen, f"const bool is_right = imbrex::hopper::run({ran});"]
    return [
        "// Runs every launch; returns 0, or 2 where one did what it must not.",
        f'extern "C" int {name}({declared}{entered}, int) {{',
        *c.indented([*refused, "imbrex::hopper::take_turn();", *lines, "imbrex::hopper::give_turn();"]),
        "  return is_right ? 0 : 2;",
        "}",
        f'extern "C" const char *{name}_fault() {{ return imbrex::hopper::told(); }}',
    ]


def _met(program: Program) -> list[str]:
    """Takes the launches of the size's bucket, in order."""
    assert program.count is not None, program.name
    size = program.count.name
    lines = [f"imbrex::emulated_launch met[{len(program.launches)}];", "int of = 0;"]
    for i, launch in enumerate(program.launches):
        low, high = (launch.when if isinstance(launch, Kernel) else None) or program.count.bounds
        lines.append(f"if ({low} <= {size} && {size} <= {high}) met[of++] = launches[{i}];")
    return lines


def _of_program(
    kernel: Kernel, facts: dict[str, LaunchFacts], buffers: Sequence[Buffer]
) -> Iterable[tuple[TensorMap, int]]:
    """A kernel's tensor maps, and the positions of their arrays in the program."""
    names = [b.name for b in buffers]
    for tensor in facts[kernel.name].tensors:
        yield tensor, names.index(kernel.arguments[tensor.argument].name)


def _form(tensor: tuple[TensorMap, int]) -> str:
    of, position = tensor
    form, element = of.form, dtype(of.dtype)
    size = element.bytes
    first = f"static_cast<char *>(given[{position}]) + {form.base * size}"
    is_walk, is_tf32 = (str(x).lower() for x in (isinstance(form, Walk), element.read_bits is not None))
    head = f"{first}, {size}, {len(form.sizes)}, {form.swizzle}, {is_walk}, {is_tf32}"
    open_size = COUNT if form.each == 1 else f"{form.each} * {COUNT}"
    sizes = [open_size if position == form.open else size for position, size in enumerate(form.sizes)]
    extents = f"{_braced(sizes)}, {_braced((1, *form.strides))}"
    match form:
        case Box():
            more = f"{_braced(form.box)}, {_braced(form.steps)}, {{}}, {{}}, 0, 0"
        case Walk():
            more = f"{{}}, {_braced(form.steps)}, {_braced(form.lower)}, {_braced(form.upper)}"
            more += f", {form.channels}, {form.pixels}"
    return f"imbrex::tensor_form{{{head}, {extents}, {more}}}"


def _braced(numbers: Iterable[int | str]) -> str:
    return f"{{{', '.join(map(str, numbers))}}}"


def _launch(
    launch: Kernel | ZeroFill,
    facts: dict[str, LaunchFacts],
    early: Collection[str],
    buffers: Sequence[Buffer],
    count: Param | None,
) -> str:
    """count: the run-time size, of which a result has as many elements as there are of it."""
    if isinstance(launch, ZeroFill):
        b = launch.buffer
        at = [x.name for x in buffers].index(b.name)
        of_each, each = (b.elements, "1") if count is None else (b.elements // count.bounds[1], count.name)
        size = f"size_t({of_each}) * {each} * {b.dtype.bytes}"
        return f'{{"zeros", nullptr, 1, 0, 0, 1, false, given[{at}], {size}}}'
    shared, cluster, *_ = facts[launch.name]
    is_early = str(launch.name in early).lower()
    grid = launch.grid_size if launch.grid is None else c.index(launch.grid)
    sizes = f"{grid}, {launch.block_size}, {shared}, {cluster}"
    return f'{{"{launch.name}", run_{launch.name}, {sizes}, {is_early}, nullptr, 0}}'
