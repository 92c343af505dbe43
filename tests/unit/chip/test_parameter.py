"""Parameters: each is a number of the machine's row, and sets that one alone."""

from __future__ import annotations

import pytest

from imbrex.chip import CPU_ISAS, GPU_MACHINES, SIZES, Machine, parameters, with_parameters
from imbrex.diagnostic import Diagnostic

CPU, GPU = CPU_ISAS["avx512"], GPU_MACHINES["sm_90a"]


@pytest.mark.parametrize("machine", [CPU, GPU, CPU_ISAS["neon"]], ids=lambda of: of.name)
def test_the_defaults_of_a_machine_are_the_machine(machine: Machine) -> None:
    known = parameters(machine)
    assert len({p.name for p in known}) == len(known) >= 15
    assert all(0 < p.low < p.default < p.high and p.unit for p in known)
    assert with_parameters(machine, [(p.name, p.default) for p in known]) == machine


@pytest.mark.parametrize("machine", [CPU, GPU], ids=lambda of: of.name)
def test_a_parameter_sets_itself_alone(machine: Machine) -> None:
    known = parameters(machine)
    for p in known:
        changed = with_parameters(machine, [(p.name, p.high)])
        differ = {q.name for q, r in zip(parameters(changed), known, strict=True) if q.default != r.default}
        assert differ == {p.name}


def test_sizes_of_caches_are_whole_numbers() -> None:
    found = with_parameters(CPU, [(name, 12345.0) for name in SIZES])
    assert [getattr(found, name) for name in SIZES] == [12345] * 3
    assert all(isinstance(getattr(found, name), int) for name in SIZES)


def test_what_is_no_parameter_is_refused() -> None:
    for machine, name in ((CPU, "prices.copies"), (CPU, "threads"), (GPU, "l2_bytes"), (GPU, "prices.copy")):
        with pytest.raises(Diagnostic, match=f"'{name}' is no parameter of the model of {machine.name}"):
            with_parameters(machine, [(name, 1.0)])


def test_where_no_model_is_of_times_there_are_none() -> None:
    assert parameters(GPU_MACHINES["gfx942"]) == ()
