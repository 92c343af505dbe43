"""linalg.conv, the operation that the seeds start from and that MLIR no longer has.

    linalg.conv(%filter, %input, %output) { strides = [1, 1], dilations = [1, 1], padding = [0, 0] } : ...

Operands are in the order of MLIR's old operation: filter, input, output.  Layouts are KCYX, NCHW and NKHW
unless `*_layout` says otherwise.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from imbrex.ir.attrs import Ints, Names, Padding
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.text import Tokens


@irdl_op_definition
class LinalgConvOp(MiopenOp):
    """A convolution of three buffers."""

    name = "linalg.conv"
    filter = operand_def(MemRefType)
    input = operand_def(MemRefType)
    output = operand_def(MemRefType)
    filter_layout = opt_prop_def(Names)
    input_layout = opt_prop_def(Names)
    output_layout = opt_prop_def(Names)
    dilations = opt_prop_def(Ints)
    strides = opt_prop_def(Ints)
    padding = opt_prop_def(Padding)

    @classmethod
    def parse(cls, parser: Parser) -> LinalgConvOp:
        arrow = Tokens.next(parser)
        if arrow.text == "->":
            line = parser.lexer.input.content[arrow.span.start :].split("\n")[0].strip()
            message = f"'linalg.conv {line}' is prose; remove the line, and run linalg-to-miopen"
            raise ParseError(arrow.span, message)
        return super().parse(parser)
