"""What the models of kernels of warpgroups ask of a machine, in cycles of `clock_hz`: one record a model.

Bytes and rows that something does are of a cycle, and of one multiprocessor unless it says otherwise.  A norm
is an exponent: the time of what overlaps is the norm of all of its times, which is little more than the
longest.  "In proportion" is a factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = [
    "HaloRates",
    "ItemRates",
    "LaneRates",
    "LaunchRates",
    "LineRates",
    "ProductRates",
    "RowRates",
    "WarpgroupRates",
    "WeightRates",
]


@dataclass(frozen=True)
class ProductRates:
    """Rates of the model of pipelined products (`config.warpgroup.cost`)."""

    matrix: float
    """Cycles for each that the matrix unit's instructions take, where few multiprocessors work."""
    power: float
    """What is added to `matrix` where all do: the chip's power sets the clock."""
    product: float
    """The least for one of those instructions, where a consumer's next one waits for it."""
    taking: float
    """What is added to a step's where lanes take A into registers for them."""
    shared_bytes: float
    """Bytes of shared memory, read by the matrix unit."""
    row: float
    """Cycles of a copy engine for a row of a tile that begins on a line, as a stream among others."""
    short_row: float
    """The same for one of 32 or 64 bytes along k, or of a window, in proportion."""
    apart_row: float
    """A short row along k as work of L2, in proportion."""
    crossing_row: float
    """The same for one that begins on a sector and goes over the end of a line."""
    inside_row: float
    """The same for one that begins inside a sector."""
    walked_row: float
    """So many times the same for rows of an operand that is seen through windows."""
    shared_stage: float
    """Cycles until two workgroups of a cluster know that both are done with a stage; twice that for four."""
    l2_rows: float
    """Rows that L2 gives to all multiprocessors together."""
    each_row: float
    """Rows on sectors that reach L2 for each neighbour, beside one for all, where neighbours at the same step
    load the same at about the same time; but for those that a cluster loads for its workgroups."""
    near: float
    """Neighbours that those are, at most."""
    cast: float
    """The same for those that a cluster loads, in proportion to one row for all of its workgroups."""
    split_row: float
    """A row over two lines as work of L2, in proportion."""
    answer: float
    """Cycles until a load is there where all load, which the stages of a ring share."""
    streams: float
    """Norm of the streams of a step."""
    memory_bytes: float
    """Bytes of the whole chip, from and to memory."""
    memory_norm: float
    """Norm of the times of memory and of all steps."""
    cached_bytes: float
    """Bytes of L2 for operands."""
    strided: float
    """Times the bytes of a result with gaps."""
    phased: float
    """Times the bytes of a result of several phases."""
    first_bytes: float
    """Bytes of the loads of all workgroups at the start, beside which nothing goes on."""
    stored_bytes: float
    """Bytes of results, or of a partial sum's way where few go at a time, to L2."""
    narrow_store: Mapping[int, float]
    """Bytes of an ordinary store, of too few neighbours for TMA -> its time, in proportion to TMA's."""
    shifted_store: float
    """The same by 16 bytes of rows that begin anywhere."""
    turned_store: float
    """Stores along the rows, which the fragments of sums do not lie along, in proportion."""
    turned_halves: float
    """The same of elements of 16 bits, which are turned on their way to shared memory, 8 x 8 at a time."""
    sent_bytes: float
    """Bytes of partial sums, of all multiprocessors together, there and back."""
    start: float
    """Cycles of a kernel, beside its work: from the last one's end to its first product, and its end."""
    cluster: float
    """Cycles until the workgroups of a cluster have met, at the start and at the end."""
    turn: float
    """Between the tiles of a consumer, waiting for products and converting them."""
    handing: float
    """Cycles until a pingpong consumer goes on where the other has ended, if both wait for their stores."""
    meeting: float
    """Cycles until the flags of all who share a tile are seen, who do not end together."""
    each: float
    """Cycles for each of those who share a tile and add a part of it: its flag, and its sums of that part."""
    follow: float
    """Cycles until an owner has the next flag, and its first sums."""
    gathering: float
    """Cycles until the workgroups of a cluster that share a tile know that all are done with their
    stages, and have the last sums."""
    gathered_bytes: float
    """Bytes of partial sums between the workgroups of a cluster."""
    read_apart: float
    """The part of an operand that such clusters read again where several read the same of it."""
    ordinary: float
    """Cycles of a warp for an ordinary load, few of which are under way at a time."""
    copying: float
    """Cycles of a warp for a load to shared memory past the registers."""
    copying_window: float
    """The same where each has an index, as in windows."""
    copying_pieces: float
    """The same for each element of a row that begins anywhere, which is loaded in pieces of 16 bytes."""
    scattered: float
    """So many times that where lanes have many elements, each of another k and row: indices spill."""
    turning: float
    """The same for an element of an operand that is turned on its way there, and can be copied by itself."""
    turning_bytes: float
    """The same for an element of one byte, which cannot: it is loaded with its neighbours, and put by itself
    where the bytes of several lanes meet in a bank.
    """
    turning_step: float
    """Cycles of a step until those are there."""
    pieces: float
    """Cycles of a step until those pieces are in registers."""
    issue: float
    """Cycles of a warp for an access of shared memory with its index."""
    window: float
    """So many times a load where elements have an index each, as in windows."""
    kept: float
    """Cycles of a warp for an element where all loads of a lane have one k (`fill_tile`, lanes.h), beside
    those of `pieces` for each lot that is in registers at a time."""
    known: float
    """Cycles of a warp for an element of a window whose tap the compiler knows (`fill_tile`, lanes.h); twice
    that where there are several steps of K."""
    whole_rows: float
    """Times the products' time where rows of shared memory end with an image."""
    launch: float
    """Cycles of another kernel, in a graph, which the next one waits for."""
    transposed_bytes: float
    """Bytes of the whole chip: read and written by a kernel that transposes."""


