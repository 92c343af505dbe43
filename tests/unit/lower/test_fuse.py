"""Which workgroups become one product, and which operands are read where they lie."""

from __future__ import annotations

import pytest

from imbrex.chip import CPU_ISAS, target
from imbrex.config.algorithm.matrices import direct_products
from imbrex.config.algorithm.task import gemm_task_of
from imbrex.config.configured import configured
from imbrex.config.context import round_up
from imbrex.config.cpu.operand_b import copies_as_met, reads_b_in_place
from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.outline import outline
from imbrex.config.products import products
from imbrex.config.request import Request
from imbrex.config.tuning import parse, text
from imbrex.dtype import F16, F32
from imbrex.index.expr import var
from imbrex.ir.dialect import context
from imbrex.ir.from_problem import problem_module
from imbrex.ir.ops.standard import ModuleOp
from imbrex.ir.passes.affix_tuning import tuned
from imbrex.ir.passes.blockwise_to_threadwise import BlockwiseToThreadwise
from imbrex.ir.passes.conv_to_gemm import ConvToGemm
from imbrex.ir.passes.gridwise_to_blockwise import GridwiseToBlockwise
from imbrex.lower.build import program
from imbrex.lower.stmt import (
    Alloc,
    Buffer,
    Evaluate,
    For,
    InPlace,
    PanelGemm,
    Product,
    Ref,
    RunsInPlace,
    Stmt,
    Window,
    walk,
)
from imbrex.problem import Gemm, Problem, parse_problem


def statements(
    problem: Problem, tuning: str, algorithm: str | None = None, level: str = "avx512"
) -> list[Stmt]:
    module: ModuleOp = problem_module(problem, "k", algorithm)
    ConvToGemm().apply(context(), module)
    tuned(module, parse(tuning), target(level))
    for step in (GridwiseToBlockwise(), BlockwiseToThreadwise()):
        step.apply(context(), module)
    (kernel,) = program(module, frozenset({2})).kernels
    return list(walk(kernel.body))


def the_product(problem: Problem, tuning: str, level: str = "avx512") -> Product:
    (found,) = [s for s in statements(problem, tuning, level=level) if isinstance(s, Product)]
    return found


def conv(text: str) -> Problem:
    (problem,) = parse_problem(f"conv {text}")
    return problem


def test_a_filter_is_read_where_it_lies() -> None:
    product = the_product(
        conv("-n 1 -c 8 -H 9 -W 9 -k 20 -y 3 -x 3 -p 1 -q 1 -F 1"),
        "v1:cpu:10,32,20,96,80,16,k_blocked,b,straight",
    )
    assert isinstance(product.a, InPlace)
    assert (product.a.base.buffer.name, product.a.pitch, product.a.base.offset.const) == ("filter", 72, 0)
    assert (product.k, product.m_sizes, product.n_sizes) == (72, (20,), (81,))


def test_rows_that_crowd_into_one_cache_set_are_packed() -> None:
    """1024 floats are 4 KiB: ten rows of A share a set that holds eight lines."""
    gemm = Gemm(m=40, n=64, k=1024)
    assert not isinstance(the_product(gemm, "v1:cpu:10,32,40,64,1024,16,k_blocked,b,straight").a, InPlace)
    assert isinstance(the_product(gemm, "v1:cpu:8,32,40,64,1024,16,k_blocked,b,straight").a, InPlace)
    narrower = Gemm(m=40, n=64, k=1040)
    assert isinstance(the_product(narrower, "v1:cpu:10,32,40,64,1040,16,k_blocked,b,straight").a, InPlace)


