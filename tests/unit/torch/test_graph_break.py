"""Calls by arrays within what torch.compile traces: they end its graph, or it says what may stand in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import imbrex  # noqa: E402

pytestmark = [pytest.mark.usefixtures("in_process"), pytest.mark.filterwarnings("error::UserWarning")]

KERNEL = imbrex.compile("gemm -m 4 -n 3 -k 5")
CALLS: dict[str, tuple[Callable[[Any, Any], Any], tuple[Any, Any]]] = {
    "gemm": (lambda a, b: imbrex.gemm(a * 2, b) + 1, (torch.ones(4, 5), torch.ones(5, 3))),
    "conv2d": (
        lambda x, w: imbrex.conv2d(x * 2, w, padding=1) + 1,
        (torch.ones(1, 3, 5, 5), torch.ones(4, 3, 3, 3)),
    ),
    "backward_data": (
        lambda dy, w: imbrex.conv2d_backward_data(dy * 2, w, (1, 3, 5, 5)) + 1,
        (torch.ones(1, 4, 3, 3), torch.ones(4, 3, 3, 3)),
    ),
    "backward_weight": (
        lambda dy, x: imbrex.conv2d_backward_weight(dy * 2, x, (4, 3, 3, 3)) + 1,
        (torch.ones(1, 4, 3, 3), torch.ones(1, 3, 5, 5)),
    ),
    "kernel": (lambda a, b: KERNEL(a * 2, b) + 1, (torch.ones(4, 5), torch.ones(5, 3))),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_ends_the_graph(name: str) -> None:
    function, given = CALLS[name]
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="eager")
    for _ in range(2):
        assert torch.equal(compiled(*given), function(*given))


@pytest.mark.parametrize("name", CALLS)
def test_one_graph_is_refused_with_the_reason(name: str) -> None:
    function, given = CALLS[name]
    torch._dynamo.reset()
    with pytest.raises(Exception, match=r"the ops of imbrex\.torch may stand in one"):
        torch.compile(function, fullgraph=True, backend="eager")(*given)


def test_the_functions_are_what_they_were() -> None:
    assert imbrex.gemm.__name__ == "gemm" and "alpha * op" in str(imbrex.gemm.__doc__)