@dataclass(frozen=True)
class HaloRates:
    """Rates of the model of halos (`config.halo.cost`), which the two others of windows share."""

    matrix: float
    """Cycles for each that the matrix unit's instructions take, where few multiprocessors work."""
    power: float
    """What is added to `matrix` where all do."""
    shared_bytes: float
    """Bytes of shared memory, read by the matrix unit."""
    received_bytes: float
    """Bytes of tiles that come from L2, into which writing is as fast as reading shared memory."""
    l2_bytes: float
    """Bytes that L2 gives to all multiprocessors together, many of which load the same."""
    pixel: float
    """Cycles of the copy engine for a pixel's channels, however few."""
    latency: float
    """Cycles until a load is there, which stages share."""
    memory_bytes: float
    """Bytes of the whole chip, from and to memory."""
    short_pixel: Mapping[int, float]
    """Bytes of a pixel's channels -> memory's time, in proportion to that of whole lines."""
    stored_bytes: float
    """Bytes of results to L2."""
    turn: float
    """Between the tiles of a consumer."""
    overlap: float
    """Share of the faster one of memory and all steps that is not hidden."""
    start: float
    """Cycles of a kernel, beside its work."""


@dataclass(frozen=True)
class LineRates:
    """Rates of the model of windows line by line (`config.halo.cost`)."""

    memory_bytes: float
    """Bytes of the whole chip, from and to memory."""
    short_pixel: Mapping[int, float]
    """Bytes of a pixel's channels -> memory's time, in proportion to that of whole lines."""
    third: float
    """Memory's time with three consumers, whose streams are more, in proportion."""
    along_rows: float
    """Memory's time of a result whose columns lie together, in proportion."""
    passing: float
    """Shared memory's time for what comes and goes, beside products, in proportion."""
    finish: float
    """Cycles of a consumer for each line, until its products are there and its sums in shared memory."""
    in_turn: float
    """What multiplying in turn saves of a consumer's time, and what it adds to memory's."""
    filter_bytes: float
    """Bytes of the filter, before the first product."""
    norm: float
    """Norm of the times of memory and of all steps."""
    start: float
    """Cycles of a kernel, beside its work."""


