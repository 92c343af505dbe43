"""What can be said of the cases without a GPU."""

from __future__ import annotations

from gpu_cases import all_cases, sample


def test_cases_can_be_told_apart_and_a_sample_has_every_family() -> None:
    cases = all_cases()
    assert len({str(case) for case in cases}) == len(cases) > 1000
    assert {case.family for case in sample(1)} == {case.family for case in cases}
    assert set(sample(2)) < set(cases)