@pytest.mark.parametrize(
    ("m", "n", "k", "tile", "is_read", "is_copied"),
    [
        (18, 1024, 64, "6,64", True, False),  # three visits, which L2 serves behind 384 multiply-adds
        (24, 1024, 64, "6,64", True, True),  # four: the first copies
        (36, 1024, 64, "6,64", True, True),
        (42, 1024, 64, "6,64", False, True),  # seven: one copy is sooner
        (42, 1000, 64, "6,64", True, True),  # rows that lie in different sets stay in L1
        (24, 1024, 64, "3,32", False, True),  # 96 multiply-adds hide no line
        (9, 1024, 64, "3,32", False, False),
        (24, 1024, 256, "6,64", True, True),  # 1 MiB, which L2 holds
        (24, 1024, 257, "6,64", False, True),  # rows of 4 KiB: more than half of the ways of their sets
        (18, 1024, 257, "6,64", False, False),
        (24, 4096, 32, "6,64", True, True),
        (24, 4096, 65, "6,64", False, True),
    ],
)
def test_b_of_crowding_rows_is_read_in_few_visits_or_copied_as_it_is_met(
    m: int, n: int, k: int, tile: str, is_read: bool, is_copied: bool
) -> None:
    """The model says the same of what it prices: the device copies whether or not it may read in place."""
    height, width = map(int, tile.split(","))
    rows, columns = round_up(m, height), round_up(n, width)
    tuning = f"v1:cpu:{tile},{rows},{columns},{k},16,k_blocked,b,straight"
    gemm = Gemm(m=m, n=n, k=k)
    assert the_product(gemm, tuning).b_in_place == is_read
    found, (made,) = parse(tuning), direct_products(gemm_task_of(gemm)).products
    assert isinstance(found, CpuTuning)
    plan = found.plan(made.context)
    assert (reads_b_in_place(plan), copies_as_met(plan)) == (is_read or is_copied, is_copied)


def test_b_that_each_row_meets_once_is_read_where_it_lies_however_it_crowds() -> None:
    for m, height in ((1, 1), (10, 10), (7, 10)):
        assert the_product(
            Gemm(m=m, n=1024, k=64), f"v1:cpu:{height},32,{height},64,64,16,k_blocked,b,straight"
        ).b_in_place


@pytest.mark.parametrize("words", ["-m 1 -n 4096", "-m 1 -n 4096 -transB 1", "-m 4096 -n 1"])
def test_a_matrix_that_meets_one_vector_is_not_packed(words: str) -> None:
    """A copy of it would be as long as all the work."""
    (problem,) = parse_problem(f"gemm -k 4096 {words}")
    pick = configured(Request(problem, CPU_ISAS["avx512"])).products[0].tuning
    product = the_product(problem, text(pick))
    matrix = "a" if words.endswith("-n 1") else "b"
    is_rows = isinstance(product.a, InPlace) and product.a.base.buffer.name == matrix
    assert is_rows or (product.b_in_place and product.b.buffer.name == matrix)


def test_edges_have_extents_of_their_own() -> None:
    product = the_product(Gemm(m=45, n=100, k=64), "v1:cpu:10,32,20,64,64,16,k_blocked,b,straight")
    assert (product.m_sizes, product.n_sizes) == ((20, 5), (64, 36))


def test_each_step_of_k_is_a_product_that_adds_to_c() -> None:
    tuning = "v1:cpu:10,32,40,64,32,16,k_blocked,b,straight"
    found = statements(Gemm(m=40, n=64, k=80), tuning)
    (product,) = [s for s in found if isinstance(s, Product)]
    (loop,) = [s for s in found if isinstance(s, For)]
    assert (loop.var, loop.count, loop.body[-1]) == (product.step, 3, product)
    assert (
        product.k == 32 and isinstance(product.a, InPlace) and product.step in product.a.base.offset.variables
    )
    assert the_product(Gemm(m=40, n=64, k=32), tuning).step is None


