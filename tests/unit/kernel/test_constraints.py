"""What narrows a choice, and what leaves none."""

from __future__ import annotations

import pytest

from imbrex.diagnostic import Diagnostic
from imbrex.kernel.constraints import Constraints


def test_a_configuration_stands_alone() -> None:
    assert Constraints(config="v2:direct").said == {"config": "v2:direct"}
    with pytest.raises(Diagnostic, match="cannot stand beside --algorithm and --schedule") as refused:
        Constraints(algorithm="direct", schedule="auto", config="v2:direct")
    assert refused.value.hint == "leave out one or the other; --algorithm narrows what is chosen"


def test_parts_stand_together() -> None:
    assert Constraints("v1:cpu:4", schedule="auto").said == {"tuning": "v1:cpu:4", "schedule": "auto"}
