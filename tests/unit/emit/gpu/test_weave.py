"""Which statements are woven: moves, and products that need none of them."""

from __future__ import annotations

import re
from itertools import accumulate, pairwise
from pathlib import Path

from imbrex.build.amd.code_object import compile_code_object
from imbrex.chip import GPU_MACHINES
from imbrex.config.context import Access, GemmContext
from imbrex.config.tuning import parse
from imbrex.config.xdlops.loop import loop_of
from imbrex.config.xdlops.loop import woven as order_of
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.dtype import F16, F32
from imbrex.emit.bundle import Bundle
from imbrex.emit.gpu.weave import Woven, woven
from imbrex.index.expr import lin, var
from imbrex.lower.stmt import Barrier, Buffer, Comment, For, MatrixMultiply, Move, Ref, Stmt
from imbrex.pipeline import Request, lower
from imbrex.problem import Gemm
from imbrex.timing.operation import Operation
from imbrex.view.mma import instruction

ARRAY, LDS = Buffer("a", F16, 512, "global"), Buffer("lds", F16, 512, "lds")
NOW, NEXT = (Buffer(name, F16, 16, "private") for name in ("now", "next"))
SUM = Buffer("sum", F32, 64, "private")
LOAD = For("i", 4, (Move(Ref(LDS, var("i", 4) * 8), Ref(ARRAY, var("i", 4) * 8), 8, direct=True),))
STAGED, TURNED = (Buffer(name, F16, 16, "private") for name in ("staged", "turned"))
REFILL = For("i", 2, (Move(Ref(STAGED, var("i", 2) * 8), Ref(ARRAY, var("i", 2) * 8), 8),))
WRITE = For("i", 2, (Move(Ref(LDS, var("i", 2) * 8), Ref(TURNED, var("i", 2) * 8), 8),))
TURN = For(
    "i",
    4,
    (For("j", 4, (Move(Ref(TURNED, var("i", 4) * 4 + var("j", 4)), Ref(STAGED, var("j", 4) * 4), 1),)),),
)
READ = For("i", 2, (Move(Ref(NEXT, var("i", 2) * 8), Ref(LDS, var("i", 2) * 8), 8),))


def product(of: Buffer, name: str = "m") -> For:
    first, used = Ref(of, lin(0)), instruction("mfma_f32_32x32x16_f16")
    return For(name, 2, (For("n", 2, (MatrixMultiply(used, Ref(SUM, lin(0)), first, first),)),))


def kinds(body: tuple[Stmt, ...]) -> list[str]:
    return [
        "/".join(
            str(sum(nest.count for nest in nests))
            for nests in (part.loads, part.reads, *([part.writes] if part.writes else []), part.products)
        )
        if isinstance(part, Woven)
        else type(part).__name__
        for part in woven(body)
    ]


def test_what_is_independent_is_woven() -> None:
    note = Comment("note")
    assert kinds((Barrier(), LOAD, note, READ, product(NOW), product(NOW, "k"))) == ["Barrier", "4/2/8"]
    assert kinds((READ, product(NOW), READ, product(NOW), Barrier())) == ["0/2/4", "0/2/4", "Barrier"]


def test_writes_stay_behind_reads_and_before_loads_over_what_they_wrote() -> None:
    """What is turned before counts once."""
    assert kinds((READ, TURN, WRITE, REFILL, product(NOW))) == ["0/2/5/4"]
    (part,) = woven((READ, TURN, WRITE, REFILL, product(NOW)))
    assert isinstance(part, Woven) and [nest.body[-1] for nest in part.writes[:1]] == [TURN]
    assert part.writes[1].body == WRITE.body and part.writes[2].body == REFILL.body
    assert kinds((WRITE, READ, product(NOW))) == ["For"] * 3, "what is read may have been written"
    assert kinds((WRITE, product(NOW))) == ["For"] * 2


def test_what_products_need_is_not() -> None:
    assert kinds((READ, product(NEXT))) == ["For", "For"]
    assert kinds((READ, product(NOW), product(NEXT))) == ["0/2/4", "For"]
    assert kinds((LOAD, product(NOW))) == ["For", "For"], "nothing is read"
    assert kinds((READ, Barrier(), product(NOW))) == ["For", "Barrier", "For"]


