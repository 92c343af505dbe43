"""finish: a buffer seen through an epilogue; what is stored in the view is finished first.

Storing x at an index of the result stores expression(x, arrays at that index) in the source, and the
pre-activation, where the expression has one, in its own array at that index.  Loading gives the source's own
elements.  So any operation that writes its result once has an epilogue, at every level.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from imbrex.diagnostic import Diagnostic
from imbrex.ir.attrs import Keyword
from imbrex.ir.element import BY_MLIR_NAME
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.shape import agree, element_of, shape_of, shape_text
from imbrex.ir.source import InvalidField, expect
from imbrex.problem.epilogue import Epilogue, parse


@irdl_op_definition
class FinishOp(MiopenOp):
    """The view `result`, of the sums' type, of `source`; `arrays` are those that the expression reads, then
    those that it stores.
    """

    name = "miopen.finish"
    source = operand_def(MemRefType)
    arrays = var_operand_def(MemRefType)
    expression = prop_def(Keyword)
    result = result_def(MemRefType)
    traits = traits_def(Pure())

    @property
    def epilogue(self) -> Epilogue:
        return parse(self.expression.data)

    def verify_(self) -> None:
        try:
            names = (*self.epilogue.arrays, *self.epilogue.stored)
        except Diagnostic as error:
            raise InvalidField(error.message, "expression") from None
        expect(self.epilogue.result is None, "the type of the result is that of the source", "expression")
        count, given = len(names), len(self.arrays)
        verb = "has" if self.epilogue.stored else "reads"
        message = f"'{self.epilogue}' {verb} {count} further arrays ({', '.join(names)}), got {given}"
        expect(count == given, message, "expression")
        kind = element_of(self.source)
        for i, name in enumerate(names, start=1):
            have = element_of(self.arrays[i - 1])
            is_alike = name not in self.epilogue.stored or have == kind
            expect(is_alike, f"'{name}' is stored as the source is, of {kind}, not of {have}", "type", i)
        want = shape_of(self.source)
        for i, value in enumerate((*self.arrays, self.result), start=1):
            where = ("result", 0) if value is self.result else ("type", i)
            have = shape_of(value)
            fits = len(have) == len(want) and all(map(agree, have, want))
            expect(fits, f"the source has sizes {shape_text(want)}, this has {shape_text(have)}", *where)
        element = str(element_of(self.result))
        sums = {t.accumulator.mlir_name for t in BY_MLIR_NAME.values()}
        expect(element in sums, f"sums are {' or '.join(sorted(sums))}, not {element}", "result", 0)
