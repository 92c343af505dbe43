"""Problems: convolutions and matrix products over whole buffers, before any choice of how to compute them.

    forward          output[n, k, ho, wo]  = sum_cyx filter[k, c, y, x] * input[n, c, hi, wi]
    backward data    input[n, c, hi, wi]   = sum     filter[k, c, y, x] * output[n, k, ho, wo]
    backward weight  filter[k, c, y, x]    = sum     input[n, c, hi, wi] * output[n, k, ho, wo]

each over all the positions with `hi = ho * stride + y * dilation - pad`, and likewise for w.  A layout
names the dimensions of a buffer, outermost first.  With groups every layout also has `g`, and c and k are
a group's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, var_operand_def
from xdsl.parser import Parser

from imbrex.diagnostic import Diagnostic
from imbrex.dtype import BLOCK, SCALED, product_of_packs
from imbrex.ir.attrs import Bool, Float, Int, Ints, Keyword, Names, Padding
from imbrex.ir.chosen import Tuned
from imbrex.ir.element import BY_MLIR_NAME
from imbrex.ir.literal import suggest
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.ops.scales import verify_scales
from imbrex.ir.shape import Size, agree, element_of, rank_of, shape_of
from imbrex.ir.source import InvalidField, LocatedParser, expect
from imbrex.numeral import counted
from imbrex.problem.axis import Axis
from imbrex.problem.layout import DIMENSIONS, Role

AXES: Final = (("ho", "hi", "y"), ("wo", "wi", "x"))
"""Output, input and window of height and of width."""
DRAFT_NAMES: Final = {"h": "hi", "w": "wi", "ko": "k", "ci": "c", "ni": "n", "no": "n"}
"""Names that the notes use beside the dialect's own; the first draft's input layout is `n, c, h, w`."""


class ConvOp(MiopenOp):
    """What the three directions share; WRITES is the operand that is written.

    channels_last: the arrays that are read are copied first, with the channels that a sum runs over fastest.
    input_last, output_last: in backward weight, this one alone is copied so.
    all_last: the result is computed so, too, and copied to where it belongs.
    window_rows: so are they, of few channels, with whole rows of a window as one stretch.
    channel_vectors: of depthwise ones, lanes multiply, each neighbouring groups.
    merged_groups: so many groups are computed as one, with zeros between; see `merge-groups`.
    halo: pixels come into shared memory once for all taps of a window, of so many groups as one; see `halo`.
    tuning: of a halo, where it is chosen before its product exists.
    whole_images: positions of an image are counted up to a multiple of so many; see `whole-images`.
    """

    WRITES: ClassVar[int] = 2
    filter = operand_def(MemRefType)
    input = operand_def(MemRefType)
    output = operand_def(MemRefType)
    filter_layout = prop_def(Names)
    input_layout = prop_def(Names)
    output_layout = prop_def(Names)
    dilations = prop_def(Ints)
    strides = prop_def(Ints)
    padding = prop_def(Padding)
    channels_last = opt_prop_def(Bool)
    input_last = opt_prop_def(Bool)
    output_last = opt_prop_def(Bool)
    all_last = opt_prop_def(Bool)
    merged_groups = opt_prop_def(Int)
    window_rows = opt_prop_def(Bool)
    whole_images = opt_prop_def(Int)
    channel_vectors = opt_prop_def(Bool)
    halo = opt_prop_def(Int)
    tuning = opt_prop_def(Tuned)

    @property
    def layouts(self) -> dict[str, tuple[str, ...]]:
        """Dimension names of filter, input and output."""
        return {
            "filter": self.filter_layout.data,
            "input": self.input_layout.data,
            "output": self.output_layout.data,
        }

    def axis(self, i: int, size: int, window: int) -> Axis:
        """Height (0) or width (1) for these sizes of input and window."""
        _, name, window_name = AXES[i]
        pad, stride, dilation = self.padding.data[i], self.strides.data[i], self.dilations.data[i]
        return Axis(name, window_name, size, window, pad, stride, dilation)

    def sizes(self, role: str) -> dict[str, Size]:
        """Sizes by dimension name of one buffer, in memory order."""
        value = {"filter": self.filter, "input": self.input, "output": self.output}[role]
        return dict(zip(self.layouts[role], shape_of(value), strict=True))

    @property
    def is_grouped(self) -> bool:
        return "g" in self.filter_layout.data

    def verify_(self) -> None:
        for index, role in enumerate(DIMENSIONS):
            self._verify_layout(role, index)
        for key, value in (("dilations", self.dilations.data), ("strides", self.strides.data)):
            expect(
                len(value) == 2, f"'{key}' takes [height, width], got {counted(len(value), 'number')}", key
            )
            for i, v in enumerate(value):
                expect(v > 0, f"'{key}' are positive, got {v}", key, i)
        pads = self.padding.data
        expect(
            len(pads) == 2, f"'padding' takes [height, width], got {counted(len(pads), 'entry')}", "padding"
        )
        for i, pair in enumerate(pads):
            expect(min(pair) >= 0, f"pads are not negative, got {min(pair)}", "padding", i)
        verify_elements([self.filter, self.input, self.output], self.WRITES)
        self._verify_sizes()
        self._verify_groups()
        message = "'tuning' is of a 'halo'; products get theirs when they exist"
        expect(self.tuning is None or self.halo is not None, message, "tuning")

    def _verify_groups(self) -> None:
        if self.merged_groups is None:
            return
        count, groups = self.merged_groups.data, self.sizes("filter").get("g", 1)
        message = f"'merged_groups' {count} does not divide {groups} groups"
        expect(count > 0 and (groups is None or groups % count == 0), message, "merged_groups")

    def _verify_layout(self, role: Role, operand: int) -> None:
        names, key = self.layouts[role], f"{role}_layout"
        want = (*(("g",) if self.is_grouped else ()), *DIMENSIONS[role])
        for i, name in enumerate(names):
            fix = f"; write '{DRAFT_NAMES[name]}'" if DRAFT_NAMES.get(name) in want else suggest(name, want)
            expect(name in want, f"the {role} has no dimension '{name}'{fix}", key, i)
            expect(name not in names[:i], f"'{name}' is named twice in the {role}'s layout", key, i)
        missing = [n for n in want if n not in names]
        expect(not missing, f"the {role}'s layout lacks '{', '.join(missing)}'", key)
        rank = rank_of((self.filter, self.input, self.output)[operand])
        message = (
            f"the {role} has rank {rank} but its layout names {len(want)} dimensions: {', '.join(names)}"
        )
        expect(rank == len(want), message, "type", operand)

    def _has_more(self, name: str, index: int, size: Size, other: Size) -> bool:
        """Is it a copy of an image, its channels rounded up, of which the gradient of a filter has fewer?"""
        owner = (self.filter, self.input, self.output)[index].owner
        is_copy = isinstance(owner, Operation) and owner.name == "miopen.workspace"
        is_more = name in ("c", "k") and size is not None and other is not None and size > other
        return self.name == "miopen.conv2d_bwd_weight" and is_copy and is_more

    def _verify_sizes(self) -> None:
        seen: dict[str, tuple[str, Size]] = {}
        for index, role in enumerate(DIMENSIONS):
            for name, size in self.sizes(role).items():
                owner, other = seen.setdefault(name, (role, size))
                message = f"'{name}' is {size} in the {role} but {other} in the {owner}"
                expect(agree(size, other) or self._has_more(name, index, size, other), message, "type", index)
        output = self.sizes("output")
        for i, (made, at, window) in enumerate(AXES):
            size, taps, have = self.sizes("input")[at], self.sizes("filter")[window], output[made]
            if size is not None and taps is not None:
                axis = self.axis(i, size, taps)
                try:
                    axis.check()
                except Diagnostic as error:
                    raise InvalidField(error.message, "type", 0) from None
                message = f"'{made}' is {have}; this convolution makes {axis.outputs}"
                expect(agree(have, axis.outputs), message, "type", 2)


@irdl_op_definition
class Conv2dOp(ConvOp):
    """Forward convolution: writes `output`."""

    name = "miopen.conv2d"


@irdl_op_definition
class DraftConvOp(ConvOp):
    """`miopen.conv`, the first draft's name of `conv2d`: read as `conv2d`, with h and w for hi and wi."""

    name = "miopen.conv"

    @classmethod
    def infer(cls, properties: dict[str, Attribute], operands: Mapping[str, Sequence[SSAValue]]) -> None:
        layout = properties["input_layout"]
        assert isinstance(layout, Names)
        properties["input_layout"] = Names(tuple({"h": "hi", "w": "wi"}.get(n, n) for n in layout.data))

    @classmethod
    def parse(cls, parser: Parser) -> Conv2dOp:  # pyright: ignore[reportIncompatibleMethodOverride]
        draft = super().parse(parser)
        op = Conv2dOp.create(
            operands=draft.operands, properties=draft.properties, attributes=draft.attributes
        )
        if isinstance(parser, LocatedParser):
            parser.sources.ops[op] = parser.sources.ops.pop(draft)
        draft.drop_all_references()
        return op

    def verify_(self) -> None:
        raise InvalidField("this is the first draft's name; write 'miopen.conv2d'")


