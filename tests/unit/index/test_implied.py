"""Guards that others imply: proved ones hold at every point, and what does not hold is never proved."""

from __future__ import annotations

from itertools import product

import pytest

from imbrex.index.expr import Lin, var
from imbrex.index.implied import is_implied
from imbrex.index.rule import Guard

BLOCK, LANE, HALF = var("block", 3), var("lane", 40), var("half", 2)
X = 36 * BLOCK + LANE


def holds(guard: Guard, at: dict[str, int]) -> bool:
    assert isinstance(guard.size, int)
    return bool(0 <= guard.index.eval(at) < guard.size)


@pytest.mark.parametrize(
    ("column", "guard", "size", "is_proved"),
    [
        (36 * BLOCK + LANE, lambda x: x // 7, 14, True),
        (35 * BLOCK + LANE, lambda x: x // 7, 14, True),  # its quotient is 5 * block + lane / 7
        (36 * BLOCK + LANE, lambda x: x // 7 * 2, 27, True),
        (36 * BLOCK + LANE, lambda x: x // 7, 13, False),
        (36 * BLOCK + LANE, lambda x: x // 7 + 1, 14, False),
        (36 * BLOCK + LANE, lambda x: x // 7 - 1, 14, False),
        (36 * BLOCK + LANE, lambda x: (x + 1) // 7, 14, False),
        (X + 4 * HALF, lambda _: X // 7 * 2 + HALF, 27, False),  # no multiple of 2: 27 where x is 93
    ],
)
def test_what_is_proved_holds(column: Lin, guard: object, size: int, is_proved: bool) -> None:
    known, asked = Guard(column, 98), Guard(guard(column), size)  # type: ignore[operator]
    points = [{"block": b, "lane": i, "half": h} for b, i, h in product(range(3), range(40), range(2))]
    always = all(holds(asked, at) for at in points if holds(known, at))
    assert is_implied(asked, [known]) == is_proved == always
    assert not is_implied(asked, [])
