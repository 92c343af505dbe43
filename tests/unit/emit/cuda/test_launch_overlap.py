"""Launches that follow each other: who is launched early, who lets the next one begin, and who waits."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from imbrex import pipeline
from imbrex.chip import GPU_MACHINES
from imbrex.config.tiles import parse as parse_schedule
from imbrex.emit.bundle import Bundle, bundle
from imbrex.emit.cuda.launch_overlap import early as overlapped
from imbrex.emit.cuda.launch_overlap import launch_overlaps
from imbrex.index.expr import lin
from imbrex.lower.stmt import Kernel, Program, Ref
from imbrex.lower.warpgroup.parts import Planned, Workspace
from imbrex.lower.warpgroup.pipeline import Finish, Pipeline
from imbrex.pipeline import Lowered, Request, lower
from imbrex.problem import parse_problem
from imbrex.problem.epilogue import parse
from imbrex.run.launch import Launch
from imbrex.view.work.streamk import Plan, Tiles


def made(text: str, algorithm: str | None = None, epilogue: str | None = None) -> Lowered:
    (problem,) = parse_problem(text)
    if epilogue is not None:
        problem = replace(problem, epilogue=parse(epilogue))
    return lower(Request(problem, GPU_MACHINES["sm_90a"], "sm_90a", algorithm=algorithm))


def early(text: str, algorithm: str | None = None, epilogue: str | None = None) -> list[bool]:
    steps = made(text, algorithm, epilogue).steps
    return [step.is_early for step in steps if isinstance(step, Launch)]


def test_a_product_of_copies_begins_before_they_have_ended() -> None:
    """The copies come after whatever was there; in a long call there is nothing to win."""
    assert early("gemm -t f16 -m 519 -n 517 -k 515") == [False, True]
    assert early("gemm -t f16 -m 4099 -n 4097 -k 4095") == [False, False]


def test_a_short_product_begins_before_what_is_ahead_of_it_has_ended() -> None:
    assert early("gemm -t f16 -m 512 -n 512 -k 512") == [True]
    for epilogue in ("relu(x)", "relu(x + bias)", "x + residual"):
        assert early("gemm -t f16 -m 512 -n 512 -k 512 -transB 1", epilogue=epilogue) == [True]
    assert early("gemm -t f16 -m 8192 -n 8192 -k 8192") == [False], "multiplies for long"
    assert early("gemm -t f16 -m 16 -n 16384 -k 16384") == [False], "reads for long"


def test_owners_that_wait_for_one_after_the_other_come_after_what_is_ahead() -> None:
    (problem,) = parse_problem("gemm -t f16 -m 512 -n 512 -k 8192 -transB 1")
    together = (("cluster_k:4", True), ("split_k", True))
    for schedule, found in (("stream_k", False), ("two_tile", False), *together):
        request = Request(problem, GPU_MACHINES["sm_90a"], "sm_90a", schedule=parse_schedule(schedule))
        (step,) = lower(request).steps
        assert isinstance(step, Launch) and step.is_early == found


def test_what_loads_by_itself_does_not() -> None:
    """Such loads are not coherent with what the kernel ahead still writes."""
    assert early("gemm -t f16 -m 519 -n 517 -k 515", "direct") == [False]
    assert early("gemm -t f32 -m 64 -n 64 -k 64") == [False]


def bodies(lowered: Lowered) -> dict[str, str]:
    """The text of each kernel's function, by its name."""
    text = lowered.bundle.files[lowered.bundle.units[2]]
    parts = re.split(r"IMBREX_INLINE void (\w+_\d+)\(", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_copies_let_the_product_begin() -> None:
    found = made("gemm -t f16 -m 519 -n 517 -k 515")
    copy, product = (step.kernel for step in found.steps if isinstance(step, Launch))
    text = bodies(found)
    statements = [line.strip() for line in text[copy].splitlines()]
    assert "imbrex::let_next_start();" in statements and "imbrex::run(" in text[product]
    assert statements.index("imbrex::let_next_start();") < min(
        i for i, line in enumerate(statements) if "load<" in line
    )


def test_what_nobody_waits_for_says_nothing() -> None:
    assert "let_next_start" not in str(bodies(made("gemm -t f32 -m 519 -n 517 -k 515")))


def test_a_product_waits_before_it_reads() -> None:
    """What stands before the wait touches barriers and tensor maps only."""
    header = made("gemm -t f16 -m 512 -n 512 -k 512").bundle.files["device/cuda/pipeline.h"]
    run = header[header.index("void run(const P &p)") :]
    before, after = run.split("begin_in_order<Order>();")
    assert not re.search(r"produce|consume|load|store|send|receive", before)
    assert "produce(" in after and "consume(" in after


STRIDED = "convfp16 -n 8 -c 64 -H {} -W {} -k 64 -y 3 -x 3 -p 1 -q 1 -u {} -v {} -F 2 -f NHWC -I NHWC -O NHWC"


def program_of(text: str, monkeypatch: pytest.MonkeyPatch, algorithm: str | None = None) -> Program:
    """The statements that a problem's source is printed from."""
    seen: list[Program] = []

    def kept(program: Program, *given: Any) -> Bundle:
        seen.append(program)
        return bundle(program, *given)

    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "bundle", kept)
        made(text, algorithm)
    return seen[0]


