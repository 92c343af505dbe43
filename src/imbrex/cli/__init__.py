"""imbrex: the command.

    imbrex run "conv -n 1 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"

Law: a mistake of the user's is one message on stderr and exit code 1 (2 where the command line itself is
wrong); a result that is not right is exit code 1, too; Ctrl-C is 130.  Each command is imported when it is
called.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click

from imbrex.cli.guard import Misused, guarded
from imbrex.diagnostic import did_you_mean
from imbrex.version import __version__

__all__ = ["main"]

COMMANDS: Final = {
    "run": "compile, run, verify and time problems",
    "build": "write the source files that a user owns",
    "capture": "list the problems of a model or a log, with counts",
    "warm": "compile the kernels of many problems into the cache, side by side",
    "tune": "find the fastest configuration of problems, by measuring",
    "explain": "show the maps, the tuning and every level of the IR",
    "explore": "draw a kernel: maps, lanes, banks, schedules, source, on one page",
    "map": "show which workgroup computes which tile",
    "verify": "make a kit that checks kernels on a GPU elsewhere, or read its report",
    "bench": "time problems beside NumPy and PyTorch",
    "db": "list, compare and exchange what was tuned",
    "doctor": "say what this machine has and what is missing",
}
TOPICS: Final = {"mma": "mma", "swizzle": "swizzle", "schedule": "schedule"}
"""First words of `explain` that are no problem, and the modules that answer them."""


class Commands(click.Group):
    """Subcommands by name, one module each."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`--emulate` alone is `--emulate=lanes`: a value stands behind `=`, and is never the next word."""
        spelled_out = ["--emulate=lanes" if word == "--emulate" else word for word in args]
        return super().parse_args(ctx, spelled_out)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = import_module(f"imbrex.cli.{cmd_name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word == "explain" and len(args) > 1 and args[1] in TOPICS:
            topic: click.Command = import_module(f"imbrex.cli.{TOPICS[args[1]]}").command
            return f"{word} {args[1]}", topic, args[2:]
        if word in COMMANDS or word.startswith("-"):
            return super().resolve_command(ctx, args)
        is_problem = word.startswith(("conv", "gemm ", "hipblaslt", "{", "[")) or word.endswith(".mlir")
        hint = f"imbrex run '{word}'" if is_problem else did_you_mean(word, COMMANDS)
        raise Misused(f"no such command '{word}'", hint)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="imbrex %(version)s")
def imbrex() -> None:
    """Convolutions and matrix products as readable, verified kernel source.

    A problem is a file of problems, a quoted line (MIOpenDriver's, rocblas-bench's, hipblaslt-bench's, gemm,
    JSON or IR), or - for standard input.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """The `imbrex` program."""
    guarded(imbrex, arguments)
