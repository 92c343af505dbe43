"""Mutants are made as said, the sample stays, and tests that see a fault are told from others."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest
from tests.mutants import processes
from tests.mutants.__main__ import BEGIN, END, ROOT, page
from tests.mutants.answers import Answers
from tests.mutants.mutation import EQUIVALENT, Mutant, equivalents, folder_of, mutants_of, sample
from tests.mutants.selection import HEADERS, Recorded, Selection
from tests.mutants.tree import Ran, Tree, copied, digest
from tests.mutants.trial import CUT, KILLED, SKIPPED, SURVIVED, Trial, Trials, named, score, table
from tests.mutants.trial import EQUIVALENT as SAME
from tests.patience import HANG_S

PYTHON = '''
def f(x: int = 3, y="a") -> int:
    """1 < 2"""
    assert x < 4
    if x < 5 and y in "ä":  # 1
        return max(x, 7) + "a"
    if TYPE_CHECKING:
        import b1
    return [i % 2 for i in y if not i] and x - 8
'''
HEADER = """#define A 1
// 1 < 2
static_assert(A == 1);
bool f(int *x, uint32_t y) {
  wait(y, 0x0f70);
  asm("a < b" ::"r"(x));
  return *x < 5 && y + 1u == f32x4(0.5);
}
"""


def changes(path: str, text: str) -> list[tuple[int, str, str]]:
    return [(m.line, m.old, m.new) for m in mutants_of(path, text.encode())]


def test_mutants_of_python() -> None:
    assert changes("a.py", PYTHON) == [
        (2, "3", "4"),
        (5, 'x < 5 and y in "ä"', "False"),
        (5, "<", "<="), (5, "5", "6"), (5, "and", "or"), (5, "in", "not in"),
        (6, "max", "min"), (6, "7", "8"),
        (9, "%", "//"), (9, "2", "3"), (9, "not ", ""), (9, "not i", "True"), (9, "and", "or"), (9, "-", "+"),
        (9, "8", "9"),
    ]  # fmt: skip


def test_mutants_of_headers() -> None:
    assert changes("a.h", HEADER) == [
        (5, "wait(y, 0x0f70)", ""), (5, "0x0f70", "0x0f71"),
        (7, "<", "<="), (7, "5", "6"), (7, "&&", "||"), (7, "+", "-"), (7, "1", "2"), (7, "==", "!="),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "is_fault"),
    [("a if a.b < c else b", True), ("a.b if a.b < c else c", False), ("c if a >= c else a", False),
     ("a if a == c else c", True), ("a + 1 if a < c else c", True)],
)  # fmt: skip
def test_the_smaller_of_two_is_no_fault_in_python(line: str, is_fault: bool) -> None:
    compared = {"<": "<=", ">=": ">", "==": "!="}
    found = [new for _, old, new in changes("a.py", f"x = {line}") if compared.get(old) == new]
    assert bool(found) == is_fault


@pytest.mark.parametrize(
    ("line", "is_fault"),
    [
        ("int x = a[i] < b ? a[i] : b;", False),
        ("f(a.b >= 0 ? 0 : a.b);", False),
        ("x = a < b ? a : c;", True),
        ("x = a < b ? a : b - 1;", True),
        ("x = c - a < b ? a : b;", True),
        ("x = a < b ? a : b[i];", True),
        ("x = a == b ? a : b;", True),
    ],
)
def test_the_smaller_of_two_is_no_fault_where_they_are_equal(line: str, is_fault: bool) -> None:
    compared = [old for _, old, _ in changes("a.h", line) if old in ("<", ">=", "==")]
    assert bool(compared) == is_fault


def test_lines_that_are_the_same_have_names_of_their_own() -> None:
    found = mutants_of("a.h", b"x = 1;\nx = 1;\n  x = 1;\nx = 1;\n")
    assert [m.key[0] for m in found] == ["a.h", "a.h#2", "a.h#3", "a.h#4"]
    assert len({m.key for m in found if m.old == "1"}) == 4


@pytest.mark.parametrize(("path", "text"), [("a.py", PYTHON), ("a.h", HEADER)])
def test_a_mutant_is_its_file_but_for_one_line(path: str, text: str) -> None:
    for mutant in mutants_of(path, text.encode()):
        lines, changed = text.splitlines(), mutant.applied(text.encode()).decode().splitlines()
        assert [i for i, (a, b) in enumerate(zip(lines, changed, strict=True), 1) if a != b] == [mutant.line]
        assert mutant.after == " ".join(changed[mutant.line - 1].split())


def test_the_sample_stays_where_other_lines_change() -> None:
    def of(extra: str) -> list[Mutant]:
        return [
            m for i in range(9) for m in mutants_of(f"src/imbrex/p{i % 3}/{i}.py", (extra + PYTHON).encode())
        ]

    here, moved = sample(of(""), 4), sample(of("# a comment\n\n"), 4)
    assert [str(m).split(": ")[1] for m in here] == [str(m).split(": ")[1] for m in moved]
    assert [folder_of(m.path) for m in here] == ["p0", "p1", "p2"] * 4
    assert here[:6] == sample(of(""), 2)
    other = sample(of(""), 4, "2")
    assert other == sample(of(""), 4, "2") and {*other} != {*here} and len(other) == len(here)
    assert folder_of("src/imbrex/emit/device/cuda/a.h") == "emit/device/cuda"
    assert folder_of("src/imbrex/emit/cuda/a.py") == "emit" and folder_of("src/imbrex/a.py") == "."


def test_the_equivalent_ones_exist_and_have_reasons() -> None:
    for (path, before, after), reason in equivalents(EQUIVALENT.read_text("utf-8")).items():
        name = path.partition("#")[0]
        found = mutants_of(name, (ROOT / name).read_bytes())
        assert (path, before, after) in {m.key for m in found}, f"no such mutant of {path}: {after}"
        assert len(reason) > 20


def test_selection() -> None:
    tests = Selection(ROOT).tests("src/imbrex/index/rule.py", 1)
    assert tests[0] == "tests/unit/index/test_rule.py" and "tests/unit/index/test_map.py" in tests
    found = Selection(ROOT).tests("src/imbrex/config/algorithm/cost.py", 1)
    assert "tests/unit/config/algorithm/test_cost.py" in found
    assert "tests/unit/emit/cuda/test_headers.py" in Selection(ROOT).tests(
        "src/imbrex/emit/device/cuda/store.h", 1
    )
    assert "tests/lit" in Selection(ROOT).tests("src/imbrex/ir/ops/view.py", 1)
    assert Selection(ROOT).tests("src/imbrex/dtype/__init__.py", 1)[0] == "tests/unit/test_dtype.py"
    recorded = {
        "tests/unit/slow.py": Recorded(9, {"src/imbrex/index/rule.py": [7]}),
        "tests/unit/index/test_map.py": Recorded(9, {"src/imbrex/index/rule.py": [8]}),
        "tests/unit/quick.py": Recorded(1, {"src/imbrex/index/rule.py": [7]}),
    }
    tests = Selection(ROOT, recorded).tests("src/imbrex/index/rule.py", 7)
    assert tests[0] == "tests/unit/index/test_rule.py", "one that was not recorded may tell"
    assert tests[-2:] == ["tests/unit/quick.py", "tests/unit/slow.py"]
    assert "tests/unit/index/test_map.py" not in tests
    unseen = Selection(ROOT, recorded).tests("src/imbrex/index/rule.py", 9)
    assert unseen == Selection(ROOT).tests("src/imbrex/index/rule.py", 9), "no test was seen to execute it"


def test_every_header_has_tests() -> None:
    for path in (p for pattern in ("*.h", "*.cpp") for p in (ROOT / "src").rglob(pattern)):
        tests = Selection(ROOT).tests(str(path.relative_to(ROOT)), 1)
        assert tests and all((ROOT / test).is_file() for test in tests), path
    assert all((ROOT / name).exists() for name in HEADERS)


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A project with a function of which the tests see a half, and with a test that always fails."""
    files = {
        "src/imbrex_toy/half.py": "def f(x):\n    return x < 3\n\n\ndef g(x):\n    return x - 1\n",
        "test_red.py": "from imbrex_toy.half import f\n\n\ndef test_red():\n    assert f(9)\n",
        "test_once.py": "def test_once():\n    f = open('seen', 'a+')\n    assert f.write('x') < f.tell()\n",
        "test_half.py": "from imbrex_toy.half import f\n\n\ndef test_half():\n    assert f(2) and not f(4)\n",
    }
    for name, text in files.items():
        (tmp_path / "toy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "toy" / name).write_text(text, "utf-8")
    subprocess.run(["git", "init", "-q", str(tmp_path / "toy")], check=True)
    return tmp_path / "toy"


def test_killed_and_survived(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # starts sooner
    tree, path = copied(toy, tmp_path / "copy"), "src/imbrex_toy/half.py"
    text = (toy / path).read_bytes()
    edge, killed = mutants_of(path, text)[:2]
    assert (edge.new, killed.new) == ("<=", "4")
    killed = Mutant(path, 2, text.index(b"<"), "<", ">", "return x < 3", "return x > 3", 0)
    names = ["test_red.py", "test_once.py", "test_half.py"]
    trials = Trials(lambda *_: names, 60, time.monotonic() + HANG_S, {})
    told: list[Trial] = []
    done = trials.all([killed, edge], [tree], told.append)
    assert [(t.outcome, t.by) for t in done] == [
        ("killed", "test_half.py::test_half"),
        ("survived", ""),
    ] and told == done
    assert trials.silent == {"test_red.py::test_red"} and score(done) == "50%" and score([]) == ""
    assert (tree.root / path).read_bytes() == (toy / path).read_bytes() == text
    assert table(done)[-1] == "| all | 1 | 0 | 1 | 0 | 0 | 50% |"
    known = Trials(lambda *_: [], 60, 0, {edge.key: "for the control"})
    assert [t.outcome for t in known.all([edge, killed], [tree], told.append)] == ["equivalent"]
    lines = page(f"a\n{BEGIN}old{END}b", "now", done).splitlines()
    assert lines[4:-2] == [*table(done), "", *named(done)] and named(done) == [f"Survived: `{path}:2`."]


SKIPS = {
    "module": "import pytest\n\npytest.importorskip('no_such_module')\n\n\ndef test_a():\n    pass\n",
    "test": "import pytest\n\n\ndef test_b():\n    pytest.skip('not here')\n",
    "red": "def test_c():\n    assert 0\n",
}


@pytest.mark.parametrize(
    "names", [["module"], ["test"], ["module", "test"], ["test", "red"], [*SKIPS, "green"]], ids="+".join
)
def test_nothing_is_known_where_no_test_runs(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    """A skip is no pass, whether of a whole file or of each test in it, nor is one that always fails."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name, text in {**SKIPS, "green": "def test_d():\n    pass\n"}.items():
        (toy / f"test_{name}.py").write_text(text, "utf-8")
    tree, path = copied(toy, tmp_path / "copy"), "src/imbrex_toy/half.py"
    edge = mutants_of(path, (toy / path).read_bytes())[0]
    trials = Trials(lambda *_: [f"test_{name}.py" for name in names], 60, time.monotonic() + HANG_S)
    (done,) = trials.all([edge], [tree], lambda _: None)
    if "green" in names:
        assert done.outcome == SURVIVED and score([done]) == "0%"
        assert done.by == "2 of its tests are skipped here"
        return
    assert done.outcome == SKIPPED and f"test_{names[0]}.py" in done.by and score([done]) == ""
    assert table([done])[-1] == "| all | 0 | 0 | 0 | 1 | 0 |  |"
    assert named([done]) == [f"Not known: `{path}:2`."]
    answers = Answers(tmp_path / "out.json", [edge], {})
    answers.add(done, "0123abcdef")
    assert Answers(tmp_path / "out.json", [edge], {}).left(60, False) == [edge]


@dataclass(frozen=True)
class Scripted(Tree):
    """Tests of `quick` pass once those of `stuck` have begun, which run until they are ended."""

    has_begun: Event = field(default_factory=Event)
    is_stopped: Event = field(default_factory=Event)

    @contextmanager
    def fault(self, mutant: Mutant) -> Iterator[None]:
        yield

    def pytest(self, tests: Sequence[str], cpu: float, until: float, without: Iterable[str] = ()) -> Ran:
        if tests == ["quick"]:
            assert self.has_begun.wait(HANG_S)
            return Ran(0, "", 1.0, passed=1)
        self.has_begun.set()
        assert self.is_stopped.wait(HANG_S)
        return Ran(-15, "", 1.0)

    def stop(self) -> None:
        self.is_stopped.set()


def test_what_is_stopped_says_nothing(tmp_path: Path) -> None:
    """As by a signal while another mutant's tests run: these end by it, not by the fault."""
    trees = [Scripted(tmp_path, tmp_path)] * 2
    told: list[Trial] = []

    def tell(trial: Trial) -> None:
        told.append(trial)
        sys.exit("stopped")

    mutants = [mutants_of(f"{name}.py", PYTHON.encode())[0] for name in ("quick", "stuck")]
    trials = Trials(lambda path, _: [Path(path).stem], 60, time.monotonic() + HANG_S)
    with pytest.raises(SystemExit):
        trials.all(mutants, trees, tell)
    assert [(trial.mutant, trial.outcome) for trial in told] == [(mutants[0], SURVIVED)]


def test_answers_are_kept_and_gone_on_with(tmp_path: Path) -> None:
    first, second, third, fourth = mutants = mutants_of("src/imbrex/a.py", PYTHON.encode())[:4]
    path = tmp_path / "out.json"
    answers = Answers(path, mutants, {})
    for trial in (Trial(first, SURVIVED), Trial(second, CUT, "", 60.0), Trial(third, KILLED, "a.py::b", 1.5)):
        answers.add(trial, "0123abcdef")
    text = path.read_text("utf-8")
    path.write_text(text + '{"mutant": {"pa', "utf-8")  # killed as it wrote
    again = Answers(path, mutants, {})
    assert path.read_text("utf-8") == text and again.trials == answers.trials
    assert again.left(60, False) == [fourth] and again.left(61, False) == [second, fourth]
    assert again.left(60, True) == [first]
    assert "Tried 3 of the 4" in again.summary() and "tree 0123abcdef" in again.summary()
    assert "killed 50%" in again.summary()
    again.add(Trial(first, KILLED, "c.py::d"), "another")
    assert [t.outcome for t in Answers(path, mutants, {}).trials] == [KILLED, CUT, KILLED]
    assert [t.outcome for t in Answers(path, mutants[1:], {}).trials] == [CUT, KILLED]
    assert [t.outcome for t in Answers(path, mutants[1:], {second.key: "a reason"}).trials] == [SAME, KILLED]


def test_a_copy_is_the_same_without_git(toy: Path, tmp_path: Path) -> None:
    (toy / "src/imbrex_toy/__pycache__").mkdir()
    (toy / "src/imbrex_toy/__pycache__/half.pyc").touch()
    (toy / ".gitignore").write_text("__pycache__\n", "utf-8")
    before = digest(toy)
    shutil.rmtree(toy / ".git")
    copied(toy, tmp_path / "copy")
    assert digest(toy) == before and not [*(tmp_path / "copy").rglob("half.pyc")]
    (toy / "src/imbrex_toy/half.py").write_text("", "utf-8")
    assert digest(toy) != before


CHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-S", "-c", {code!r}], start_new_session=True)
print(child.pid, flush=True)
time.sleep(99)
"""


def has_ended(process: int) -> bool:
    """Also where nobody has asked for its status yet."""
    try:
        state = Path(f"/proc/{process}/stat").read_text("utf-8").split()[2]
    except FileNotFoundError:
        return True
    return state == "Z"


@pytest.mark.parametrize(
    ("code", "cpu", "seconds"),
    [("while True: pass", 0.5, 60), ("import time; time.sleep(99)", 60, 0.5)],
    ids=["spends its time", "sleeps"],
)
def test_what_has_no_end_is_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, cpu: float, seconds: float
) -> None:
    monkeypatch.setattr(processes, "HUNG", seconds)
    tree = Tree(tmp_path, tmp_path)
    (tmp_path / "forever.py").write_text(CHILD.format(code=code), "utf-8")
    ran = tree.run(["forever"], cpu, time.monotonic() + HANG_S)
    assert ran.code is None and (ran.seconds > cpu or cpu == 60)
    end = time.monotonic() + HANG_S
    while not has_ended(int(ran.output)):
        assert time.monotonic() < end
        time.sleep(0.02)
