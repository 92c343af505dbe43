"""The grid level: one matrix product over all workgroups, and the launch that a workgroup is part of.

    C[m, n] = sum_k A[k, m] * B[k, n]

Operands have rank 2, or 3 with a leading gemmG that all three share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, assert_never

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator

from imbrex.config.algorithm.table import ALGORITHMS
from imbrex.config.block_plan import ItemsBlock, PanelBlock, WarpgroupBlock, WavesBlock, entries
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule
from imbrex.ir.attrs import Float, Int, Ints, Keyword, Names, Padding, Sizes
from imbrex.ir.chosen import Phased, Scheduled, Tuned
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.ops.known import expect_known
from imbrex.ir.ops.phases import columns_of_phases
from imbrex.ir.ops.problem import verify_matrices
from imbrex.ir.ops.scales import verify_scales
from imbrex.ir.planned import Planned, verify_entries
from imbrex.ir.shape import agree, shape_of
from imbrex.ir.source import LocatedParser, OpSource, expect
from imbrex.numeral import counted
from imbrex.view.work.workgroup import RasterOrder

KERNELS: Final = (
    "v4r4",
    "backward_data_v1r1",
    "backward_data_v4r1",
    "backward_weight_v4r4",
    "gemm",
    *(row.name for row in ALGORITHMS if row.stated == "key"),
)
"""What a product is called by what it computes, or by the algorithm that makes it."""
STORE_METHODS: Final = ("set", "atomic_add")
DIRECT_KEYS: Final = ("_source_data_per_read", "_lds_numbers", "_tap_rows")
"""What is said of a copy past the registers."""


def verify_product(operands: Sequence[SSAValue], phased: Phased | None = None) -> None:
    """A is (gemmG?, k, m), B is (gemmG?, k, n) and C is (gemmG?, m, n), or has n times as many columns as
    there are phases.
    """
    shapes = [shape_of(v) for v in operands]
    for i, shape in enumerate(shapes):
        message = f"an operand has rank 2, or 3 with a leading gemmG; got rank {len(shape)}"
        expect(len(shape) in (2, 3), message, "type", i)
        ranks = ", ".join(str(len(s)) for s in shapes)
        expect(len(shape) == len(shapes[0]), f"operands have ranks {ranks}", "type", i)
        if len(shape) == 3:
            message = f"gemmG is {shape[0]} here but {shapes[0][0]} in a"
            expect(agree(shape[0], shapes[0][0]), message, "type", i)
    (*_, ka, m), (*_, kb, n), (*_, mc, nc) = shapes
    if phased is not None and None not in (ka, n):
        n = columns_of_phases(phased, int(ka or 1), int(n or 1))
    verify_matrices((ka, kb), (m, mc), (n, nc))


def verify_clusters(plan: WarpgroupBlock, schedule: Scheduled | None) -> None:
    """How many are launched is said once."""
    is_shared = schedule is not None and schedule.data.is_shared
    message = "'clusters' are those of 'schedule', which is given"
    expect(not is_shared or plan.clusters is None, message, "clusters")


class GridwiseOp(MiopenOp):
    """What both forms of the gridwise product share.  phases: those that C has, see `view.conv.phase_box`.
    scales: none, or those of a microscaled product, one for each element of A and of B.
    """

    a = operand_def(MemRefType)
    b = operand_def(MemRefType)
    c = operand_def(MemRefType)
    scales = var_operand_def(MemRefType)
    kernel_algorithm = opt_prop_def(Keyword)
    store_method = opt_prop_def(Keyword)
    alpha = opt_prop_def(Float)
    beta = opt_prop_def(Float)
    phases = opt_prop_def(Phased)

    def printed_keys(self, compact: bool) -> Sequence[str]:
        return ("kernel_algorithm", *(k for k in super().printed_keys(compact) if k != "kernel_algorithm"))

    @property
    def adds_atomically(self) -> bool:
        return self.store_method is not None and self.store_method.data == "atomic_add"

    def verify_(self) -> None:
        expect_known(self.kernel_algorithm, KERNELS, "kernel_algorithm")
        expect_known(self.store_method, STORE_METHODS, "store_method")
        verify_product((self.a, self.b, self.c), self.phases)
        verify_scales(self.scales, self.a, (shape_of(self.a), shape_of(self.b)), 3)


@irdl_op_definition
class GridwiseGemmOp(GridwiseOp):
    """The product before any tuning; the attributes of a convolution say where it came from.

    tuning: the one that its operands are laid out for, taken where no other is given.
    parameters: the first draft's place for a tuning, which it leaves empty.
    diagonal: into so many blocks of rows and columns the filter may be cut, zeros off the diagonal.
    taps: of a row of a window whose pixels are views of one another, how many, the channels of each, and how
    many columns further on the next tap's are (`view.conv.row_taps.RowTaps`).
    """

    name = "miopen.gridwise_gemm"
    filter_dimension = opt_prop_def(Sizes)
    filter_layout = opt_prop_def(Names)
    input_dimension = opt_prop_def(Sizes)
    input_layout = opt_prop_def(Names)
    output_dimension = opt_prop_def(Sizes)
    output_layout = opt_prop_def(Names)
    dilations = opt_prop_def(Ints)
    strides = opt_prop_def(Ints)
    padding = opt_prop_def(Padding)
    parameters = opt_prop_def(Ints)
    diagonal = opt_prop_def(Int)
    tuning = opt_prop_def(Tuned)
    taps = opt_prop_def(Ints)

    def verify_(self) -> None:
        super().verify_()
        message = "the draft does not say what these are; a tuning is 'affix-tuning{config=...}' or 'tuning'"
        expect(self.parameters is None or not self.parameters.data, message, "parameters")
        if self.taps is not None:
            k, given = shape_of(self.a)[-2], self.taps.data
            is_whole = len(given) == 3 and min(given[:2]) > 0 and given[0] > 1 and given[2] != 0
            message = "'taps' are how many, the channels of each, and columns from one to the next"
            expect(is_whole, f"{message}; got {list(given)}", "taps")
            message = f"{given[0]} taps of {given[1]} channels do not divide {k} of gemmK"
            expect(k is None or k % (given[0] * given[1]) == 0, message, "taps")
        for role, sizes, names in (
            ("filter", self.filter_dimension, self.filter_layout),
            ("input", self.input_dimension, self.input_layout),
            ("output", self.output_dimension, self.output_layout),
        ):
            if sizes and names:
                sizes_are = counted(len(sizes.data), "size is", "sizes are")
                message = f"{sizes_are} given for {counted(len(names.data), 'named dimension')}"
                expect(len(sizes.data) == len(names.data), message, f"{role}_dimension")


@irdl_op_definition
class GridwiseGemmExOp(GridwiseOp):
    """The product with its tuning; lengths are in elements of the gemm dimension that names them.

    plan: what a workgroup does with its tile, of the kind that its pipeline names, see `config.block_plan`.
    schedule: how workgroups share the output tiles, and the order in which they begin them; one a workgroup
    in the order of their numbers where it is left out.
    """

    name = "miopen.gridwise_gemm_ex"
    plan = prop_def(Planned)
    schedule = opt_prop_def(Scheduled)

    @property
    def schedule_(self) -> TileSchedule:
        """Schedule of its tiles, with an order."""
        found = DATA_PARALLEL if self.schedule is None else self.schedule.data
        return replace(found, order=found.order or RasterOrder())

    def verify_(self) -> None:
        super().verify_()
        plan = self.plan.data
        verify_entries(plan)
        match plan:
            case WarpgroupBlock():
                verify_clusters(plan, self.schedule)
            case WavesBlock(copy="direct" | "ahead"):
                for key in entries(plan):
                    is_staged = key.startswith(("matrix_a_", "matrix_b_")) and not key.endswith(DIRECT_KEYS)
                    expect(not is_staged, f"a direct copy has no '{key}'", key)
            case WavesBlock() | ItemsBlock() | PanelBlock():
                pass
            case _:
                assert_never(plan)
        message = f"a microscaled product is of waves; the pipeline '{plan.pipeline}' has no scales"
        expect(not self.scales or isinstance(plan, WavesBlock), message, "type", 3)
        message = f"'phases' is for 'warpgroup'; the pipeline '{plan.pipeline}' does not read it"
        expect(self.phases is None or isinstance(plan, WarpgroupBlock), message, "phases")


@irdl_op_definition
class LaunchOp(MiopenOp):
    """Runs its body once for each work item of each workgroup.

    miopen.launch(%wg, %item) { grid_size = 900, block_size = 256 } do { ... }
    """

    name = "miopen.launch"
    grid_size = prop_def(Int)
    block_size = prop_def(Int)
    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    @staticmethod
    def over(grid_size: int, block_size: int, body: Region | None = None) -> LaunchOp:
        """A launch with an empty body unless one is given."""
        region = body or Region(Block(arg_types=[IndexType(), IndexType()]))
        sizes = {"grid_size": Int(grid_size), "block_size": Int(block_size)}
        launch = LaunchOp.build(properties=sizes, regions=[region])
        launch.workgroup.name_hint = launch.workgroup.name_hint or "wg"
        launch.item.name_hint = launch.item.name_hint or "item"
        return launch

    @property
    def workgroup(self) -> SSAValue:
        """The number of the workgroup, from 0."""
        return self.body.block.args[0]

    @property
    def item(self) -> SSAValue:
        """The number of the work item in its workgroup, from 0."""
        return self.body.block.args[1]

    def verify_(self) -> None:
        for key, value in (("grid_size", self.grid_size), ("block_size", self.block_size)):
            expect(value.data > 0, f"'{key}' is positive, got {value.data}", key)
        types = [arg.type for arg in self.body.block.args]
        message = "the body takes two index arguments, workgroup and work item"
        expect(types == [IndexType(), IndexType()], message)

    @classmethod
    def parse(cls, parser: Parser) -> LaunchOp:
        start = parser.pos
        names = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        if len(names) != 2:
            parser.raise_error("'miopen.launch' names two values, (%workgroup, %item)", start)
        properties, node = cls.read_config(parser)
        parser.parse_keyword("do", " before the body of 'miopen.launch'")
        region = parser.parse_region([name.resolve(IndexType()) for name in names])
        op = cls.build(properties=properties, regions=[region])
        if isinstance(parser, LocatedParser):
            parser.sources.ops[op] = OpSource(node)
        return op

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_ssa_value)
        self.print_config(printer)
        printer.print_string(" do ")
        printer.print_region(self.body, print_entry_block_args=False)
