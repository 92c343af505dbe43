"""Look-ups: what a call is told, from which database, and what that costs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from imbrex.database import Database, Device, Trial, Unit, Verdict, device_of, location
from imbrex.database import text as texts
from imbrex.database.lookup import Advice, Found, advice
from imbrex.database.near import MOST, nearest, shape_of
from imbrex.database.record import Winner
from imbrex.database.shelf import shelves
from imbrex.database.view import rows_in
from imbrex.database.warning import DatabaseWarning
from imbrex.diagnostic import Diagnostic
from imbrex.kernel import CPU, target_of

PROBLEM = "gemm -t f32 -m 512 -n 512 -k 512 -transA 0 -transB 0 -g 1"
A, B, PICK = "v2:direct+product=a", "v2:direct+product=b", "v2:direct+product=pick"


def unit(problem: str = PROBLEM, threads: int = 1, device: Device | None = None) -> Unit:
    return Unit(problem, "cpu", device or device_of(CPU), threads)


def tuned(path: Path, of: Unit, configuration: str = A, session: str = "s") -> None:
    with Database(path) as db:
        db.record(of, Trial(configuration, "ok", 10.0, source="digest", session=session))
        db.conclude(of, Verdict(configuration, PICK, 1.5, 1.4, 1.6, 20, session))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IMBREX_DB", str(tmp_path / "t.db"))
    return tmp_path / "t.db"


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Puts another database's text where Imbrex has its own."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    monkeypatch.setattr(location, "SHIPPED", folder)
    location.shipped_text.cache_clear()

    def put(target: str, text: str) -> None:
        (folder / f"{target}.txt").write_text(text)

    yield put
    location.shipped_text.cache_clear()


def told(of: Advice | None) -> tuple[str, str] | None:
    """Configuration and database of what was measured."""
    return (
        None
        if of is None or of.measured is None
        else (of.measured.winner.configuration, of.measured.database)
    )


def test_what_was_measured_is_told_and_nothing_else(path: Path) -> None:
    assert advice(PROBLEM, CPU, 1) is None
    tuned(path, unit())
    assert told(advice(PROBLEM, CPU, 1)) == (A, "user")
    assert advice(PROBLEM, CPU, 2) is None
    assert advice(PROBLEM.replace("transA 0", "transA 1"), CPU, 1) is None
    assert advice(PROBLEM, target_of("gfx942", emulate=True), 1) is None


def test_another_device_has_its_own(path: Path) -> None:
    tuned(path, unit(device=Device("another", (("isa", "avx2"),))))
    assert advice(PROBLEM, CPU, 1) is None


def test_off_tells_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tuned(path, unit())
    assert advice(PROBLEM, CPU, 1) is not None
    monkeypatch.setenv("IMBREX_DB", "off")
    assert advice(PROBLEM, CPU, 1) is None


def test_a_second_look_asks_the_file_nothing_until_it_changes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned(path, unit())
    opened: list[str] = []
    connect = sqlite3.connect

    def counted(*args: object, **more: object) -> sqlite3.Connection:
        opened.append("")
        connection = connect(*args, **more)  # type: ignore[arg-type]
        connection.set_trace_callback(opened.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", counted)
    for _ in range(3):
        assert told(advice(PROBLEM, CPU, 1)) == (A, "user")
    few = len(opened)
    assert 0 < few < 16, opened
    for _ in range(100):
        advice(PROBLEM, CPU, 1)
    assert len(opened) == few
    with Database(path) as db:
        db.record(unit(), Trial(B, "ok", 5.0, session="2"))
        db.conclude(unit(), Verdict(B, PICK, 2.0, 1.9, 2.1, 20, "2"))
        assert told(advice(PROBLEM, CPU, 1)) == (B, "user"), "while it is open, too"
    assert told(advice(PROBLEM, CPU, 1)) == (B, "user")


def test_the_users_goes_before_the_shipped_one(
    path: Path, tmp_path: Path, shipped: Callable[..., None]
) -> None:
    tuned(tmp_path / "ours.db", unit(), B)
    far = unit(PROBLEM.replace("512", "4096"))
    tuned(tmp_path / "ours.db", far, B)
    shipped("cpu", texts.text(rows_in(tmp_path / "ours.db")))
    assert told(advice(PROBLEM, CPU, 1)) == (B, "shipped")
    tuned(path, unit())
    assert told(advice(PROBLEM, CPU, 1)) == (A, "user")
    assert told(advice(far.problem, CPU, 1)) == (B, "shipped")


def test_what_cannot_be_read_is_said_once_and_not_used(path: Path, shipped: Callable[..., None]) -> None:
    path.write_bytes(b"\xff" * 4096)
    with pytest.warns(DatabaseWarning, match="is damaged: .*nothing of it is used"):
        assert advice(PROBLEM, CPU, 1) is None
    path.unlink()
    tuned(path, unit())
    with sqlite3.connect(path) as file:
        file.execute("pragma user_version = 7")
    with pytest.warns(DatabaseWarning, match="has version 7"):
        assert advice(PROBLEM, CPU, 1) is None


def test_the_nearest_are_told_where_nothing_was_measured(path: Path) -> None:
    sizes = (100, 200, 300, 400, 500, 600, 700, 3000)
    for size in sizes:
        tuned(path, unit(PROBLEM.replace("-m 512", f"-m {size}")), f"v2:direct+product={size}")
    tuned(path, unit(PROBLEM.replace("f32", "f64")))
    found = advice(PROBLEM, CPU, 1)
    assert found is not None and found.measured is None
    assert [f.winner.configuration[-3:] for f in found.near] == ["500", "600", "400", "700"]


def test_what_was_never_tuned_for_asks_for_no_device(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To know a GPU means to start its driver."""
    tuned(path, unit())
    monkeypatch.setattr("imbrex.database.lookup.device_of", pytest.fail)
    assert advice(PROBLEM, target_of("gfx942"), 1) is None