@pytest.mark.parametrize(
    "k, dtype, is_copied", [(64, "f32", False), (1024, "f32", False), (1025, "f32", True), (64, "f16", True)]
)
def test_a_matrix_with_neighbours_along_m(k: int, dtype: str, is_copied: bool) -> None:
    """Read where it lies, unless each of very many rows is a page, or panels hold other elements."""
    tuning = f"v1:cpu:10,32,40,64,{-(-k // 16) * 16},16,k_major,a,straight"
    problem = Gemm(m=40, n=64, k=k, transpose_a=True, dtype=dtype)
    a = the_product(problem, tuning).a
    assert isinstance(a, InPlace) and (a.pitch, a.is_transposed, a.is_copied) == (40, True, is_copied)
    (product,) = direct_products(gemm_task_of(problem)).products
    tuned_to = parse(tuning)
    assert isinstance(tuned_to, CpuTuning)
    plan = tuned_to.plan(product.context)
    assert (plan.reads_columns, plan.a_panel_bytes == 0) == (not is_copied, not is_copied)


@pytest.mark.parametrize(
    "m, k, level, tile, is_copied",
    [
        (1000, 64, "avx2", "4,24,96,96,64,8", False),
        (1024, 64, "avx2", "4,24,96,96,64,8", True),
        (1024, 256, "avx512", "14,32,98,96,256,16", False),
        (1024, 272, "avx512", "14,32,98,96,272,16", True),
        (1000, 272, "avx512", "14,32,98,96,272,16", False),
    ],
)
def test_columns_whose_lines_are_gone_before_the_next_panel_are_copied(
    m: int, k: int, level: str, tile: str, is_copied: bool
) -> None:
    """Gone from L1, which many multiply-adds hide, or from L2, whose 32 sets of 8 lines they share."""
    problem = Gemm(m=m, n=96, k=k, transpose_a=True)
    a = the_product(problem, f"v1:cpu:{tile},k_major,a,straight", level).a
    assert isinstance(a, InPlace) and (a.is_transposed, a.is_copied) == (True, is_copied)


@pytest.mark.parametrize(
    "k, tile, stays, is_copied",
    [
        (512, "4,24,100,96,512,8", "a", False),
        (520, "4,24,100,96,520,8", "a", True),
        (520, "4,24,100,72,520,8", "a", False),
        (520, "4,24,100,96,520,8", "b", False),
        (520, "4,24,100,96,264,8", "a", False),
    ],
)
def test_columns_that_each_panel_of_b_looks_up_anew_are_copied(
    k: int, tile: str, stays: str, is_copied: bool
) -> None:
    """Of more lines than L1 has, where A stays and four panels of B and more pass."""
    tuning, problem = f"v1:cpu:{tile},k_major,{stays},straight", Gemm(m=100, n=96, k=k, transpose_a=True)
    a = the_product(problem, tuning, "avx2").a
    assert isinstance(a, InPlace) and a.is_copied == is_copied
    (product,) = direct_products(gemm_task_of(problem)).products
    tuned_to = parse(tuning)
    assert isinstance(tuned_to, CpuTuning) and tuned_to.plan(product.context).reads_columns != is_copied


IMAGE = "-n 2 -c 20 -H 9 -W 9 -k 40 -y 3 -x 3 -p 1 -q 1 -F 2"


@pytest.mark.parametrize(
    ("line", "given", "is_once"),
    [
        (IMAGE, "8,48,24,192,192,16,k_blocked,b,straight", True),
        (IMAGE, "8,48,24,144,192,16,k_blocked,b,straight", True),  # the last block has one panel of B
        (IMAGE, "8,48,24,48,192,16,k_blocked,b,straight", False),  # a panel of B is all that it meets
        (IMAGE, "8,48,24,192,192,16,k_blocked,a,straight", False),
        (IMAGE.replace("-k 40", "-k 4000"), "8,48,24,192,18000,16,k_blocked,b,straight", False),
    ],
)
def test_panels_of_a_are_kept_where_panels_of_b_stay_one_by_one(line: str, given: str, is_once: bool) -> None:
    problem, tuning = conv(line), f"v1:cpu:{given}"
    assert the_product(problem, tuning).packs_a_once is is_once
    tuned_to, request = parse(tuning), Request(problem, CPU_ISAS["avx512"], algorithm="v4r1")
    assert isinstance(tuned_to, CpuTuning)
    (of,) = products(problem, outline(request, "v4r1"), request.machine).products
    assert tuned_to.plan(of.context).packs_a_once is is_once, "the model says the same"


