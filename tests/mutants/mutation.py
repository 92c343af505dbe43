"""Mutants: small faults that could have been written, of Python by its syntax, of C++ by its tokens.

Law: a mutant is one place of one file and two texts; which ones exist depends on nothing but the file, and
which are in the sample on little but their own lines, so that a change elsewhere leaves most of the sample.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import chain, pairwise, zip_longest
from pathlib import Path
from typing import Final

__all__ = ["EQUIVALENT", "Key", "Mutant", "equivalents", "folder_of", "mutants_of", "sample"]

Key = tuple[str, str, str]
EQUIVALENT: Final = Path(__file__).with_name("equivalent.txt")

COMPARED: Final = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
COMPUTED: Final = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "//"), ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
}  # fmt: skip
JOINED: Final = {ast.And: ("and", "or"), ast.Or: ("or", "and")}
CALLED: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}

# What a header may have instead of what it has: a pattern, whose first group is replaced.
MEETING: Final = "(?:wait|sync|barrier|fence|arrive|commit|release|written)"  # a call that may be forgotten
TOKENS: Final = tuple(
    (re.compile(pattern, re.MULTILINE), becomes)
    for pattern, becomes in (
        (r" (<) ", "<="), (r" (<=) ", "<"), (r" (>) ", ">="), (r" (>=) ", ">"),
        (r" (==) ", "!="), (r" (!=) ", "=="),
        (r"[\w)\]] (\+) ", "-"), (r"[\w)\]] (-) ", "+"), (r" (\+=) ", "-="), (r" (/) ", "*"), (r" (%) ", "/"),
        (r" (&&) ", "||"), (r" (\|\|) ", "&&"), (r"\b(min)\(", "max"), (r"\b(max)\(", "min"),
        (rf"(?:^|; |\) |\{{ )\s*((?:\w|::)*{MEETING}\w*(?:<[^<>;]*>)?\([^;{{]*\));", ""),
    )
)  # fmt: skip
# The smaller or the larger of two: where they are equal it is either.
EITHER: Final = re.compile(
    r"(?<![-+*/%&|<>] )(?<![=!]= )(?<![\w.\]])([\w.:\[\]]+) ([<>]=?) ([\w.:\[\]]+) \? (?:\1 : \3|\3 : \1)"
    r"(?![\w.(\[]| [-+*/%&|<>=])"
)
NUMBER: Final = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)(?=[uUlL]*(?![\w.]))")
# Comments, text, the preprocessor, what a compiler checks by itself and hints to a machine hold no faults.
NO_CODE: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"\w*\(.*?\)\w*"|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|^\s*\#(?:[^\n]*\\\n)*[^\n]*"""
    r"""|\bstatic_assert\([^;]*;|\w*(?:prefetch|sleep)\w*\([^;]*;""",
    re.S | re.M,
)


@dataclass(frozen=True)
class Mutant:
    """path: in the project.  start: of `old` in the file's bytes.  before, after: the whole line.

    same: how many lines of the file before it are the same, but for indentation.
    """

    path: str
    line: int
    start: int
    old: str
    new: str
    before: str
    after: str
    same: int

    @property
    def key(self) -> Key:
        """Its name, whatever stands elsewhere; `#2` behind a path is the second line that is the same."""
        return f"{self.path}#{self.same + 1}" if self.same else self.path, self.before, self.after

    def applied(self, text: bytes) -> bytes:
        """The file with the fault."""
        end = self.start + len(self.old.encode())
        assert text[self.start : end] == self.old.encode(), (self, text[self.start : end])
        return text[: self.start] + self.new.encode() + text[end:]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before}  ->  {self.after}"


def mutants_of(path: str, text: bytes) -> list[Mutant]:
    """All of one file, in the order of their places."""
    changes = _python(text) if path.endswith(".py") else _tokens(text)
    return [_mutant(path, text, *change) for change in sorted(set(changes))]


def _mutant(path: str, text: bytes, start: int, old: str, new: str) -> Mutant:
    first = text.rfind(b"\n", 0, start) + 1
    end = text.find(b"\n", start + len(old.encode()))
    end = len(text) if end < 0 else end
    after = text[first:start] + new.encode() + text[start + len(old.encode()) : end]
    before, after_text = (" ".join(t.decode().split()) for t in (text[first:end], after))
    lines = _lines(text)[: text.count(b"\n", 0, first)]
    return Mutant(path, len(lines) + 1, start, old, new, before, after_text, lines.count(before))


@lru_cache(1)
def _lines(text: bytes) -> Sequence[str]:
    """As a key says them: without indentation."""
    return [" ".join(line.split()) for line in text.decode().split("\n")]