def test_numbers_are_those_of_the_loops() -> None:
    (part,) = woven((READ, product(NOW)))
    assert isinstance(part, Woven)
    (nest,) = part.products
    indices = nest.variables("number").values()
    turned = [tuple(index.eval({"number": i}) for index in indices) for i in range(nest.count)]
    assert turned == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_the_model_orders_as_the_header_does() -> None:
    loads, reads = (
        [Operation(unit, lane_bytes=i) for i in range(n)] for unit, n in (("direct", 3), ("read", 5))
    )  # type: ignore[arg-type]
    found = list(order_of(loads, reads, Operation("matrix", 16), 6))
    assert [op for op in found if op.unit == "direct"] == loads
    assert [op for op in found if op.unit == "read"] == reads
    assert "".join(op.unit[0] for op in found) == "rrmdmrmrdmrmdm"


def reading_ahead(chip: str = "gfx950", how: str = "8,64,64,8,mfma_f32_32x32x16_f16,xor,ahead") -> Bundle:
    problem = Gemm(128, 128, 512, transpose_b=True, dtype="f16")
    tuning = parse(f"v1:xdlops:128,128,{how}")
    return lower(Request(problem, GPU_MACHINES[chip], chip, tuning=tuning)).bundle


def test_a_kernel_that_reads_ahead_weaves_its_loop() -> None:
    loop = reading_ahead().files["kernel.hpp"].partition("#pragma unroll 1")[2]
    assert re.findall(r"weave<[^>]*>|barrier_after_direct\(\)", loop)[:4] == [
        "weave<0, 8, 8>", "barrier_after_direct()", "weave<8, 8, 8>", "weave<0, 8, 8>",
    ]  # fmt: skip


def test_writes_are_where_the_model_has_them(tmp_path: Path) -> None:
    """Read ahead through registers: two steps, with products behind each access."""
    how = "8,64,32,4,auto,xor,staged_ahead"
    bundle = reading_ahead("gfx942", how)
    woven = re.findall(r"weave<[^>]*>", bundle.files["kernel.hpp"])
    assert woven[:2] == ["weave<0, 6, 5, 8>", "weave<1, 6, 8>"]
    compile_code_object(bundle.files, bundle.units[1], "gfx942", tmp_path)
    kinds = {"buffer_load": "l", "ds_read": "r", "ds_write": "s", "v_mfma": "m", "s_barrier": "b"}
    text = (tmp_path / "kernel.s").read_text("utf-8")
    (loop,) = (found[1] for found in re.findall(r"\n(\.LBB0_\d+):(.*?)s_cbranch\S+ \1\b", text, re.DOTALL))
    code = "".join(kinds[word] for word in re.findall(rf"^\s+({'|'.join(kinds)})", loop, re.M))
    rows = Access((8, 1), (512.0, 1.0), (1, 0))
    tuning = parse(f"v1:xdlops:128,128,{how}")
    assert isinstance(tuning, XdlopsTuning)
    plan = tuning.plan(GemmContext(128, 128, 512, F16, 1, rows, rows, rows.exchanged), GPU_MACHINES["gfx942"])
    letters = {"load": "l", "read": "r", "write": "s", "matrix": "m", "barrier": "b"}
    wanted = "".join(letters.get(op.unit, "") for op in loop_of(plan))
    parts = re.findall("[lrsb]m*", 2 * wanted)
    ends = [*accumulate(map(len, parts), initial=0)]
    assert len(code) == ends[-1]
    assert [sorted(code[a:b]) for a, b in pairwise(ends)] == [sorted(part) for part in parts], code


def test_the_machine_code_has_that_order(tmp_path: Path) -> None:
    """Nothing passes the next access: two weaves between barriers, of an access and its products each."""
    bundle = reading_ahead()
    compile_code_object(bundle.files, bundle.units[1], "gfx950", tmp_path)
    kinds = {"buffer_load": "d", "ds_read": "r", "v_mfma": "m", "s_barrier": "|"}
    text = (tmp_path / "kernel.s").read_text("utf-8")
    code = "".join(kinds[word] for word in re.findall(rf"^\s+({'|'.join(kinds)})", text, re.M))
    loads, reads = ([Operation(unit, lane_bytes=i) for i in range(8)] for unit in ("direct", "read"))  # type: ignore[arg-type]
    both, last = (order_of(of, reads, Operation("matrix", 16), 8) for of in (loads, []))
    steps = re.findall("[dr]m*", "".join(op.unit[0] for op in (*both, *last)))
    ends = [*accumulate(map(len, steps), initial=0)]
    wanted = ["".join(sorted(step)) for step in steps]
    found = [["".join(sorted(part[a:b])) for a, b in pairwise(ends)] for part in code.split("|")]
    assert wanted in found, code
