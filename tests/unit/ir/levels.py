"""One problem at every level of the IR: its arrays, the passes, and what a level computes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from imbrex.config import tuning as tunings
from imbrex.ir.dialect import context, load
from imbrex.ir.from_problem import problem_module
from imbrex.ir.meaning import execute
from imbrex.ir.passes.affix_tuning import AffixTuning
from imbrex.ir.passes.blockwise_to_threadwise import BlockwiseToThreadwise
from imbrex.ir.passes.conv_to_gemm import ConvToGemm
from imbrex.ir.passes.gridwise_to_blockwise import GridwiseToBlockwise
from imbrex.ir.passes.unfold import UnfoldContiguous
from imbrex.ir.printed import print_module
from imbrex.problem import Conv2d, Gemm
from imbrex.verify.compare import compare
from imbrex.verify.data import random_operands
from imbrex.verify.reference import reference

Array = npt.NDArray[Any]
GENERAL = "v1:general:64,32,32,4,2,2"


@dataclass(frozen=True)
class Case:
    """A problem and how it is lowered."""

    problem: Conv2d | Gemm
    tuning: str = GENERAL
    algorithm: str | None = None
    gpu: str = "gfx942"

    @property
    def target(self) -> str:
        return "avx512" if ":cpu:" in self.tuning else self.gpu

    def __str__(self) -> str:
        words = [self.problem.key(), self.tuning.removeprefix("v1:"), self.algorithm or ""]
        return " ".join(word for word in words if word)

    def passes(self) -> list[ModulePass]:
        affix = AffixTuning(config=self.tuning, target=self.target)
        return [ConvToGemm(), UnfoldContiguous(), affix, GridwiseToBlockwise(), BlockwiseToThreadwise()]

    def levels(self, is_verified: bool = True) -> Iterator[tuple[str, ModuleOp]]:
        """The same module at the problem's level and after each pass; verified, unless that is not wanted."""
        tuning = tunings.parse(self.tuning) if self.tuning else None
        module = problem_module(self.problem, algorithm=self.algorithm, tuning=tuning)
        yield "problem", module
        for step in self.passes():
            step.apply(context(), module)
            if is_verified:
                module.verify()
            yield step.name, module

    def lowered(self, last: str = "blockwise-to-threadwise") -> ModuleOp:
        """The module after the pass of that name, verified."""
        found = next(module for name, module in self.levels(is_verified=False) if name == last)
        found.verify()
        return found

    def operands(self) -> dict[str, Array]:
        """Integer values, so that no sum rounds; what is written is poisoned, unless it is also read.

        A result that is added to in memory must not round there either: values of 16 bits are -1, 0 and 1.
        """
        arrays = random_operands(self.problem).arrays
        if self.algorithm == "v1r1" and self.problem.dtype.bytes == 2:
            return {
                r: a if r == "input" else np.sign(a.astype("f4")).astype(a.dtype) for r, a in arrays.items()
            }
        return arrays


def computed(module: ModuleOp, case: Case, arrays: dict[str, Array]) -> Array:
    """What a module writes, given arrays that are left as they are."""
    own = {role: array.copy() for role, array in arrays.items()}
    given = [own[r].reshape([size for _, size in case.problem.dims(r)]) for r in case.problem.roles]  # type: ignore[arg-type]
    scales = case.problem.block_scales if isinstance(case.problem, Gemm) else ()
    execute(module, [*given, *(own[scale.role] for scale in scales)])
    for role, array in arrays.items():
        changed = role != case.problem.written and not same(own[role], array)
        assert not changed, f"'{role}' is only read, but was changed"
    return own[case.problem.written]


def assert_every_level_is_right(case: Case, left_out: Collection[str] = ()) -> None:
    """What each level computes, but those left out, equals the reference."""
    arrays = case.operands()
    truth = reference(case.problem, arrays)
    for level, module in case.levels():
        if level not in left_out:
            found = compare(case.problem, computed(module, case, arrays), truth, is_exact=True)
            assert found.is_right, f"after {level}: {found}"


def assert_every_level_is_its_text(case: Case) -> None:
    """What the text of each level says is the level itself: operations, attributes, types, uses of values."""
    for level, module in case.levels():
        assert load(print_module(module)).module.is_structurally_equivalent(module), level


def same(a: Array, b: Array) -> bool:
    """Equal bit for bit, but for the sign of zero."""
    if a.dtype.kind == "V" and a.dtype.name.startswith("void"):  # packs
        return a.tobytes() == b.tobytes()
    nan = np.isnan(a.astype("f8")) & np.isnan(b.astype("f8"))
    return bool(np.all((a == b) | nan))


def reread(module: ModuleOp) -> ModuleOp:
    """The module that its text says; the text of which must be the same again."""
    text = print_module(module)
    found = load(text).module
    assert print_module(found) == text
    return found
