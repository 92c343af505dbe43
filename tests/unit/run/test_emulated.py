"""A kernel of sm_90a on this CPU: its arrays are the CPU's, its order of warps is the environment's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import imbrex
from imbrex.build.shared_library import build_shared
from imbrex.diagnostic import Diagnostic
from imbrex.emit.emulate.hopper import FLAGS
from imbrex.kernel import Kernel
from imbrex.run.emulated import load_emulated


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return imbrex.compile("gemm -t f16 -m 24 -n 16 -k 40 -transB 1", "sm_90a", emulate=True)


def test_arrays_of_the_host(kernel: Kernel) -> None:
    a = np.arange(24 * 40, dtype=np.float16).reshape(24, 40) % 7
    b = np.arange(16 * 40, dtype=np.float16).reshape(16, 40) % 5
    assert (kernel(a, b) == a.astype(np.float32) @ b.T.astype(np.float32)).all()


def test_the_unit_is_the_gpus(kernel: Kernel) -> None:
    assert kernel.bundle.units == ("gemm_solver.cpp", "gemm.cu", "gemm.hpp")
    assert kernel.report["target"] == "emulate" and kernel.report["chip"] == "sm_90a"


@pytest.mark.parametrize("seed", ["one", "-1", "1234567890"])
def test_a_seed_is_a_number(kernel: Kernel, seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMBREX_EMULATE_SEED", seed)
    with pytest.raises(Diagnostic, match="IMBREX_EMULATE_SEED should be a number of at most nine digits"):
        kernel.check(values="integer")


def test_a_fault_is_told_from_a_guarded_call(kernel: Kernel) -> None:
    """Of two barriers at one place."""
    files = dict(kernel.files)
    addresses = files["device/cuda/addresses.h"]
    files["device/cuda/addresses.h"] = addresses.replace("P::empty_offset", "P::full_offset")
    assert files["device/cuda/addresses.h"] != addresses
    loaded = kernel.loaded
    damaged = load_emulated(
        build_shared(files, flags=FLAGS).path, loaded.symbol, loaded.parameters, loaded.workspace
    )
    with pytest.raises(Diagnostic, match="makes a barrier of the bytes of the barrier at byte"):
        replace(kernel, loaded=damaged).check(values="integer")