@irdl_op_definition
class Conv2dBwdDataOp(ConvOp):
    """Gradient of the input: reads `filter` and `output`, writes `input`."""

    name = "miopen.conv2d_bwd_data"
    WRITES: ClassVar[int] = 1
    algorithm = opt_prop_def(Keyword)

    def verify_(self) -> None:
        super().verify_()
        known = ("v1r1", "v4r1")
        word = self.algorithm.data if self.algorithm else known[0]
        expect(word in known, f"unknown algorithm '{word}'{suggest(word, known)}", "algorithm")
        is_packed = self.channels_last is not None and self.channels_last.data
        fits = not (is_packed and self.algorithm is not None and word == "v1r1")
        expect(fits, "'channels_last' packs for v4r1; leave it or the algorithm out", "channels_last")


@irdl_op_definition
class Conv2dBwdWeightOp(ConvOp):
    """Gradient of the filter: reads `input` and `output`, writes `filter`."""

    name = "miopen.conv2d_bwd_weight"
    WRITES: ClassVar[int] = 0


@irdl_op_definition
class GemmOp(MiopenOp):
    """c[m, n] = alpha * sum_k a[m, k] * b[k, n] + beta * c[m, n], row-major, for each leading batch index.

    a_transposed: a is stored as [k, m]; b_transposed: b is stored as [n, k].  data_tiled: the name of a tile
    kernel; a and b are packed for it first, and c is unpacked in the end.  aligned: that one of a and b is
    copied first whose rows are no multiple of 16 bytes, or both.  scales: none, or those of a microscaled
    product, of a [m, k / 32] and of b [n, k / 32].  k_parts: parts of K, each a product of its own, which a
    launch adds up.
    """

    name = "miopen.gemm"
    a = operand_def(MemRefType)
    b = operand_def(MemRefType)
    c = operand_def(MemRefType)
    scales = var_operand_def(MemRefType)
    a_transposed = opt_prop_def(Bool)
    b_transposed = opt_prop_def(Bool)
    alpha = opt_prop_def(Float)
    beta = opt_prop_def(Float)
    data_tiled = opt_prop_def(Keyword)
    aligned = opt_prop_def(Bool)
    k_parts = opt_prop_def(Int)

    def verify_(self) -> None:
        is_aligned = self.aligned is not None and self.aligned.data
        message = "'data_tiled' packs both operands; leave it or 'aligned' out"
        expect(not (is_aligned and self.data_tiled is not None), message, "aligned")
        is_cut = self.k_parts is not None
        message = "'k_parts' reads operands where they are; leave it or the copies out"
        expect(not (is_cut and (is_aligned or self.data_tiled is not None)), message, "k_parts")
        ranks = [rank_of(v) for v in (self.a, self.b, self.c)]
        for i, rank in enumerate(ranks):
            expect(
                rank in (2, 3), f"a matrix has rank 2, or 3 with a leading batch; got rank {rank}", "type", i
            )
            expect(rank == ranks[0], f"operands have ranks {', '.join(map(str, ranks))}", "type", i)
        (*_, m, ka), (*_, kb, n) = shape_of(self.a), shape_of(self.b)
        if self.a_transposed and self.a_transposed.data:
            m, ka = ka, m
        if self.b_transposed and self.b_transposed.data:
            kb, n = n, kb
        *batch, mc, nc = shape_of(self.c)
        verify_matrices((ka, kb), (m, mc), (n, nc))
        verify_elements([self.a, self.b, self.c], 2, takes_two=True)
        pack = BY_MLIR_NAME[str(element_of(self.a))].pack
        blocks = None if ka is None else ka * pack // SCALED
        self._verify_packs()
        verify_scales(self.scales, self.a, ((*batch, m, blocks), (*batch, n, blocks)), 3)
        is_plain = self.data_tiled is None and not is_aligned and not is_cut
        expect(is_plain or not self.scales, "'data_tiled', 'aligned' and 'k_parts' take no scales", "type", 3)
        for i, v in enumerate((self.a, self.b)):
            if batch and not agree(shape_of(v)[0], batch[0]):
                raise InvalidField(f"the batch is {shape_of(v)[0]} here but {batch[0]} in c", "type", i)

    def _verify_packs(self) -> None:
        """Packs are neighbours along k, or in blocks where k is not the last dimension."""
        flags = (self.a_transposed, self.b_transposed)
        a_is_turned, b_is_turned = (flag is not None and flag.data for flag in flags)
        for position, (value, is_along_k) in enumerate(((self.a, not a_is_turned), (self.b, b_is_turned))):
            of = BY_MLIR_NAME[str(element_of(value))]
            has_blocks = bool(of.across)
            packs = f"packs of {of.pack} are neighbours along k of '{'ab'[position]}'"
            message = f"{packs}, or {BLOCK}x1 where rows of it are k"
            expect(of.pack == 1 or is_along_k != has_blocks, message, "type", position)


