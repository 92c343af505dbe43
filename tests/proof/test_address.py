"""The printed offset and guards of a view are the composition of its rules, and stay inside the buffer.

Proved for every point at once; each proof has a control that fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from imbrex.index import expr
from imbrex.index.expr import Lin, lin, without_simplification
from imbrex.index.map import Dim, Map, layer_over
from imbrex.index.rule import Merge

from .presburger import Kernel, Points, isl, missing_guard, needless_guard, out_of_bounds, wrong_offset
from .views import VIEWS

Claim = Callable[[Map, Kernel], "str | None"]
CLAIMS: tuple[Claim, ...] = (wrong_offset, needless_guard, missing_guard, out_of_bounds)
GUARDED = {name: view for name, view in VIEWS.items() if Kernel.of(view).guards}
each_view = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)


@each_view
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_what_is_printed_is_what_the_rules_say(view: Map, claim: Claim) -> None:
    assert claim(view, Kernel.of(view)) is None


@each_view
def test_without_simplification_too(view: Map) -> None:
    with without_simplification():
        plain = Kernel.of(Map(view.layers))
    for claim in (wrong_offset, needless_guard, missing_guard):
        assert claim(view, plain) is None


@each_view
def test_control_an_offset_moved_by_one_is_seen(view: Map) -> None:
    kernel = Kernel.of(view)
    for by in ("+ 1", "- 1"):
        moved = replace(
            kernel, offset=f"{kernel.offset} {by}" if "?" not in kernel.offset else f"({kernel.offset}) {by}"
        )
        assert wrong_offset(view, moved)


def test_control_an_offset_moved_out_of_the_buffer_is_seen() -> None:
    """Views that fill their buffer leave it when they move either way."""
    for name in (
        "forward NCHW",
        "forward NHWC stride 2",
        "gemm under tiles that overhang",
        "two pieces of tiles",
    ):
        kernel = Kernel.of(VIEWS[name])
        for by in ("+ 1", "- 1"):
            left = out_of_bounds(VIEWS[name], replace(kernel, offset=f"({kernel.offset}) {by}"))
            assert left, (name, by)


@pytest.mark.parametrize("view", GUARDED.values(), ids=GUARDED)
def test_control_a_guard_removed_or_moved_is_seen(view: Map) -> None:
    kernel = Kernel.of(view)
    for i, (text, size) in enumerate(kernel.guards):
        others = (*kernel.guards[:i], *kernel.guards[i + 1 :])
        assert missing_guard(view, replace(kernel, guards=others)), f"without 0 <= {text} < {size}"
        tighter = [
            replace(kernel, guards=(*others, g)) for g in ((f"({text}) - 1", size - 1), (text, size - 1))
        ]
        assert any(needless_guard(view, k) for k in tighter), f"with less than 0 <= {text} < {size}"


def test_control_without_guards_the_offset_leaves_the_buffer() -> None:
    left = {n for n, view in GUARDED.items() if out_of_bounds(view, replace(Kernel.of(view), guards=()))}
    assert left == set(GUARDED)


@each_view
def test_control_a_wrong_divisor_is_seen(view: Map) -> None:
    """One law broken: the first quotient or remainder of the text divides by one more."""
    kernel = Kernel.of(view)
    for op in ("/", "%"):
        broken = re.sub(rf"{op} (\d+)", lambda m, op=op: f"{op} {int(m[1]) + 1}", kernel.offset, count=1)
        assert broken == kernel.offset or wrong_offset(view, replace(kernel, offset=broken))


def test_control_a_broken_simplifier_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `(e / d) / k` is taken for 0, the first digit of a merge is lost."""
    layer = layer_over((Dim("a", 5), Dim("c", 9), Dim("b", 7)), (Merge(), "x", "a b c"))
    assert wrong_offset(Map((layer,)), Kernel.of(Map((layer,)))) is None

    def broken(x: Lin, d: int) -> tuple[Lin, Lin] | None:
        right = nested(x, d)
        return right and (lin(0), right[1])

    nested = expr._nested
    expr._divmod.cache_clear()
    monkeypatch.setattr(expr, "_nested", broken)
    try:
        assert wrong_offset(Map((layer,)), Kernel.of(Map((layer,))))
    finally:
        expr._divmod.cache_clear()


LAWS: list[tuple[str, str]] = [
    ("{d} * (x / {d}) + x % {d}", "x"),
    ("x - {d} * (x / {d})", "x % {d}"),
    ("x - x % {d}", "{d} * (x / {d})"),
    ("{d} * ((x / {d}) % {k}) + x % {d}", "x % {dk}"),
    ("(x / {d} + 3) / {k}", "(x + 3 * {d}) / {dk}"),
    ("(x % {dk}) / {d}", "(x / {d}) % {k}"),
    ("(x % {dk}) % {d}", "x % {d}"),
    ("({d} * x + r) / {d}", "x"),
    ("({d} * x + r) % {d}", "r"),
    ("({d} * x + r) / {dk}", "x / {k}"),
    ("({d} * x + r) % {dk}", "{d} * (x % {k}) + r"),
]


@pytest.mark.parametrize(("d", "k"), [(2, 3), (14, 14), (9, 8), (64, 49)])
@pytest.mark.parametrize(("left", "right"), LAWS)
def test_the_laws_hold_for_every_integer(left: str, right: str, d: int, k: int) -> None:
    """Negative ones too; r is a remainder of d."""
    sizes = {"d": d, "k": k, "dk": d * k}
    points = Points(("x", "r"), (f"0 <= r < {d}",))
    assert points.differ(left.format(**sizes), right.format(**sizes)) is None
    assert points.differ(f"{left.format(**sizes)} + 1", right.format(**sizes)), "control"
    if "r" in left:
        loose = Points(("x", "r"), (f"0 <= r <= {d}",))
        assert loose.differ(left.format(**sizes), right.format(**sizes)), "control: r one too large"


def test_printed_text_is_read_as_it_is_printed() -> None:
    """The reader itself: ternaries nest, quotients round down, and a wrong reading is not silent."""
    points = Points(("a", "b"), ("-9 <= a <= 9", "-9 <= b <= 9"))
    text = "2*(a - 1 >= 0 ? (b >= 0 ? a : b) + 1 : (a / 3) % 2) - b"
    for a in range(-9, 10, 3):
        for b in range(-9, 10, 2):
            want = 2 * (((a if b >= 0 else b) + 1) if a - 1 >= 0 else a // 3 % 2) - b
            at = isl.Point.zero(points.set.get_space())
            at = at.set_coordinate_val(isl.dim_type.set, 0, isl.Val(a))
            at = at.set_coordinate_val(isl.dim_type.set, 1, isl.Val(b))
            assert points.value(text).eval(at).to_python() == want
    with pytest.raises(AssertionError):
        points.value("a ** 2")
    with pytest.raises(ValueError, match="not in tuple"):
        points.value("unknown")
