"""specialise: gives `?` sizes their numbers, from a problem or from the shapes of the arrays.

    specialise{problem="conv -n 1 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"}
    specialise{filter=64,64,3,3 input=1,64,56,56}

Shapes are in the layout that the text names; the output's may be left out.  Sizes are bound by the names of
dimensions, in conv2d and in views alike, whichever draft's they are (`h` is `hi`): the arrays get their
types, and the views of them follow by their rules; a window has as many places as fit.  A number that the
text already gives must be the same one, and a `?` that is left is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from imbrex.diagnostic import Diagnostic
from imbrex.index import rule as rules
from imbrex.ir.attrs import Sizes
from imbrex.ir.entry import list_text
from imbrex.ir.from_problem import CONVOLUTIONS
from imbrex.ir.ops import GemmOp, GridwiseGemmOp, TransformOp
from imbrex.ir.ops.problem import AXES, DRAFT_NAMES, ConvOp
from imbrex.ir.ops.view import PROBLEM_DIMS
from imbrex.ir.shape import Shape, Size, agree, element_of, memref, shape_of, shape_text, space_of
from imbrex.ir.source import InvalidOp
from imbrex.numeral import counted
from imbrex.problem import Conv2d, Gemm, Problem
from imbrex.problem.layout import DIMENSIONS
from imbrex.problem.text import parse_problem

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class Specialise(ModulePass):
    """See the module's first lines."""

    name = "specialise"
    problem: str | None = None
    filter: Numbers | None = None
    input: Numbers | None = None
    output: Numbers | None = None
    a: Numbers | None = None
    b: Numbers | None = None
    c: Numbers | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.problem is not None:
            found = parse_problem(self.problem)
            if len(found) != 1:
                hint = "-F 1, 2 or 4 chooses one direction"
                raise Diagnostic(f"the problem must be a single one, got {len(found)}", hint=hint)
            specialise(op, found[0])
        else:
            given = {key: getattr(self, key) for key in ("filter", "input", "output", "a", "b", "c")}
            _Binding({key: tuple(v) for key, v in given.items() if v is not None}, {}).bind(op)


def specialise(module: ModuleOp, problem: Problem) -> None:
    """Give every `?` of a module the size that `problem` says; InvalidOp where the two disagree."""
    for op in module.walk():
        if isinstance(op, ConvOp | GemmOp):
            _check_problem(op, problem)
    if isinstance(problem, Gemm):
        _Binding({role: problem.shapes(role) for role in problem.roles}, {}).bind(module)
    else:
        dims = dict(d for role in problem.roles for d in problem.dims(role))
        _Binding({}, dims).bind(module)


@dataclass
class _Binding:
    """shapes: of arrays, by role, in the text's layout.  sizes: of dimensions, by name."""

    shapes: dict[str, Numbers]
    sizes: dict[str, int]

    def bind(self, module: ModuleOp) -> None:
        for op, role, _, names in _arrays(module):
            self._name_sizes(op, role, names)
        for name, sizes in _sizes_in(module).items():
            if len(sizes) == 1:
                self.sizes.setdefault(name, *sizes)
        for op in module.walk():
            if isinstance(op, ConvOp):
                self._name_outputs(op)
        known = -1
        while known < len(self.sizes):  # the windows of one array tell the sizes of another
            known = len(self.sizes)
            self._retype_all(module)
        for op in module.walk():
            if isinstance(op, GridwiseGemmOp):
                self._note_sizes(op)
            elif isinstance(op, FuncOp) and not op.is_declaration:
                op.update_function_type()
        expect_sizes(module)

    def _retype_all(self, module: ModuleOp) -> None:
        """Arrays as their dims' names say, then views by their rules."""
        for op, role, value, names in _arrays(module):
            shape = tuple(self.sizes.get(n) for n in names) if names else self.shapes.get(role)
            if shape is not None:
                _retype(op, role, value, shape)
        for op in module.walk():
            if isinstance(op, TransformOp):
                _retype(op, "result", op.result, self._view(op))

    def _name_sizes(self, op: Operation, role: str, names: Sequence[str]) -> None:
        """Learn sizes by name from the shape given for a role."""
        shape = self.shapes.get(role)
        if shape is None or not names:
            return
        if len(shape) != len(names):
            raise InvalidOp(
                op, f"{role}={_numbers(shape)} has {counted(len(shape), 'size')} for {', '.join(names)}"
            )
        for name, size in zip(names, shape, strict=True):
            if size < 1:
                raise InvalidOp(op, f"{role}={_numbers(shape)} gives '{name}' the size {size}")
            if self.sizes.setdefault(name, size) != size:
                raise InvalidOp(op, f"'{name}' is {size} in the {role}, but {self.sizes[name]} elsewhere")

    def _name_outputs(self, op: ConvOp) -> None:
        """ho and wo follow from the other sizes."""
        for i, (made, at, window) in enumerate(AXES):
            if at in self.sizes and window in self.sizes:
                axis = op.axis(i, self.sizes[at], self.sizes[window])
                try:
                    axis.check()
                except Diagnostic as error:
                    raise InvalidOp(op, error.message) from None
                self.sizes.setdefault(made, axis.outputs)

    def _view(self, op: TransformOp) -> Shape:
        """Sizes of a view: what its rules imply, or what its names say."""
        below = dict(zip(op.source_names, shape_of(op.source), strict=True))
        made: dict[str, Size] = {}
        for entry in op.layout.data:
            lower = [s for n in entry.source_names if (s := below[n]) is not None]
            known = len(lower) == len(entry.source_names)
            implied = rules.upper_sizes(entry.rule, lower) if known else None
            if implied is None:
                names = dims_named(entry.names)
                if isinstance(entry.rule, rules.Embed) and known:
                    self._fill_window(entry.rule, names, lower[0])
                implied = tuple(self.sizes.get(n) for n in names)
            made |= zip(entry.names, implied, strict=True)
        return tuple(made[n] for n in op.names)

    def _fill_window(self, rule: rules.Embed, names: Sequence[str], below: int) -> None:
        """The one size that is not known is that of as many places as fit below."""
        coefs = dict(zip(names, rule.coefs, strict=True))
        unknown = [n for n in coefs if n not in self.sizes]
        if len(unknown) != 1 or min(rule.coefs) < 1:
            return
        taken = sum(coef * (self.sizes[n] - 1) for n, coef in coefs.items() if n in self.sizes)
        if (rest := below - 1 - rule.offset - taken) >= 0:
            self.sizes[unknown[0]] = rest // coefs[unknown[0]] + 1

    def _note_sizes(self, op: GridwiseGemmOp) -> None:
        layouts = {"filter": op.filter_layout, "input": op.input_layout, "output": op.output_layout}
        for role, names in layouts.items():
            if names is not None and f"{role}_dimension" in op.properties:
                sizes = tuple(self.sizes.get(n) for n in dims_named(names.data))
                op.properties[f"{role}_dimension"] = Sizes(sizes)