def verify_matrices(k: tuple[Size, Size], m: tuple[Size, Size], n: tuple[Size, Size]) -> None:
    """K of A and B, M of A and C, N of B and C must be the same sizes."""
    for pair, what, operand in ((k, "k of a and b", 1), (m, "m of a and c", 2), (n, "n of b and c", 2)):
        expect(agree(*pair), f"{what} differ: {pair[0]} and {pair[1]}", "type", operand)


def verify_elements(operands: Sequence[SSAValue], written: int, takes_two: bool = False) -> None:
    """What is read has one element type, or two that are multiplied; what is written has that type, or its
    output or accumulator.
    """
    names = [str(element_of(v)) for v in operands]
    for i, name in enumerate(names):
        known = ", ".join(BY_MLIR_NAME)
        expect(name in BY_MLIR_NAME, f"element type {name} is not one of {known}", "type", i)
    first, second = (i for i in range(3) if i != written)
    message = f"the element type is {names[second]} here but {names[first]} in the other operand that is read"
    read = product_of_packs(BY_MLIR_NAME[names[first]], BY_MLIR_NAME[names[second]])
    expect(read is not None and (read.pair is None or takes_two), message, "type", second)
    assert read is not None, names
    fit = dict.fromkeys(t.mlir_name for t in (read, read.output, read.accumulator))
    message = f"a result of {read.mlir_name} is stored as {' or '.join(fit)}, not as {names[written]}"
    expect(names[written] in fit, message, "type", written)