def test_where_the_gpu_is_not_here_what_any_was_tuned_for_is_near(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(target: object) -> Device:
        raise Diagnostic("there is no NVIDIA GPU")

    monkeypatch.setattr("imbrex.database.lookup.device_of", absent)
    hopper = Device("NVIDIA H200", (("multiprocessors", "132"),))
    tuned(path, replace(unit(device=hopper), target="sm_90a", threads=0))
    found = advice(PROBLEM, target_of("sm_90a"), 8)
    assert found is not None and found.measured is None
    assert [(f.problem, f.winner.device) for f in found.near] == [(PROBLEM, "NVIDIA H200")]


GEMM = "gemm -t f16 -m 64 -n 64 -k 64 -transA 0 -transB 0 -g 1"
CONV = "conv -n 1 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -g 1 -F 1"


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (GEMM, GEMM.replace("-m 64", "-m 65"), True),
        (GEMM, GEMM.replace("f16", "bf16"), False),
        (GEMM, GEMM.replace("transB 0", "transB 1"), False),
        (GEMM, GEMM.replace("-g 1", "-g 2"), False),
        (GEMM.replace("-g 1", "-g 3"), GEMM.replace("-g 1", "-g 2"), True),
        (f"{GEMM} -lda 80", f"{GEMM} -lda 96", True),
        (GEMM, f"{GEMM} -lda 96", False),
        (GEMM, f'{GEMM} --epilogue "relu(x)"', False),
        (f'{GEMM} --epilogue "gelu(x + bias)"', f'{GEMM} --epilogue "relu(x)"', True),
        (CONV, CONV.replace("-H 56", "-H 28"), True),
        (CONV, CONV.replace("-F 1", "-F 2"), False),
        (CONV, CONV.replace("-u 1", "-u 2"), False),
        (CONV, CONV.replace("-y 3", "-y 1"), False),
        (CONV, f"{CONV} -f KCYX -I NHWC -O NHWK", False),
        (CONV, CONV.replace("-g 1", "-g 64"), False),
    ],
)
def test_kinds(one: str, other: str, is_same: bool) -> None:
    assert (shape_of(one).kind == shape_of(other).kind) == is_same


def test_no_text_is_too_odd_for_a_shape() -> None:
    for text in ("", "gemm", "a b c", "gemm -m x -n", 'conv --epilogue "', PROBLEM.replace("512", "0")):
        assert nearest(shape_of(text), [text]) == [text]


def sized(m: int) -> str:
    return PROBLEM.replace("-m 512", f"-m {m}")


def test_as_far_as_a_factor_of_four_is_near() -> None:
    """Both ways, the limit itself among them, and at most as many as there may be."""
    found = nearest(shape_of(sized(512)), map(sized, (127, 128, 256, 512, 2048, 2049)))
    assert found == [sized(size) for size in (512, 256, 128, 2048)]
    assert len(nearest(shape_of(sized(512)), map(sized, range(510, 520)))) == MOST


def test_shipped_problems_are_those_of_a_kind(
    path: Path, tmp_path: Path, shipped: Callable[[str, str], None]
) -> None:
    others = (PROBLEM.replace("f32", "f64"), PROBLEM.replace("transA 0", "transA 1"), sized(64))
    for problem in (PROBLEM, *others):
        tuned(tmp_path / "ours.db", unit(problem))
    shipped("cpu", texts.text(rows_in(tmp_path / "ours.db")))
    with shelves(path) as (shelf,):
        for kind in {shape_of(problem).kind for problem in (PROBLEM, *others)}:
            known = [problem for problem in (PROBLEM, *others) if shape_of(problem).kind == kind]
            assert sorted(shelf.problems("cpu", kind)) == sorted(known)
        assert shelf.problems("gfx942", shape_of(PROBLEM).kind) == []


def test_advice_is_told_apart_by_every_winner() -> None:
    found = [Found(PROBLEM, Winner(text, 1.5, "now", "s", "device"), "user") for text in "abc"]
    texts = {Advice(None).text, Advice(found[0]).text, Advice(None, (found[0], found[1])).text}
    texts |= {Advice(None, (found[0], found[2])).text, Advice(found[1]).text}
    assert len(texts) == 5
