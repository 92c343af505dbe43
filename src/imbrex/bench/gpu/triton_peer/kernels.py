"""Matrix products in Triton as one who knows it writes them for Hopper; imported only where Triton is.

Operands and result are named by tensor descriptors, so that TMA moves whole tiles, and zeros where they reach
past an edge; `pointers` is for what a descriptor cannot say.  Tiles are taken in groups of rows, sums are
f32.  A kernel starts while the one before ends (programmatic dependent launch), as the libraries' do: when
that one's sums are done, or, EARLY, as soon as there is room.
Sizes are arguments that nothing is specialised on: a configuration is compiled once for all problems.
"""

# pyright: basic
import triton  # pyright: ignore
import triton.language as tl  # pyright: ignore
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait  # pyright: ignore

__all__ = ["parts", "persistent", "pointers", "tiles"]


@triton.jit
def _place(tile, m, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr, GROUPED: tl.constexpr):
    row_tiles, column_tiles = tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS)
    first = tile // (GROUPED * column_tiles) * GROUPED
    high = min(row_tiles - first, GROUPED)
    inside = tile % (GROUPED * column_tiles)
    return (first + inside % high) * ROWS, inside // high * COLUMNS


@triton.jit
def _step(a, b, total, row, column, depth, TRANSPOSED: tl.constexpr):
    x = a.load([row, depth])
    if TRANSPOSED:
        y = b.load([column, depth]).T
    else:
        y = b.load([depth, column])
    return tl.dot(x, y, total)


@triton.jit(do_not_specialize=["m", "n", "k"])
def tiles(
    a, b, c, m, n, k,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
    GROUPED: tl.constexpr, TRANSPOSED: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    if EARLY:
        gdc_launch_dependents()
    gdc_wait()
    row, column = _place(tl.program_id(0), m, n, ROWS, COLUMNS, GROUPED)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for depth in range(0, k, DEPTH):
        total = _step(a, b, total, row, column, depth, TRANSPOSED)
    if not EARLY:
        gdc_launch_dependents()
    c.store([row, column], total.to(c.dtype))


@triton.jit(do_not_specialize=["m", "n", "k"])
def persistent(
    a, b, c, m, n, k,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
    GROUPED: tl.constexpr, TRANSPOSED: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """A tile's store overlaps the next one's loads: the loops are made one, with one pipeline."""
    if EARLY:
        gdc_launch_dependents()
    gdc_wait()
    count = tl.cdiv(m, ROWS) * tl.cdiv(n, COLUMNS)
    for tile in tl.range(tl.program_id(0), count, tl.num_programs(0), flatten=True):
        row, column = _place(tile, m, n, ROWS, COLUMNS, GROUPED)
        total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        for depth in range(0, k, DEPTH):
            total = _step(a, b, total, row, column, depth, TRANSPOSED)
        HALF: tl.constexpr = COLUMNS // 2
        halves = total.reshape(ROWS, 2, HALF).permute(0, 2, 1)
        left, right = halves.split()
        c.store([row, column], left.to(c.dtype))
        c.store([row, column + HALF], right.to(c.dtype))
    if not EARLY:
        gdc_launch_dependents()


@triton.jit(do_not_specialize=["m", "n", "k", "parts"])
def parts(
    a, b, c, space, arrived, m, n, k, parts,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
    GROUPED: tl.constexpr, TRANSPOSED: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """space: a sum in f32 for each part of each tile; arrived: zeros, and zeros again at the end."""
    if EARLY:
        gdc_launch_dependents()
    gdc_wait()
    tile, part = tl.program_id(0), tl.program_id(1)
    row, column = _place(tile, m, n, ROWS, COLUMNS, GROUPED)
    reach = tl.cdiv(tl.cdiv(k, DEPTH), parts) * DEPTH
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for depth in range(part * reach, min(k, (part + 1) * reach), DEPTH):
        total = _step(a, b, total, row, column, depth, TRANSPOSED)
    if not EARLY:
        gdc_launch_dependents()
    sums = space + (tile * parts).to(tl.int64) * (ROWS * COLUMNS)
    inner = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(sums + part * (ROWS * COLUMNS) + inner, total)
    tl.debug_barrier()
    if tl.atomic_add(arrived + tile, 1, sem="acq_rel") == parts - 1:
        whole = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        for other in range(parts):
            whole += tl.load(sums + other * (ROWS * COLUMNS) + inner, cache_modifier=".cg")
        c.store([row, column], whole.to(c.dtype))
        tl.store(arrived + tile, 0)


@triton.jit(do_not_specialize=["m", "n", "k", "a_row", "b_row", "c_row"])
def pointers(
    a, b, c, m, n, k, a_row, b_row, c_row,
    K_VECTOR: tl.constexpr, N_VECTOR: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
    GROUPED: tl.constexpr, TRANSPOSED: tl.constexpr,
):  # fmt: skip
    """K_VECTOR, N_VECTOR: what k and n, and the strides over them, are multiples of."""
    n, k = n // N_VECTOR * N_VECTOR, k // K_VECTOR * K_VECTOR
    a_row, c_row = a_row // K_VECTOR * K_VECTOR, c_row // N_VECTOR * N_VECTOR
    row, column = _place(tl.program_id(0), m, n, ROWS, COLUMNS, GROUPED)
    rows, columns, depth = row + tl.arange(0, ROWS), column + tl.arange(0, COLUMNS), tl.arange(0, DEPTH)
    left = a + (rows % m).to(tl.int64)[:, None] * a_row + depth[None, :]
    if TRANSPOSED:
        b_row = b_row // K_VECTOR * K_VECTOR
        right = b + (columns % n).to(tl.int64)[None, :] * b_row + depth[:, None]
    else:
        b_row = b_row // N_VECTOR * N_VECTOR
        right = b + depth.to(tl.int64)[:, None] * b_row + columns[None, :]
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, k, DEPTH):
        inside = depth < k - start
        x = tl.load(left, mask=inside[None, :], other=0.0)
        if TRANSPOSED:
            y = tl.load(right, mask=inside[:, None], other=0.0)
            right += DEPTH
        else:
            y = tl.load(right, mask=inside[:, None] & (columns < n)[None, :], other=0.0)
            right += DEPTH * b_row
        total = tl.dot(x, y, total)
        left += DEPTH
    inner = (rows < m)[:, None] & (columns < n)[None, :]
    place = c + rows.to(tl.int64)[:, None] * c_row + columns[None, :]
    tl.store(place, total.to(c.dtype.element_ty), mask=inner)