def _arrays(module: ModuleOp) -> Iterator[tuple[Operation, str, SSAValue, Sequence[str]]]:
    """Each array, what uses it, its role and the names of its dimensions; a gemm's have no names.

    An array is looked up when it is reached, so that the caller may give it a new type on the way.
    """
    for op in module.walk():
        match op:
            case ConvOp():
                for i, role in enumerate(DIMENSIONS):
                    yield op, role, op.operands[i], op.layouts[role]
            case GemmOp():
                for i, role in enumerate("abc"):
                    yield op, role, op.operands[i], ()
            case TransformOp(source_layout=names) if names is not None:
                own = dims_named(names.data)
                roles = [role for role, dims in DIMENSIONS.items() if set(own) - {"g"} == set(dims)]
                yield op, roles[0] if roles else "array", op.source, own
            case _:
                pass


def dims_named(names: Sequence[str]) -> tuple[str, ...]:
    """The dialect's names of dimensions, for those of any draft."""
    return tuple(DRAFT_NAMES.get(name, name) for name in names)


def expect_sizes(module: ModuleOp) -> None:
    """InvalidOp at the first array or view with a size that is still `?`."""
    for op in module.walk():
        if isinstance(op, TransformOp) and None in shape_of(op.result):
            left = [n for n, s in zip(op.names, shape_of(op.result), strict=True) if s is None]
            raise InvalidOp(op, f"the size of '{left[0]}' is still '?'; nothing says what it is", "result", 0)
        for i, value in enumerate(op.operands):
            is_array = isinstance(value.owner, Block) and isinstance(value.type, MemRefType)
            if is_array and None in shape_of(value):
                name = f"'%{value.name_hint}'" if value.name_hint else "an array"
                said = f"{name} is still {shape_text(shape_of(value))}; give its shape"
                raise InvalidOp(op, said, "operand", i)


def _sizes_in(module: ModuleOp) -> dict[str, set[int]]:
    """The numbers that the text has for each dimension of a problem."""
    found: dict[str, set[int]] = {}
    for _, _, value, names in _arrays(module):
        for name, size in zip(names, shape_of(value) if names else (), strict=True):
            if size is not None and name in PROBLEM_DIMS:
                found.setdefault(name, set()).add(size)
    return found


def _retype(op: Operation, what: str, value: SSAValue, shape: Shape) -> None:
    """Replace `?` in the type of a value; a number that is there already must agree."""
    have = shape_of(value)
    if len(have) != len(shape) or not all(map(agree, have, shape)):
        raise InvalidOp(op, f"the {what} is {shape_text(have)} here, but is to be {shape_text(shape)}")
    merged = tuple(h if s is None else s for h, s in zip(have, shape, strict=True))
    if merged == have:
        return
    if not isinstance(value.owner, Block | TransformOp):
        raise InvalidOp(op, f"the sizes of the {what} are made by '{value.owner.name}'; give them there")
    Rewriter.replace_value_with_new_type(value, memref(element_of(value), merged, space_of(value)))


def _check_problem(op: ConvOp | GemmOp, problem: Problem) -> None:
    """The operation must be the problem's own, in everything but sizes."""
    if isinstance(problem, Gemm) != isinstance(op, GemmOp):
        raise InvalidOp(op, f"the problem is a {'gemm' if isinstance(problem, Gemm) else 'convolution'}")
    if isinstance(problem, Conv2d) and isinstance(op, ConvOp):
        if not isinstance(op, CONVOLUTIONS[problem.direction]):
            raise InvalidOp(op, f"the problem's direction is {problem.direction}")
        for key, have, want in (
            ("strides", op.strides.data, problem.stride),
            ("dilations", op.dilations.data, problem.dilation),
            ("padding", op.padding.data, (problem.pad_h, problem.pad_w)),
        ):
            if have != want:
                raise InvalidOp(
                    op, f"'{key}' is {list_text(have)} here but {list_text(want)} in the problem", key
                )
        for role in problem.roles:
            have, want = op.layouts[role], tuple(n for n, _ in problem.dims(role))
            if have != want:
                said = f"'{role}_layout' is {', '.join(have)} here but {', '.join(want)} in the problem"
                raise InvalidOp(op, said, f"{role}_layout")


def _numbers(shape: Sequence[int]) -> str:
    return ",".join(map(str, shape))
