"""channels-last: a convolution that asks for it reads copies of its arrays whose channels run fastest.

    miopen.conv2d(%filter, %input, %output) { channels_last = true, input_layout = ["n", "c", "hi", "wi"] }
    ->  %packed_filter = workspace   %packed_input = workspace
        launch: %packed_filter = %filter, transposed, and %packed_input = %input, transposed
        miopen.conv2d(%packed_filter, %packed_input, %output) { input_layout = ["n", "hi", "wi", "c"] }

The channels are those that the sum runs over: c of filter and input forward, k of filter and output in
backward data.  There they are also rounded up to 16 bytes, with zeros on both sides, so that every load can
be wide.  Backward weight sums over positions; its channels, k of output and c of input, keep their number.
The result is written in its own layout.

Of an input whose windows have one tap and move by more than one, only what they read is copied; see
`view.copy.sampled`.  Backward weight may ask for a copy of one array alone, `input_last = true` or
`output_last = true`: the other one, whose positions lie together, is read as it is.

`all_last = true` asks for the result, too, where its planes begin anywhere: the convolution writes a
workspace whose channels run fastest, and a launch after it turns that back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import gcd
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from imbrex.index.map import Map
from imbrex.index.query import vector_width
from imbrex.ir.attrs import Bool, Ints, Names, Padding
from imbrex.ir.chain import finish_of
from imbrex.ir.element import element_bytes
from imbrex.ir.ops.problem import Conv2dBwdDataOp, Conv2dBwdWeightOp, ConvOp
from imbrex.ir.passes.conv_to_gemm import ROLES, convolution_of
from imbrex.ir.passes.packing import Packing, pack_all, workspace
from imbrex.ir.passes.plane_packing import PlanePacking, unpack_planes
from imbrex.ir.rewrite import Run, blaming, replace_with
from imbrex.ir.shape import element_of
from imbrex.ir.source import InvalidOp
from imbrex.view.conv import implicit_gemm
from imbrex.view.copy.channels_last import ChannelsLast, is_channels_last
from imbrex.view.copy.data_tiled import VECTOR_BYTES
from imbrex.view.copy.line_tiles import line_tiles
from imbrex.view.copy.plane_tiles import plane_tiles
from imbrex.view.copy.sampled import Sampled, sampled

__all__ = ["ALREADY", "KEYS", "RESULT_STAYS", "ChannelsLastPass", "packed_alone", "packed_arrays", "pays"]

ALREADY: Final = f"channels run fastest in all that is read, in whole packs of {VECTOR_BYTES} bytes"
RESULT_STAYS: Final = "the result's planes are whole 16 bytes, or its channels are not, or come last"
LEAST_LOAD: Final = 4
"""Bytes of neighbours with which a work item does well enough without a copy."""


@dataclass(frozen=True)
class ChannelsLastPass(ModulePass):
    """See the module's first lines.  where_needed: all that is read and has other channels last is copied, of
    operations that do not ask for anything, too.
    """

    name = "channels-last"
    where_needed: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for problem in [o for o in op.walk() if isinstance(o, ConvOp)]:
            with blaming(problem):
                key = next((key for key in KEYS if problem.properties.get(key) == Bool(True)), None)
                if key is None and self.where_needed and packed_arrays(problem):
                    key = "channels_last"
                if key is not None:
                    run = Run()
                    _pack(problem, KEYS[key](problem), key, run)
                    replace_with(problem, run.ops)


def packed_arrays(op: ConvOp) -> dict[str, ChannelsLast]:
    """What is copied, by role; empty where all that is read can be read 16 bytes at a time."""
    small = _sampled(op)
    shape = small.conv if small else convolution_of(op)
    arrays = {"filter": shape.filter, "input": shape.input, "output": shape.output}
    multiple = 1 if isinstance(op, Conv2dBwdWeightOp) else max(1, VECTOR_BYTES // _read_bytes(op))
    found = {role: ChannelsLast(arrays[role], channel, multiple) for role, channel in _channels(op).items()}
    is_rounded = any(of.packed[-1].size != dict(of.array)[of.channel] for of in found.values())
    return {r: of for r, of in found.items() if is_rounded or not is_channels_last(of.array, of.channel)}


def packed_alone(op: ConvOp, role: str) -> dict[str, ChannelsLast]:
    """The same of one array, where the other is to be read as it is; empty where not both would be copied,
    or the other is the input and not all of it is read.
    """
    packed = packed_arrays(op)
    is_read_as_it_is = role == "input" or _sampled(op) is None
    if (
        not isinstance(op, Conv2dBwdWeightOp)
        or not {"input", "output"} <= set(packed)
        or not is_read_as_it_is
    ):
        return {}
    return {role: packed[role]}


def packed_all(op: ConvOp) -> dict[str, ChannelsLast]:
    """All that is read, where it has other channels last, and the result, whose planes begin anywhere; empty
    where they do not, or an epilogue finishes what is stored.
    """
    role, channel = ROLES[op.WRITES], {"filter": "c", "input": "c", "output": "k"}[ROLES[op.WRITES]]
    shape, result = convolution_of(op), op.operands[op.WRITES]
    array = {"filter": shape.filter, "input": shape.input, "output": shape.output}[role]
    if finish_of(result) is not None or is_channels_last(array, channel):
        return {}
    packed = ChannelsLast(array, channel)
    if plane_tiles(packed, element_bytes(element_of(result))) is None:
        return {}
    return {**packed_arrays(op), role: packed}


def pays(op: ConvOp) -> bool:
    """Is it worth the copies?  Where elements are narrow, the channels fill 16 bytes, and some array has
    fewer than LEAST_LOAD bytes of neighbours that a work item could load together.
    """
    size = _read_bytes(op)
    if size >= LEAST_LOAD or not packed_arrays(op):
        return False
    bytes_of = [(op.sizes(role)[name] or 0) * size for role, name in _channels(op).items()]
    if isinstance(op, Conv2dBwdWeightOp) and any(count % VECTOR_BYTES for count in bytes_of):
        return False
    return min(bytes_of) >= VECTOR_BYTES and _widest_load(op) * size < LEAST_LOAD


def _read_bytes(op: ConvOp) -> int:
    """Bytes of an element of what is read."""
    return element_bytes(element_of(op.operands[(op.WRITES + 1) % 3]))


def _widest_load(op: ConvOp) -> int:
    """Elements that lie together for both operands of the product as it is."""
    shape = convolution_of(op)
    match op:
        case Conv2dBwdWeightOp():
            view = implicit_gemm.backward_weight(shape)
        case Conv2dBwdDataOp():
            view, *_ = implicit_gemm.backward_data_v4r1(shape, taps_first=True)
        case _:
            view = implicit_gemm.forward(shape, taps_first=True)
    return min(_width(view.a, "gemmM"), _width(view.b, "gemmN"))


def _width(map: Map, free: str) -> int:
    return max(vector_width(map, name) for name in ("gemmK", free))


def _channels(op: ConvOp) -> Mapping[str, str]:
    """The channel of each array that is read."""
    match op:
        case Conv2dBwdWeightOp():
            return {"output": "k", "input": "c"}
        case Conv2dBwdDataOp():
            return {"filter": "k", "output": "k"}
        case _:
            return {"filter": "c", "input": "c"}


KEYS: Final[Mapping[str, Callable[[ConvOp], dict[str, ChannelsLast]]]] = {
    "channels_last": packed_arrays,
    "input_last": partial(packed_alone, role="input"),
    "output_last": partial(packed_alone, role="output"),
    "all_last": packed_all,
}
"""What each key of an operation asks to copy."""


def _sampled(op: ConvOp) -> Sampled | None:
    """What windows read of an input that is copied; None where that is all of it."""
    if isinstance(op, Conv2dBwdDataOp) or is_channels_last(convolution_of(op).input, "c"):
        return None
    return sampled(convolution_of(op))


def _pack(op: ConvOp, packed: Mapping[str, ChannelsLast], key: str, run: Run) -> None:
    """The copies, then the convolution of them."""
    if not packed:
        why = RESULT_STAYS if key == "all_last" else ALREADY
        raise InvalidOp(op, f"there is nothing to pack: {why}; leave the key out", key)
    properties: dict[str, Attribute] = {k: p for k, p in op.properties.items() if k not in KEYS}
    arrays: dict[str, SSAValue] = dict(zip(ROLES, op.operands, strict=True))
    written = ROLES[op.WRITES]
    if small := _sampled(op):
        arrays["input"] = run.view(arrays["input"], small.map.layers, "sampled_input")
        properties |= {"strides": Ints(small.conv.strides), "padding": Padding(small.conv.padding)}
    copies = [_packing(op, arrays, of, role, small, run) for role, of in packed.items() if role != written]
    if copies:
        pack_all(copies, run)
    for of in copies:
        arrays[of.hint] = of.packed
    result = packed.get(written)
    if result is not None:
        arrays[written] = workspace(f"packed_{written}", element_of(arrays[written]), result.packed, run)
    for role, of in packed.items():
        properties[f"{role}_layout"] = Names(tuple(d.name for d in of.packed))
    run.add(type(op).build(operands=[arrays[role] for role in ROLES], properties=properties))
    if result is not None:
        array = op.operands[op.WRITES]
        tiles = plane_tiles(result, element_bytes(element_of(array)))
        assert tiles is not None, result
        unpack_planes(arrays[written], array, tiles, written, run)


def _packing(
    op: ConvOp, arrays: Mapping[str, SSAValue], of: ChannelsLast, role: str, small: Sampled | None, run: Run
) -> Packing | PlanePacking:
    """Through shared memory, but for channels that are too few, or no whole 16 bytes."""
    element = element_of(arrays[role])
    size, is_sampled = element_bytes(element), small is not None and role == "input"
    dest = workspace(f"packed_{role}", element, of.packed, run)
    within = small.within if small is not None and is_sampled else None
    tiles = line_tiles(of, size, within) or plane_tiles(of, size, within=within)
    if tiles is not None and (not is_sampled or within is not None):
        return PlanePacking(op.input if is_sampled else arrays[role], dest, tiles, role)
    narrow = Packing(arrays[role], dest, of.placed, of.items(size), role)
    return _widened(narrow, op, of, small) if small and is_sampled and small.step > 1 else narrow


def _widened(copy: Packing, op: ConvOp, of: ChannelsLast, small: Sampled) -> Packing:
    """The copy of a sampled input with wide reads, of all that lies between what is kept."""
    most = max(1, VECTOR_BYTES // (_read_bytes(op) * small.step))
    items = of.items(_read_bytes(op), most=gcd(small.conv.width.out, most))
    wide = small.wide(items.map.then(of.placed))
    return replace(copy, array=op.input, items=items, wide=wide, step=small.step)