def test_columns_of_short_rows_share_lines() -> None:
    """Rows of 16 bytes, four a line, stay where they lie."""
    tuning = "v1:cpu:4,24,4,96,1000,8,k_major,a,straight"
    a = the_product(Gemm(m=4, n=96, k=1000, transpose_a=True), tuning, "avx2").a
    assert isinstance(a, InPlace) and not a.is_copied


def test_a_window_with_neighbours_along_m_is_no_matrix() -> None:
    pixels = conv("-n 1 -c 8 -H 9 -W 9 -k 20 -y 3 -x 3 -p 1 -q 1 -F 1")
    found = statements(pixels, "v1:cpu:10,32,90,32,80,16,k_major,b,swapped")
    assert not any(isinstance(s, Product) for s in found)


def test_runs_are_those_of_every_step() -> None:
    """Steps of 48 cut runs of 32 channels into pieces of 16."""
    layer = conv("-n 1 -c 32 -H 9 -W 9 -k 20 -y 3 -x 3 -p 1 -q 1 -F 1 -I NHWC -O NHWC -f NHWC")
    for k_block, run in ((96, 32), (48, 16), (288, 32)):
        a = the_product(layer, f"v1:cpu:9,32,81,32,{k_block},16,k_blocked,b,swapped").a
        assert isinstance(a, RunsInPlace) and a.run == run


@pytest.mark.parametrize("more, has_padding", [("-p 9 -q 9 -l 9 -j 9", True), ("-p 1 -q 1", False)])
@pytest.mark.parametrize("stays", "ab")
def test_rows_of_padding_are_left_out_where_they_are_many(stays: str, more: str, has_padding: bool) -> None:
    """In two steps over K, of two blocks of columns."""
    layer = conv(f"-n 1 -c 32 -H 40 -W 40 -k 20 -y 3 -x 3 {more} -F 1")
    product = the_product(layer, f"v1:cpu:10,32,20,800,144,16,k_blocked,{stays},straight")
    assert product.leaves_out == has_padding


def test_runs_that_are_no_whole_vectors_are_read_in_chunks() -> None:
    """The 21 neighbours of a row of 7x7 windows of 3 channels; of 40 channels 20 at a time; 29 are packed."""
    nhwc = "-F 1 -I NHWC -O NHWC -f NHWC"
    for sizes, k, run, chunk in (
        ("-c 3 -H 13 -W 13 -k 16 -y 7 -x 7 -u 2 -v 2", 147, 21, 21),
        ("-c 40 -H 6 -W 6 -k 16 -y 3 -x 3 -p 1 -q 1", 360, 40, 20),
    ):
        tuning = f"v1:cpu:6,16,96,16,{-(-k // 16) * 16},16,k_blocked,b,swapped"
        a = the_product(conv(f"-n 1 {sizes} {nhwc}"), tuning).a
        assert isinstance(a, RunsInPlace) and (a.run, a.chunk) == (run, chunk)
    packed = the_product(conv(f"-n 1 -c 29 -H 6 -W 6 -k 16 -y 3 -x 3 -p 1 -q 1 {nhwc}"), tuning).a
    assert isinstance(packed, Window)


def test_short_runs_of_rows_that_are_evenly_apart_are_read_in_place() -> None:
    """A row of taps of three channels, padding or not, where a row of pixels has three panels; runs of words
    that are mostly zeros, which many columns would meet, are copied.
    """
    nhwc = "-F 1 -I NHWC -O NHWC -f NHWC"
    tuning = "v1:cpu:6,16,96,16,64,16,k_blocked,a,swapped"
    for sizes, found in (
        ("-H 19 -W 40 -p 1 -q 1", (9, 3)),
        ("-H 19 -W 40 -p 1 -q 1 -l 2 -j 2", (3, 9)),
        ("-H 40 -W 9 -p 1 -q 1", None),
    ):
        a = the_product(conv(f"-n 1 -c 3 -k 16 -y 3 -x 3 {sizes} {nhwc}"), tuning).a
        assert (None if isinstance(a, Window) else (a.run, a.count)) == found  # type: ignore[union-attr]
    for filters, is_copied in ((16, False), (512, True)):
        i8 = f"convint8 -n 1 -c 3 -k {filters} -y 3 -x 3 -H 19 -W 40 -p 1 -q 1 {nhwc}"
        tuning = f"v1:cpu:6,16,96,{filters},64,16,k_blocked,a,swapped,vpdpbusd"
        product = the_product(parse_problem(i8)[0], tuning, "avx512_vnni")
        assert isinstance(product.a, Window) is is_copied
        assert product.k == (27 if is_copied else 36)


