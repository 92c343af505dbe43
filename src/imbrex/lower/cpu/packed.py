"""Statements of a CPU core: windows of memory, panels packed from them, register tiles, whole products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from imbrex.config.cpu.crowding import is_kept
from imbrex.dtype import DType
from imbrex.index.expr import Index, Lin
from imbrex.index.rule import Guard
from imbrex.lower.buffer import Buffer, Let, Ref, StoreMethod
from imbrex.lower.cpu.operands import InPlace, OperandA, Window
from imbrex.lower.cpu.sliding import Sliding
from imbrex.problem.epilogue import Expression
from imbrex.view.mma.vector import CpuUnit


@dataclass(frozen=True)
class AxisOffsets:
    """Offsets and guards of a window along one axis, for var = 0 .. count - 1; what lies beyond does not
    exist.
    """

    window: Window
    axis: Literal["rows", "lanes"]
    var: str
    count: Lin
    offset: Lin
    guards: tuple[Lin, ...]
    lets: tuple[Let, ...] = ()


@dataclass(frozen=True)
class Meet:
    """The masks of a window, once both axes are placed."""

    window: Window


@dataclass(frozen=True)
class Pack:
    """Panel number `panel` of a window, converted to the computed type.

    along_lanes: dest[row][lane]; blocked: dest[lane / W][row][lane % W]; transposed: dest[lane][row], each
    counting words of the unit along k.
    width: rows or lanes of a panel.  stays: its loop packs a panel, then multiplies it.  Runs only where
    the guards hold: a panel wholly beyond the edge is skipped.
    """

    window: Window
    dest: Ref
    panel: Lin
    width: int
    form: Literal["along_lanes", "blocked", "transposed"]
    unit: CpuUnit
    guards: tuple[Guard, ...] = ()
    stays: bool = False


@dataclass(frozen=True)
class PanelGemm:
    """c[m][n] = (first ? 0 : c[m][n]) + sum over k < `k` of a[k][m] * b[k][n], held in vector registers.

    unit: what multiplies.

    Runs only where the guards hold: they skip panels that lie wholly beyond the edge of the matrix.
    """

    c: Ref
    a: Ref
    b: Ref
    k: Lin
    m: int
    n: int
    c_step: int
    first: Guard | None
    a_is_blocked: bool
    unit: CpuUnit
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True)
class Keeping:
    """What is stored besides: the value of an expression, known by `name` from there on, `at` its place."""

    name: str
    expression: Expression
    at: Ref | Buffer


@dataclass(frozen=True)
class Finishing:
    """What a window stores instead of x, a sum: an expression of x and of elements of arrays.

    arrays: an element at the window's `row` and `lane`, which exists where the window's does; or a buffer
    whose elements lie as the window's do.  computed: the type of the arithmetic; stored: of the window, and
    of the array that is `kept`.
    """

    expression: Expression
    arrays: tuple[tuple[str, Ref | Buffer], ...]
    row: str
    lane: str
    computed: DType
    stored: DType
    kept: Keeping | None = None

    @property
    def indices(self) -> tuple[Lin, ...]:
        """Places of all arrays' elements, and what guards them."""
        places = (*(at for _, at in self.arrays), *(() if self.kept is None else (self.kept.at,)))
        refs = [at for at in places if isinstance(at, Ref)]
        return tuple(index for ref in refs for index in (ref.offset, *(g.index for g in ref.guards)))


@dataclass(frozen=True)
class Unpack:
    """A row-major tile to a window: dest = alpha * tile + beta * dest, or added atomically.

    transposed: the window's rows are the tile's columns.  finish: what becomes of that before it is stored.
    """

    window: Window
    tile: Ref
    tile_step: int
    is_transposed: bool
    method: StoreMethod = "set"
    alpha: float = 1.0
    beta: float = 0.0
    finish: Finishing | None = None


@dataclass(frozen=True)
class Exchange:
    """A tile of C to or from the workspace: `count` neighbours of source to dest; adds: to what is there."""

    dest: Ref
    source: Ref
    count: int
    adds: bool