@dataclass(frozen=True)
class WeightRates:
    """Rates of the model of halo weights (`config.halo.cost`)."""

    matrix: float
    """Cycles for each that the matrix unit's instructions take."""
    step: float
    """Cycles of a consumer from its last product in a stage to the first one in the next."""
    warp_product: float
    """Cycles of a multiprocessor's matrix units together for as many products of 16 x 8 sums by 16 pixels."""
    memory_bytes: float
    """Bytes of the whole chip, of pixels read once."""
    plane_row: float
    """Cycles of the copy engine for a row of a plane."""
    answer: float
    """Cycles until a tile's first load is there."""
    norm: float
    """Norm of the times of memory and of all steps."""


@dataclass(frozen=True)
class LaneRates:
    """Rates of the model of channel vectors (`config.channel_cost`), and what keeps lanes busy."""

    instructions: float
    """Instructions of lanes, with what is lost to waiting."""
    each: float
    """Instructions of an element that is written or met, besides its multiply-adds."""
    memory: float
    """The share of a copy's rate that is reached."""
    tall: float
    """Instructions for each multiply-add of large windows, whose rows are loaded for each tap's."""
    clash: float
    """Share of the faster stream that is not hidden."""
    busy_items: int
    """Work items that keep a multiprocessor busy."""
    round_workgroups: int
    """Workgroups that a multiprocessor runs at once."""


@dataclass(frozen=True)
class ItemRates:
    """Rates of the model of products by work items (`config.general.cost`)."""

    waiting_warps: float
    """Warps that wait for shared memory or at a barrier while a multiprocessor's others fill its slots."""
    crowded: int
    """Registers of a work item's sums, of what two numbers of k multiply and of a staged tile that a bound
    of 128 has room for.
    """
    spill: float
    """Work that 128 more add, as a share: numbers are read when they are needed, and not a whole k ahead."""
    phases: Mapping[int, float]
    """Cycles of shared memory for a read of so many bytes a lane, of whom many read the same."""
    cache_bytes: float
    """Bytes that the second cache gives one multiprocessor, where all ask."""
    cache_fraction: float
    """Share of the time for those bytes that is not hidden behind the products."""
    shared_fraction: float
    """The same for reads of shared memory."""
    row: float
    """Cycles for each row of an operand whose loads run along k: it lies in a line of memory of its own."""
    step: float
    """Cycles of a step in which all warps wait for each other."""
    part: float
    """Cycles until the sums of all other workgroups of a tile are seen."""
    part_load: float
    """Cycles until each work item has 16 bytes more of such sums."""
    part_trip: float
    """Cycles until the first are there of sums that are on their way together."""
    latency: float
    """Cycles of the shortest step: a tile's way to shared memory."""
    k_latency: float
    """The same for each k of a step."""
    chain: float
    """Cycles of a warp that is alone on its scheduler, for each that it issues in."""
    start: float
    """Cycles until the first tiles are there, and of writing C."""
    source: str


@dataclass(frozen=True)
class RowRates:
    """Work for each byte of a row of shared memory, in proportion to rows of 128 bytes, by bytes of a row."""

    step: Mapping[int, float]
    """Where a row is a step of K of a product (`config.warpgroup.space`)."""
    channels: Mapping[int, float]
    """Where it has channels of one tap of a window (`config.warpgroup.plan`)."""
    taps: Mapping[int, float]
    """Where it has neighbouring taps of few channels (`view.conv.window_rows`)."""


@dataclass(frozen=True)
class LaunchRates:
    """Up to where a launch had better begin before the one ahead of it has ended (`config.overlap`)."""

    flops: float
    """Floating-point operations of a call."""
    bytes: float
    """Bytes of a call, from and to memory."""
    behind_flops: float
    """Floating-point operations of a launch behind another of its call."""


@dataclass(frozen=True)
class WarpgroupRates:
    """All of them, of one machine."""

    clock_hz: float
    product: ProductRates
    halo: HaloRates
    line: LineRates
    weight: WeightRates
    rows: RowRates
    launch: LaunchRates
    source: str
