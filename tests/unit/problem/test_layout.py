"""Layouts from letters and names of every tool."""

from __future__ import annotations

from itertools import permutations

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.problem.layout import DIMENSIONS, Role, layout_text, parse_layout


@pytest.mark.parametrize(
    ("role", "text", "names"),
    [
        ("filter", "KCYX", "k c y x"),
        ("filter", "KYXC", "k y x c"),
        ("filter", "NCHW", "k c y x"),
        ("filter", "nhwc", "k y x c"),
        ("filter", "GKC01", "k c y x"),
        ("filter", "GN01C", "k y x c"),
        ("input", "NCHW", "n c hi wi"),
        ("input", "CNHW", "c n hi wi"),
        ("input", "NGC01", "n c hi wi"),
        ("input", "N01GC", "n hi wi c"),
        ("output", "NKHW", "n k ho wo"),
        ("output", "NHWC", "n ho wo k"),
        ("output", "NGK01", "n k ho wo"),
    ],
)
def test_letters(role: Role, text: str, names: str) -> None:
    assert parse_layout(role, text) == tuple(names.split())


@pytest.mark.parametrize(
    ("role", "names"),
    [
        ("filter", ["k", "y", "x", "c"]),
        ("input", ["ni", "hi", "wi", "gi", "ci"]),
        ("input", ["n", "0i", "1i", "c"]),
        ("output", ["no", "ho", "wo", "go", "ko"]),
        ("output", ("n", "0o", "1o", "k")),
    ],
)
def test_names(role: Role, names: list[str]) -> None:
    assert layout_text(role, parse_layout(role, names))[0] in "KN"
    assert sorted(parse_layout(role, names)) == sorted(DIMENSIONS[role])


@pytest.mark.parametrize("role", DIMENSIONS)
def test_every_order_round_trips_in_both_alphabets(role: Role) -> None:
    for order in permutations(DIMENSIONS[role]):
        assert parse_layout(role, order) == order
        assert parse_layout(role, layout_text(role, order)) == order
        assert parse_layout(role, layout_text(role, order, miopen=True)) == order


@pytest.mark.parametrize(
    ("role", "text", "message", "hint"),
    [
        ("input", "NCHQ", "input layout 'NCHQ' has no dimension 'Q'", "did you mean 'NCHW'?"),
        ("input", "NCH", "needs each of n, c, hi, wi once, got n, c, hi", "did you mean 'NCHW'?"),
        ("input", "NHHC", "got n, hi, hi, c", "did you mean 'NHWC'?"),
        ("input", "GNCHW", "must have 'g' directly before 'c'", "did you mean 'NCHW'?"),
        ("input", "NGGCHW", "needs each of", "did you mean 'NCHW'?"),
        ("filter", "KGCYX", "must have 'g' directly before 'k'", "did you mean 'KCYX'?"),
        ("output", "NKYX", "has no dimension 'Y'", "did you mean 'NKHW'?"),
        ("filter", "", "needs each of k, c, y, x once", "such as KCYX"),
        (
            "input",
            "channels_last",
            "unknown layout 'channels_last'",
            "NHWC is what PyTorch calls channels_last",
        ),
    ],
)
def test_bad_layouts(role: Role, text: str, message: str, hint: str) -> None:
    with pytest.raises(Diagnostic) as caught:
        parse_layout(role, text)
    assert message in caught.value.message
    assert caught.value.hint is not None
    assert hint in caught.value.hint
    assert caught.value.subject == f"{role}_layout"