@dataclass(frozen=True)
class Product:
    """A workgroup's whole tile: c[m][n] = alpha * sum over k of a[m][k] * b[k][n] + beta * c.

    The device does what `Pack`, `PanelGemm` and `Unpack` say, and leaves out the copies that would change
    nothing.  a: rows m, lanes k.  b: rows k and lanes n, or, transposed, rows n and lanes k.  c: rows m and
    lanes n, or the other way round.  unit: what multiplies.  m_sizes, n_sizes: the extents that m_count and
    n_count take; of the dim that is `open`, the greatest and the least, and any between them; k is the
    greatest. step: the variable of the loop over K around this, which takes up to k at a time from start
    (0) on; C holds the sums in between, or, where `keeps_sums`, memory of the workgroup's.  finish: what
    becomes of them before they are stored, in the last of `steps` steps.  leaves_out: rows of B that exist
    in no lane of a panel are neither packed nor multiplied.
    """

    a: OperandA
    b: Window
    c: Window
    unit: CpuUnit
    m_count: Lin
    n_count: Lin
    m_sizes: tuple[int, ...]
    n_sizes: tuple[int, ...]
    k: int
    rows: int
    lanes: int
    b_is_transposed: bool
    c_is_transposed: bool
    b_in_place: bool
    stationary: Literal["a", "b"]
    alpha: float = 1.0
    beta: float = 0.0
    step: str | None = None
    start: Lin | None = None
    finish: Finishing | None = None
    steps: Index = 1
    open: Literal["m", "n", "k"] | None = None
    keeps_sums: bool = False
    leaves_out: bool = False

    @property
    def packs_a_once(self) -> bool:
        """Are packed panels of A kept for all panels of B, which stay one by one?"""
        is_met_again = self.stationary == "b" and max(self.n_sizes) > self.lanes
        block_bytes = max(self.m_sizes) * self.k * self.unit.panel(self.b.buffer.dtype).bytes
        return isinstance(self.a, Window) and is_met_again and is_kept(block_bytes)

    @property
    def indices(self) -> tuple[Lin, ...]:
        """Where A begins, how much there is, and what `finish` reads."""
        base = (self.a.base.offset,) if isinstance(self.a, InPlace) else ()
        return (*base, self.m_count, self.n_count, *(self.finish.indices if self.finish is not None else ()))


@dataclass(frozen=True)
class Grid:
    """Elements (row, column, lane) of an array, or (row, column, lane, d), evenly apart: at base + each times
    its step.

    begins, ends: of each axis but d the elements that exist.
    """

    base: Ref
    steps: tuple[int, ...]
    begins: tuple[Lin, Lin, Lin]
    ends: tuple[Lin, Lin, Lin]

    @property
    def indices(self) -> tuple[Lin, ...]:
        return self.base.offset, *self.begins, *self.ends


@dataclass(frozen=True)
class Windows:
    """A workgroup's part of a convolution of groups of few channels: for each row, column and lane
    c[row][column][lane] = sum over y, x, d of filter[y][x][d][lane] * window[row of y][column of x][d][group]
    where the row of y is that of `Sliding`, and the group of a lane is lane // shared.

    lanes: channels that are written.  is_along_lanes: vectors run along them, else along columns.  is_turned:
    along lanes, and neighbours in memory are columns.  is_in_place: whole vectors of lanes may be read where
    they lie.  depth: channels of a group that are read.  sums: rows and lanes as `finish` knows them.
    """

    filter: Grid
    window: Grid
    c: Grid
    height: Sliding
    width: Sliding
    lanes: int
    depth: int
    shared: int
    is_along_lanes: bool
    is_turned: bool
    is_in_place: bool
    sums: Window
    finish: Finishing | None = None

    @property
    def indices(self) -> tuple[Lin, ...]:
        """Where the three arrays lie, and what `finish` reads."""
        of = [index for grid in (self.filter, self.window, self.c) for index in grid.indices]
        return (*of, *(self.finish.indices if self.finish is not None else ()))


@dataclass(frozen=True)
class FilterSums:
    """A workgroup's part of the gradient of the filters of groups of few channels: for each tap and lane
    c[y][x][d][lane] = sum over images, rows and columns of
    output[image][row][column][lane] * window[image][row of y][column of x][d][group].

    Rows, groups and lanes are those of `Windows`.  steps of grids: output (row, column, lane, image, what a
    group is further), window (row, column, group, d, image), c (y, x, lane, d, what a group is further).
    is_own: each lane has a channel of its own, and neighbouring lanes are neighbours of both arrays.
    """

    output: Grid
    window: Grid
    c: Grid
    computed: DType
    height: Sliding
    width: Sliding
    lanes: int
    depth: int
    shared: int
    images: int
    is_own: bool

    @property
    def indices(self) -> tuple[Lin, ...]:
        """Where the three arrays lie."""
        return tuple(index for grid in (self.output, self.window, self.c) for index in grid.indices)