@pytest.mark.parametrize("sizes", [(28, 28, 2, 2), (27, 29, 2, 3), (13, 13, 2, 1)], ids=str)
def test_phases_are_siblings(sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stores its own pixels; the eldest alone waits at its start."""
    phases = sizes[2] * sizes[3]
    found = made(STRIDED.format(*sizes), "v4r1")
    names = [step.kernel for step in found.steps if isinstance(step, Launch)]
    wanted = dict(zip(names, ["eldest", *["sibling"] * (phases - 1)], strict=True))
    assert launch_overlaps(program_of(STRIDED.format(*sizes), monkeypatch, "v4r1")) == wanted
    text = bodies(found)
    assert [re.findall(r"run<imbrex::launch_order::(\w+)>", text[name]) for name in names] == [
        [word] for word in wanted.values()
    ]


def test_phases_of_a_bucket_are_siblings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run-time number of images a call has the four of its bucket, and no other ones."""
    text = STRIDED.format(28, 28, 2, 2).replace("-n 8", "-n ?1..8")
    program = program_of(text, monkeypatch, "v4r1")
    orders = launch_overlaps(program)
    assert len(program.kernels) > 4
    for first in range(0, len(program.kernels), 4):
        bucket = program.kernels[first : first + 4]
        assert len({kernel.when for kernel in bucket}) == 1
        assert [orders.get(kernel.name) for kernel in bucket] == ["eldest", *["sibling"] * 3]


def changed(program: Program, place: int, **values: Any) -> Program:
    """With another product in one of its launches."""
    launch = program.launches[place]
    assert isinstance(launch, Kernel) and launch.pipeline is not None
    body = tuple(replace(s, **values) if isinstance(s, Pipeline) else s for s in launch.body)
    launches = list(program.launches)
    launches[place] = replace(launch, body=body)
    return replace(program, launches=tuple(launches))


def test_what_meets_is_no_sibling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four: one that stores where the one ahead does, or a pixel of it further, that reads what is stored,
    that stores what is read; one that adds, that reads C, that waits for others' sums.
    """
    program = program_of(STRIDED.format(28, 28, 2, 2), monkeypatch, "v4r1")
    products = [k.pipeline for k in program.kernels]
    first, second = products[0], products[1]
    assert first is not None and second is not None
    assert len(launch_overlaps(program)) == 4
    reads = replace(second.a, buffer=second.c.buffer)
    is_read = replace(second.c, buffer=second.a.buffer)
    further = replace(second.c, offset=first.c.offset + 2 * 64)
    for values in ({"c": first.c}, {"c": further}, {"a": reads}, {"c": is_read}):
        assert launch_overlaps(changed(program, 1, **values)).get(program.kernels[1].name) != "sibling"
    flags = Ref(replace(second.c.buffer, name="flags"), lin(0))
    plan = Plan(Tiles(second.tiles.units, 1, second.tiles.steps), second.tiles.clusters, "stream_k", False)
    adds, reads_c = (replace(second.c, method="atomic_add"), replace(second.c, beta=1.0))
    waits = Planned(second.tiles, plan, Workspace(flags, flags))
    for values in ({"c": adds}, {"c": reads_c}, {"work": waits}):
        found = launch_overlaps(changed(program, 1, **values))
        assert list(found) == [k.name for k in program.kernels[2:]], "those behind it, among themselves"
    finish = Finish(parse("x + bias").expression, (("bias", Ref(second.a.buffer, lin(0))),))
    found = launch_overlaps(changed(program, 1, c=replace(second.c, finish=finish)))
    assert list(found) == [k.name for k in program.kernels[2:]], "arrays of an epilogue are read by lanes"


def test_a_third_is_compared_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(STRIDED.format(28, 28, 2, 2), monkeypatch, "v4r1")
    first = program.kernels[0].pipeline
    assert first is not None
    names = [k.name for k in program.kernels]
    found = launch_overlaps(changed(program, 2, c=first.c))
    assert found == {names[0]: "eldest", names[1]: "sibling", names[2]: "eldest", names[3]: "sibling"}


def test_siblings_are_launched_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the one ahead has ended anyway."""
    program = program_of(STRIDED.format(28, 28, 2, 2), monkeypatch, "v4r1")
    behind = [name for name, word in launch_overlaps(program).items() if word == "sibling"]
    assert set(behind) <= overlapped(program, permitted=())


def test_who_waits_and_who_lets() -> None:
    """The eldest lets when it has waited; a sibling lets at once, and waits when it has done all."""
    files = made("gemm -t f16 -m 512 -n 512 -k 512").bundle.files
    header = files["device/cuda/launch_overlap.h"]
    begin, end = header[header.index("void begin_in_order()") :].split("void end_in_order()")
    words = re.findall(r"order::(\w+)\)|(wait_for_earlier|let_next_start)\(\)", begin)
    assert ["".join(word) for word in words] == [
        "eldest", "wait_for_earlier", "let_next_start", "after_all", "wait_for_earlier",
    ]  # fmt: skip
    words = re.findall(r"order::(\w+)\)|(wait_for_earlier|let_next_start)\(\)", end)
    assert ["".join(word) for word in words] == ["sibling", "wait_for_earlier"]
    run = files["device/cuda/pipeline.h"].split("IMBREX_INLINE void run(const P &p)")[1]
    assert run.index("consume(") < run.rindex("meet_cluster()") < run.index("end_in_order<Order>();")
