"""Names for the quotients and remainders that a kernel computes, each at the depth where it is first known.

Equal indices are equal values, so naming them once is a dictionary: every `Div`, `Mod`, `Select` and `Xor`
becomes a `Let` in the outermost scope that has its variables.  What a loop does not change is computed before
the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from imbrex.index.atom import Atom, Div, Mod, Mul, Select, Xor
from imbrex.index.expr import Lin, lin, select, var, xor
from imbrex.index.rule import COUNT, Guard
from imbrex.lower.buffer import first_of
from imbrex.lower.stmt import (
    Await,
    AxisOffsets,
    Evaluate,
    Exchange,
    For,
    InPlace,
    Join,
    Kernel,
    Let,
    Mark,
    MatrixMultiply,
    Move,
    MulAdd,
    Pack,
    PanelGemm,
    Product,
    Ref,
    Signal,
    Stmt,
    Unpack,
)


@dataclass
class Scope:
    """Variables that a block adds, and the names given in it."""

    variables: frozenset[str]
    lets: list[Let] = field(default_factory=lambda: list[Let]())


@dataclass
class Names:
    """Scopes from the outermost in, and the name of each atom in sight."""

    scopes: list[Scope]
    known: dict[Atom, Lin] = field(default_factory=lambda: dict[Atom, Lin]())
    count: int = 0

    def named(self, index: Lin) -> Lin:
        """The index with every opaque atom replaced by its name."""
        return sum((self._name(a) * c for a, c in index.terms), lin(index.const))

    def _name(self, atom: Atom) -> Lin:
        if not isinstance(atom, Div | Mod | Select | Xor | Mul):
            return Lin(((atom, 1),), 0)
        found = self.known.get(atom)
        if found is None:
            low, high = atom.bounds
            assert low >= 0 or not isinstance(atom, Div | Mod), f"a quotient of a negative index: {atom}"
            inner = self._inside(atom)
            if low < 0 or high == 0:
                return inner
            found = var(f"i{self.count}", high + 1)
            self.count += 1
            self._scope(atom).lets.append(Let(f"i{self.count - 1}", inner))
            self.known[atom] = found
        return found

    def _inside(self, atom: Div | Mod | Select | Xor | Mul) -> Lin:
        match atom:
            case Div(num, den):
                return self.named(num) // self.named(den)
            case Mod(num, den):
                return self.named(num) % self.named(den)
            case Select(cond, then, other):
                return select(self.named(cond), self.named(then), self.named(other))
            case Xor(left, right):
                return xor(self.named(left), self.named(right))
            case Mul(left, right):
                return self._name(left) * self._name(right)

    def _scope(self, atom: Atom) -> Scope:
        """The outermost scope in which all variables of the atom are known."""
        missing = set(atom.variables)
        for scope in self.scopes:
            missing -= scope.variables
            if not missing:
                return scope
        raise AssertionError(f"{atom} mentions {sorted(missing)}, which no loop defines")


def named_once(kernel: Kernel) -> Kernel:
    """The kernel with every quotient named once."""
    known = (kernel.workgroup, kernel.workitem, COUNT, *map(first_of, kernel.arguments))
    names = Names([Scope(frozenset(known))])
    return replace(kernel, body=_block(kernel.body, names))


def _block(body: tuple[Stmt, ...], names: Names) -> tuple[Stmt, ...]:
    scope = names.scopes[-1]
    done: list[Stmt] = []
    for stmt in body:
        before = len(scope.lets)
        new = _statement(stmt, names)
        done += [*scope.lets[before:], new]
    return tuple(done)


def _statement(stmt: Stmt, names: Names) -> Stmt:
    match stmt:
        case For():
            outer = dict(names.known)
            names.scopes.append(Scope(frozenset((stmt.var,))))
            body = _block(stmt.body, names)
            inner = names.scopes.pop()
            names.known = {
                a: n for a, n in names.known.items() if a in outer or not a.variables & inner.variables
            }
            return replace(stmt, body=body)
        case Let():
            names.scopes[-1].variables |= {stmt.name}
            return stmt
        case Move() | Exchange():
            return replace(stmt, dest=_ref(stmt.dest, names), source=_ref(stmt.source, names))
        case Evaluate():
            values = tuple((name, _ref(ref, names), step) for name, ref, step in stmt.values)
            return replace(stmt, dest=_ref(stmt.dest, names), values=values)
        case Mark():
            guards = _guards(stmt.guards, names)
            return replace(stmt, mask=_ref(stmt.mask, names), bit=names.named(stmt.bit), guards=guards)
        case MulAdd():
            return replace(stmt, c=_ref(stmt.c, names), a=_ref(stmt.a, names), b=_ref(stmt.b, names))
        case MatrixMultiply():
            return stmt.mapped(lambda ref: _ref(ref, names))
        case PanelGemm():
            operands = {x: _ref(getattr(stmt, x), names) for x in "abc"}
            return replace(stmt, **operands, k=names.named(stmt.k), guards=_guards(stmt.guards, names))
        case AxisOffsets():
            return _axis_offsets(stmt, names)
        case Pack():
            guards = _guards(stmt.guards, names)
            return replace(stmt, dest=_ref(stmt.dest, names), panel=names.named(stmt.panel), guards=guards)
        case Signal() | Join():
            return replace(stmt, flag=_ref(stmt.flag, names))
        case Await():
            return _await(stmt, names)
        case Unpack():
            return replace(stmt, tile=_ref(stmt.tile, names))
        case Product():
            a = replace(stmt.a, base=_ref(stmt.a.base, names)) if isinstance(stmt.a, InPlace) else stmt.a
            return replace(stmt, a=a, m_count=names.named(stmt.m_count), n_count=names.named(stmt.n_count))
        case _:
            return stmt


def _await(stmt: Await, names: Names) -> Await:
    count = None if stmt.count is None else names.named(stmt.count)
    return replace(stmt, flag=_ref(stmt.flag, names), count=count)


def _axis_offsets(stmt: AxisOffsets, names: Names) -> AxisOffsets:
    """The names that depend on the axis' own variable stay with the statement."""
    count = names.named(stmt.count)
    outer = set(names.known)
    names.scopes.append(Scope(frozenset((stmt.var,))))
    offset, guards = names.named(stmt.offset), tuple(names.named(g) for g in stmt.guards)
    own = names.scopes.pop()
    names.known = {a: n for a, n in names.known.items() if a in outer or not a.variables & own.variables}
    return replace(stmt, count=count, offset=offset, guards=guards, lets=tuple(own.lets))


def _ref(ref: Ref, names: Names) -> Ref:
    missing = ref.missing
    if missing is not None:
        missing = replace(missing, offset=names.named(missing.offset), bit=names.named(missing.bit))
    return replace(ref, offset=names.named(ref.offset), guards=_guards(ref.guards, names), missing=missing)


def _guards(guards: tuple[Guard, ...], names: Names) -> tuple[Guard, ...]:
    return tuple(Guard(names.named(g.index), g.size) for g in guards)
