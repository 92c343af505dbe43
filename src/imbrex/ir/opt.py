"""imbrex-opt: read IR, run passes, print IR.

    imbrex-opt input.mlir -p conv-to-gemm,affix-tuning --print-between-passes
    imbrex-opt - -p 'specialise{filter=64,64,3,3 input=1,64,56,56}' < input.mlir
    imbrex-opt input.mlir -p conv-to-gemm --execute --operand input=x.npy --compare other.mlir

Every mistake in the input is one message with its place, on stderr, and exit code 1.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO, StringIO, UnsupportedOperation
from pathlib import Path
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.universe import Universe
from xdsl.utils.arg_spec import parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from imbrex.diagnostic import Diagnostic
from imbrex.ir import opt_trial
from imbrex.ir.dialect import DIALECTS, Source, parse
from imbrex.ir.literal import suggest
from imbrex.ir.passes import PASSES, pass_factory
from imbrex.ir.printed import print_module
from imbrex.ir.source import FAULTS, PassFault, SourceMap
from imbrex.limit import IR_BYTES, read_bounded
from imbrex.whole_file import write_text

BORROWED = ("canonicalize", "cse", "dce")
"""xDSL's own passes that are useful between ours."""


class ImbrexOpt(xDSLOptMain):
    """xDSL's optimizer driver with this project's dialect, passes, text and messages."""

    ctx: Context
    sources: SourceMap

    def __init__(self, args: Sequence[str] | None = None):
        self.sources = SourceMap()
        super().__init__("read the miopen dialect's IR, run passes, print it", args)

    def register_all_dialects(self) -> None:
        for name, factory in DIALECTS.items():
            self.ctx.register_dialect(name, factory)
        for name, factory in Universe.get_multiverse().all_dialects.items():
            if name not in DIALECTS:
                self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        for name in PASSES:
            self.register_pass(name, pass_factory(name))
        for name in BORROWED:
            self.register_pass(name, Universe.get_multiverse().all_passes[name])

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.add_argument(
            "--compact",
            action="store_true",
            help="print short transforms: 0: merge(1: c, 2: y), gemmK",
        )
        opt_trial.add_arguments(arg_parser)

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        if self.args.input_file in (None, "-"):
            return BytesIO(read_bounded(sys.stdin.buffer, "<stdin>", IR_BYTES).encode()), "mlir"
        try:
            with open(self.args.input_file, "rb") as file:
                return BytesIO(read_bounded(file, self.args.input_file, IR_BYTES).encode()), "mlir"
        except OSError as error:
            raise Diagnostic(f"cannot read '{self.args.input_file}': {error.strerror}") from None

    def get_input_name(self) -> str:
        return "<stdin>" if self.args.input_file in (None, "-") else self.args.input_file

    def prepare_output(self) -> IO[str]:
        """A file's text is held until all of it is there."""
        return sys.stdout if self.args.output_file is None else StringIO()

    def setup_pipeline(self) -> None:
        with self._pipeline_errors():
            for spec in parse_pipeline(self.args.passes):
                if spec.name not in self.available_passes:
                    raise Diagnostic(f"unknown pass '{spec.name}'{suggest(spec.name, self.available_passes)}")
            self.pipeline = PassPipeline.parse_spec(self.available_passes, self.args.passes, self._between)

    def parse_chunk(self, chunk: IO[bytes], file_extension: str, start_offset: int = 0) -> ModuleOp:
        text = chunk.read().decode("utf-8")
        source: Source = parse(text, self.get_input_name(), self.ctx, start_offset)
        self.sources = source.sources
        return source.module

    def apply_passes(self, prog: ModuleOp) -> None:
        with self.sources.diagnosing():
            try:
                super().apply_passes(prog)
            except FAULTS as error:
                raise PassFault(prog, error) from error

    def output_resulting_program(self, prog: ModuleOp) -> str:
        if opt_trial.is_wanted(self.args):
            return opt_trial.report(self.args, prog, self.sources, self.ctx)
        if self.args.target == "mlir" and not self.args.print_debuginfo:
            return print_module(prog, generic=self.args.print_op_generic, compact=self.args.compact)
        return super().output_resulting_program(prog)

    def run(self) -> None:
        """Every piece of the input in turn; SystemExit(1) when one of them is wrong, and then no file."""
        chunks, extension = self.prepare_input()
        output = self.prepare_output()
        held = output if isinstance(output, StringIO) and output is not sys.stdout else None
        failed = False
        for i, (chunk, offset) in enumerate(chunks):
            output.write("// -----\n" if i else "")
            try:
                module = self.parse_chunk(chunk, extension, offset)
                self.apply_passes(module)
                output.write(self.output_resulting_program(module))
            except Diagnostic as error:
                if self.args.verify_diagnostics or self.args.parsing_diagnostics:
                    output.write(f"{error}\n")
                else:
                    failed = True
                    print(error, file=sys.stderr)
            output.flush()
        if failed:
            sys.exit(1)
        if held is not None:
            write_text(held.getvalue(), Path(self.args.output_file))

    def _between(self, before: ModulePass | None, module: ModuleOp, after: ModulePass | None) -> None:
        if not self.args.disable_verify:
            self.sources.verify(module)
        if self.args.print_between_passes and before and after:
            print(f"// IR after {before.name}:\n{print_module(module, compact=self.args.compact)}")

    @contextmanager
    def _pipeline_errors(self) -> Generator[None, None, None]:
        """A pass or an option that does not exist is the user's mistake."""
        try:
            yield
        except ArgSpecParseError as error:
            raise Diagnostic(f"cannot read the passes '{self.args.passes}': {_last(error)}") from None
        except (ValueError, TypeError) as error:
            raise Diagnostic(f"in the passes '{self.args.passes}': {_last(error)}") from None


def main(args: Sequence[str] | None = None) -> None:
    """The command; exit code 1 and one message for every mistake in the input."""
    try:
        ImbrexOpt(args).run()
    except Diagnostic as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except OSError as error:  # whoever reads the output has seen enough, or it has no room
        if not isinstance(error, BrokenPipeError):
            print(f"error: cannot write: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        with suppress(UnsupportedOperation):  # a stdout that is no file
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _last(error: BaseException) -> str:
    if "int_max_str_digits" in str(error):  # Python's own limit
        return "a number has too many digits"
    lines = [line for line in str(error).splitlines() if line.strip(" ^")]
    return lines[-1].strip() if lines else type(error).__name__


if __name__ == "__main__":
    main()
