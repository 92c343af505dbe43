"""A convolution's operation in another arrangement: views, one launch that copies, and one that copies back.

    miopen.conv2d(%filter, %input, %output)
    ->  %packed_filter = workspace     launch: %packed_filter = %filter     %packed_input = transform(%input)
        miopen.conv2d(%packed_filter, %packed_input, %output)

What is copied, and how, is the arrangement's; see `config.algorithm.arrange`.
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Attribute, SSAValue

from imbrex.config.algorithm.arrange import Arrangement
from imbrex.ir.attrs import Bool, Ints, Names, Padding
from imbrex.ir.ops.problem import ConvOp
from imbrex.ir.passes.copies import copied
from imbrex.ir.passes.packing import workspace
from imbrex.ir.passes.plane_packing import unpack_planes
from imbrex.ir.rewrite import Run
from imbrex.ir.shape import element_of
from imbrex.ir.task import ROLES
from imbrex.view.copy.plane_tiles import PlaneTiles

__all__ = ["arrange"]


def arrange(op: ConvOp, made: Arrangement, keys: Collection[str], run: Run, word: str = "packed") -> None:
    """The operation of other arrays, without these keys.  word: what the names of arrays begin with."""
    arrays: dict[str, SSAValue] = dict(zip(ROLES, op.operands, strict=True))
    dims = {"filter": made.conv.filter, "input": made.conv.input, "output": made.conv.output}
    written = ROLES[op.WRITES]
    read = {str(role): how for role, how in made.copied.items() if role != written}
    own = arrays | {role: run.view(arrays[role], of, f"{word}_{role}") for role, of in made.seen.items()}
    own |= copied(arrays, read, run, word)
    back = made.copied.get(written)
    if back is not None:
        own[written] = workspace(f"{word}_{written}", element_of(arrays[written]), back.written.lower, run)
    properties: dict[str, Attribute] = {k: p for k, p in op.properties.items() if k not in keys}
    properties |= {f"{role}_layout": Names(tuple(d.name for d in dims[role])) for role in ROLES}
    properties |= {"strides": Ints(made.conv.strides), "padding": Padding(made.conv.padding)}
    if made.copies_key is not None:
        properties[made.copies_key] = Bool(True)
    run.add(type(op).build(operands=[own[role] for role in ROLES], properties=properties))
    if back is not None:
        assert isinstance(back, PlaneTiles), back
        unpack_planes(own[written], arrays[written], back, written, run)
