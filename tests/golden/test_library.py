"""The text of libraries: header, table of kernels, test and package, for a CPU and for a GPU.

pytest tests/golden --update-golden     writes what it is now
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.golden.kept import expect_kept, expect_only
from tests.unit.library.test_build import MANY, NET

from imbrex.library.cuda import CUDA
from imbrex.library.dispatch import Part, header, source
from imbrex.library.family import families
from imbrex.library.make import companions
from imbrex.problem import parse_problem
from imbrex.run.cpu import Parameter
from imbrex.version import __version__

FOLDER = Path(__file__).parent / "library"
ASKED = [parse_problem(line.removeprefix("3 "))[0] for line in (*NET, *MANY)]
FOUND = families([(problem, times) for times, problem in enumerate(ASKED, 1)])
WORKSPACE = Parameter("w", (5,), np.dtype(np.uint8), True, True)
PARTS = [Part(f"net_k{number}", (WORKSPACE,) if number % 3 else ()) for number in range(len(ASKED))]
TEXTS = {
    "net.h": header("net", FOUND, "cpu avx2"),
    "net_gpu.h": header("net", FOUND, "sm_90a", CUDA),
    "library.cpp": source("net", FOUND, PARTS),
    **companions("net", FOUND),
    "net_test_gpu.c": companions("net", FOUND, CUDA)["net_test.c"],
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_as_they_were(name: str, update_golden: bool) -> None:
    path = FOLDER / f"{name}.txt"
    text = TEXTS[name].replace(f"Imbrex {__version__}", "Imbrex VERSION")
    expect_kept(text, path, update=update_golden)


def test_no_other_text_is_kept() -> None:
    expect_only(TEXTS, FOLDER)