def _python(text: bytes) -> Iterator[tuple[int, str, str]]:
    starts = [0, *(i + 1 for i, byte in enumerate(text) if byte == 10)]

    def place(node: ast.AST, at_end: bool = False) -> int:
        line, col = (node.end_lineno, node.end_col_offset) if at_end else (node.lineno, node.col_offset)
        return starts[line - 1] + col

    def between(left: ast.AST, right: ast.AST, old: str, new: str) -> Iterator[tuple[int, str, str]]:
        gap = text[place(left, True) : place(right)].decode()
        if gap.count(old) == 1 and "#" not in gap:
            yield place(left, True) + len(gap[: gap.index(old)].encode()), old, new

    def whole(node: ast.AST, new: str) -> tuple[int, str, str]:
        return place(node), text[place(node) : place(node, True)].decode(), new

    nodes = list(_code(ast.parse(text)))
    either = {id(node.test) for node in nodes if isinstance(node, ast.IfExp) and _is_either(node)}
    for node in nodes:
        match node:
            case ast.Compare() if id(node) in either:
                pass
            case ast.Compare(left, ops, comparators):
                for a, op, b in zip((left, *comparators), ops, comparators, strict=False):
                    if change := COMPARED.get(type(op)):
                        yield from between(a, b, *change)
            case ast.BinOp(left, op, right) if not (_is_text(left) or _is_text(right)):
                if change := COMPUTED.get(type(op)):
                    yield from between(left, right, *change)
            case ast.BoolOp(op, values):
                for a, b in pairwise(values):
                    yield from between(a, b, *JOINED[type(op)])
            case ast.UnaryOp(ast.Not(), _):
                yield place(node), "not ", ""
            case ast.Constant(int(value)) if not isinstance(value, bool):
                yield whole(node, str(value + 1))
            case ast.Call(ast.Name(name) as function) if name in CALLED:
                yield whole(function, CALLED[name])
            case ast.If(test) | ast.IfExp(test) if not isinstance(test, ast.NamedExpr):
                yield whole(test, "False")
            case ast.comprehension(ifs=ifs):
                yield from (whole(test, "True") for test in ifs)
            case _:
                pass


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but types, decorators, promises (`assert`), messages, and what no test runs."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "exc", "format_spec"):
            continue
        for child in value if isinstance(value, list) else [value]:
            is_other = isinstance(child, ast.If) and re.search(
                "'(?:__name__|TYPE_CHECKING)'", ast.dump(child.test)
            )
            if (
                isinstance(child, ast.AST)
                and not isinstance(child, ast.Assert | ast.JoinedStr)
                and not is_other
            ):
                yield child
                yield from _code(child)


def _is_either(node: ast.IfExp) -> bool:
    """Is it the smaller or the larger of two?  Where they are equal it is either."""
    match node.test:
        case ast.Compare(left, [ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], [right]):
            compared = {ast.dump(left), ast.dump(right)}
            return compared == {ast.dump(node.body), ast.dump(node.orelse)}
        case _:
            return False


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _tokens(text: bytes) -> Iterator[tuple[int, str, str]]:
    code = NO_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text.decode())
    plain = text.decode()

    def byte(at: int) -> int:
        return len(plain[:at].encode())

    either = {found.start(2) for found in EITHER.finditer(code)}
    for pattern, becomes in TOKENS:
        for found in pattern.finditer(code):
            if found.start(1) not in either:
                yield byte(found.start(1)), found[1], becomes
    for found in NUMBER.finditer(code):
        digits = found[1]
        is_hex = digits.startswith("0x")
        more = int(digits, 16 if is_hex else 10) + 1
        yield byte(found.start(1)), digits, f"0x{more:0{len(digits) - 2}x}" if is_hex else str(more)


def folder_of(path: str) -> str:
    """What the score is told by: of Python a folder of the package, of C++ the header's own."""
    parts = Path(path).parent.parts[2:]
    return "/".join(parts if not path.endswith(".py") else parts[:1]) or "."


def sample(mutants: Iterable[Mutant], each: int, seed: str = "") -> list[Mutant]:
    """`each` mutants of every folder by chance, the first of all folders before the second of any; another
    seed draws others.
    """
    folders = defaultdict[str, list[tuple[bytes, Mutant]]](list)
    for mutant in mutants:
        folders[folder_of(mutant.path)].append((_chance(mutant, seed), mutant))
    drawn = [sorted(folder, key=lambda pair: (pair[0], pair[1].start))[:each] for folder in folders.values()]
    return [pair[1] for pair in chain.from_iterable(zip_longest(*drawn)) if pair is not None]


def _chance(mutant: Mutant, seed: str) -> bytes:
    return sha256("\0".join([*([seed] if seed else ()), *mutant.key]).encode()).digest()


def equivalents(text: str) -> Mapping[Key, str]:
    """The key of a mutant to the reason why no test can tell it."""
    blocks = (block.splitlines() for block in text.split("\n\n") if block.strip())
    return {(path, before, after): " ".join(reason) for path, before, after, *reason in blocks}