def test_short_runs_of_few_rows_are_copied_where_many_columns_would_be_parted_into_words() -> None:
    """A gradient of images in NCHW has nine taps together in a filter: no whole words of bf16, but of f32."""
    for op, unit, is_copied in (("convbfp16", ",vdpbf16ps", True), ("conv", "", False)):
        (problem,) = parse_problem(f"{op} -n 1 -c 36 -H 12 -W 12 -k 32 -y 3 -x 3 -p 1 -q 1 -F 2")
        tuning = f"v1:cpu:6,32,36,160,288,16,k_blocked,a,straight{unit}"
        product = the_product(problem, tuning, "avx512_bf16")
        assert isinstance(product.a, Window) is is_copied


def test_two_steps_of_k_keep_sums_that_c_cannot_hold() -> None:
    tuning = "v1:cpu:10,32,40,64,32,16,k_blocked,b,straight"
    for dtype, is_narrow in ((F16, True), (F32, False)):
        product = the_product(Gemm(m=40, n=64, k=64, dtype=dtype), tuning)
        assert product.steps == 2 and product.keeps_sums == is_narrow
    assert not the_product(Gemm(m=40, n=64, k=32, dtype=F16), tuning).keeps_sums


def test_an_atomic_store_is_not_fused() -> None:
    problem = conv("-n 1 -c 8 -H 9 -W 9 -k 20 -y 3 -x 3 -p 1 -q 1 -F 2")
    found = statements(problem, "v1:cpu:9,32,72,96,32,16,k_blocked,b,straight", "v1r1")
    assert not any(isinstance(s, Product) for s in found)


def test_f16_is_always_packed() -> None:
    """A panel holds the accumulator's type, so a copy changes something."""
    product = the_product(
        Gemm(m=40, n=64, k=64, dtype="f16"), "v1:cpu:10,32,40,64,64,16,k_blocked,b,straight"
    )
    assert not isinstance(product.a, InPlace)


def test_an_epilogue_is_part_of_the_product() -> None:
    """No tile of all of C: sums are finished as they are stored; what lies as C does is read as C is."""
    gemm = Gemm(m=40, n=64, k=64, beta=1.0, epilogue="relu(x + bias) + residual")
    found = statements(gemm, "v1:cpu:8,32,40,64,64,16,k_blocked,b,straight")
    (product,) = [s for s in found if isinstance(s, Product)]
    assert not any(isinstance(s, Alloc | PanelGemm | Evaluate) for s in found)
    assert product.finish is not None and product.beta == 1.0
    (bias, at), (residual, alike) = product.finish.arrays
    assert (bias, residual) == ("bias", "residual")
    assert isinstance(at, Ref) and (at.offset, at.guards) == (var("n", 64), ())
    assert isinstance(alike, Buffer) and alike.name == "residual"


def test_what_c_held_before_is_asked_for_after_sums_of_integers() -> None:
    """Such sums are scaled as floats, at the end: C cannot hold them in between."""
    tuning = "v1:cpu:8,32,40,64,512,16,k_blocked,b,straight"
    for beta, are_kept in ((0.0, False), (1.0, True)):
        gemm = Gemm(m=40, n=64, k=1024, dtype="i8", beta=beta, epilogue="relu(x)")
        assert the_product(gemm, tuning).keeps_sums == are_kept
