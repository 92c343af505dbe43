"""What imbrex-opt does beside reading and printing: `--execute` and `--compare`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from imbrex.diagnostic import Diagnostic
from imbrex.ir.dialect import load
from imbrex.ir.source import SourceMap
from imbrex.limit import IR_BYTES, read_bounded

__all__ = ["add_arguments", "is_wanted", "report"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("execution")
    group.add_argument(
        "--execute", action="store_true", help="execute the module after the passes, on small whole numbers"
    )
    group.add_argument(
        "--compare", metavar="OTHER.mlir", help="execute this module, too; exit code 1 where the two differ"
    )
    group.add_argument(
        "--operand", action="append", default=[], metavar="NAME=FILE.npy", help="an operand from a file"
    )
    group.add_argument(
        "--save",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="keep an operand as it is afterwards",
    )
    group.add_argument("--seed", type=int, default=0, help="seed of the operands that are drawn")
    group.add_argument("--function", metavar="NAME", help="which function; the first one if not named")
    group.add_argument(
        "--tolerance", type=float, help="how far results may be apart, relative; whole numbers must be equal"
    )


def is_wanted(args: argparse.Namespace) -> bool:
    return bool(args.execute or args.compare is not None)


def report(args: argparse.Namespace, module: ModuleOp, sources: SourceMap, ctx: Context) -> str:
    """What became of each operand; Diagnostic where a module may not be executed, or where two differ."""
    return "\n".join(_lines(args, module, sources, ctx)) + "\n"


def _lines(args: argparse.Namespace, module: ModuleOp, sources: SourceMap, ctx: Context) -> Iterator[str]:
    from imbrex.ir.trial import difference, saved, tried

    if args.seed < 0:
        raise Diagnostic(f"'--seed' is a whole number from 0 on, got {args.seed}")
    given, kept = (_files(option, getattr(args, option)) for option in ("operand", "save"))
    with sources.diagnosing():
        own = tried(module, args.function, args.seed, given)
    saved(own, kept)
    yield from map(str, own)
    if args.compare is None:
        return
    source = load(_text(args.compare), args.compare, ctx)
    with source.sources.diagnosing():
        other = tried(source.module, args.function, args.seed, given)
    found = difference(own, other, args.tolerance)
    if found is not None:
        raise Diagnostic(f"{found} ('{args.compare}')")
    yield f"'{args.compare}' gives the same"


def _files(option: str, texts: list[str]) -> dict[str, Path]:
    """`NAME=FILE.npy`, each name once."""
    found: dict[str, Path] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise Diagnostic(f"'--{option}' takes NAME=FILE.npy, got '{text}'")
        if name in found:
            raise Diagnostic(f"'--{option}' names '{name}' twice")
        found[name.removeprefix("%")] = Path(path)
    return found


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return read_bounded(file, path, IR_BYTES)
    except OSError as error:
        raise Diagnostic(f"cannot read '{path}': {error.strerror}") from None
