"""Expected: what a kit tells of one kernel, as plain JSON: its arrays, its launches, and what comes out.

Law: operands are drawn here by the code that draws them there; results are float64's, with the bounds that
`imbrex run` has (`verify.bound`), of elements that a seed picks, and a checksum of runs of elements where no
sum rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from imbrex.dtype import E8M0, DType
from imbrex.kernel import Kernel
from imbrex.kit.runner.compare import checksums, packed
from imbrex.kit.runner.draw import drawn, places
from imbrex.problem import Operand, Problem, problem_text
from imbrex.run.hip.kernel import HipKernel
from imbrex.run.launch import Launch, Step
from imbrex.verify.bound import Data
from imbrex.verify.compare import bound_of
from imbrex.verify.data import EXPONENTS, Values, indices, known, probe_supports, problem_before, values_of
from imbrex.verify.probe import read_bits
from imbrex.verify.reference import Reference, reference
from imbrex.verify.unit import Unit, unit_of

__all__ = ["case_of", "element_of"]

LOOKED_AT: Final = 1024
"""Elements of a result that are compared one by one, at most."""
PROBED: Final = 1 << 30
"""Operations of a problem from which on it has no pass of probes."""
RUN, MOST_RUNS = 256, 4096
"""Elements of a checksum, at least, and checksums of a result, at most."""

Json = dict[str, Any]


def element_of(dtype: DType) -> Json:
    """What the program has to know of an element type."""
    entry: Json = {"bytes": dtype.bytes, "poison": dtype.poison, "largest": dtype.largest, "minus_zero": None}
    if not dtype.is_float:
        return {**entry, "kind": "int"}
    minus = int(np.array([-0.0]).astype(dtype.unpacked).view(f"u{dtype.unpacked.itemsize}")[0])
    entry["minus_zero"] = minus or None
    if dtype.pack > 1:
        entry |= {"pack": dtype.pack, "bits": dtype.bits}
    if dtype.bits <= 8:
        values = np.arange(2**dtype.bits, dtype=np.uint8).view(dtype.unpacked).astype(np.float64)
        return {**entry, "kind": "table", "codes": [float(v) if np.isfinite(v) else None for v in values]}
    is_ieee = dtype.array_type.startswith("numpy.")
    return {**entry, "kind": "ieee" if is_ieee else "half_of_f32"}


def case_of(kernel: Kernel, number: int, *, is_timed: bool) -> Json:
    """All that is told of a kernel, its file and its prediction aside."""
    problem, loaded = kernel.problem, kernel.loaded
    assert isinstance(loaded, HipKernel)
    unit = unit_of(kernel.target.chip, problem.dtype)
    kinds: list[Values] = [kind for kind in values_of(problem) if kind != "probe" or problem.flops < PROBED]
    return {
        "problem": problem_text(problem),
        "configuration": kernel.configuration,
        "is_timed": is_timed,
        "flops": problem.flops,
        "bytes": problem.bytes,
        "arrays": [_array(operand) for operand in problem.operands],
        "workspace": [{"bytes": p.bytes, "zeroed": p.is_zeroed} for p in loaded.workspace],
        "steps": [_step(step) for step in loaded.steps_now],
        "passes": [_pass(problem, kind, unit, 16 * (8 * number + i)) for i, kind in enumerate(kinds)],
    }


def _array(operand: Operand) -> Json:
    strides = None if operand.strides is None else list(operand.strides)
    return {
        "name": operand.role, "type": operand.dtype.name, "layout": list(operand.layout),
        "shape": list(operand.shape), "strides": strides, "written": operand.is_written,
    }  # fmt: skip


def _step(step: Step) -> Json:
    if not isinstance(step, Launch):
        return {"argument": step.argument}
    assert not step.shared_bytes and not step.tensors, step
    values = step.kernel, step.grid_size, step.block_size, list(step.arguments)
    return dict(zip(("kernel", "grid_size", "block_size", "arguments"), values, strict=True))


def _pass(problem: Problem, values: Values, unit: Unit, seed: int) -> Json:
    """Operands of a kind, and the results on them."""
    draws = dict(_draws(problem, values, unit, seed))
    arrays = {
        o.role: drawn(draws[o.role], element_of(o.dtype), o.shape, o.strides).view(o.dtype.numpy)
        for o in problem.operands
        if o.role in draws
    }
    found = known(problem, values, unit)
    truth = reference(problem, arrays, magnitude=found.data == "any", flushes=unit.flushes)
    wants = {problem.result.role: _want(problem, truth, found.is_exact, found.data, unit, seed)}
    before = problem_before(problem)
    if before is not None and truth.before is not None:
        is_exact = known(before, values, unit).is_exact
        kept = problem.operands[-1].role
        wants[kept] = _want(before, truth.before, is_exact, found.data, unit, seed + 1)
    return {"values": values, "draws": draws, "wants": wants}


def _draws(problem: Problem, values: Values, unit: Unit, seed: int) -> Iterator[tuple[str, Json]]:
    """How each operand is drawn that is read."""
    masks = probe_supports(problem, unit) if values == "probe" else {}
    widest = known(problem, values, unit).widest
    is_read_back = getattr(problem, "beta", 0.0) != 0.0
    for position, operand in enumerate(problem.operands):
        if operand.is_written and not (is_read_back and operand.role == problem.written):
            continue
        entry: Json = {"seed": seed + position}
        if operand.dtype == E8M0:
            entry |= {"kind": "power", "low": EXPONENTS[values][0], "high": EXPONENTS[values][1]}
        elif operand.role in masks:
            entry |= {"kind": "odd", "bits": read_bits(operand.dtype)}
            if not operand.dtype.is_float:
                entry = {"seed": seed + position, "kind": "whole", "low": -126, "high": 126}
            kept = np.broadcast_to(masks[operand.role](indices(operand)), operand.unpacked_shape)
            entry["kept"] = packed(np.packbits(kept))
        elif values == "float" and operand.dtype.is_float:
            bits = operand.dtype.significand_bits
            entry |= {"kind": "real", "bits": min(bits, bits - 1 - operand.dtype.min_exponent)}
        else:
            is_narrow = operand.dtype == problem.dtype and not problem.dtype.is_float
            low, high = (-128, 127) if is_narrow else (-widest, widest)
            entry |= {"kind": "whole", "low": low, "high": high}
        yield operand.role, entry


def _want(problem: Problem, truth: Reference, is_exact: bool, data: Data, unit: Unit, seed: int) -> Json:
    """What the result of a problem has to be."""
    dtype = next(o.dtype for o in problem.operands if o.is_written)
    bound = bound_of(problem, truth, is_exact=is_exact, data=data, unit=unit).reshape(-1)
    want = truth.want.reshape(-1)
    at = places(seed, want.size, LOOKED_AT)
    entry: Json = {"seed": seed, "count": LOOKED_AT}
    if not bound.any():
        with np.errstate(over="ignore"):
            rounded = want.astype(dtype.numpy)
        run = max(RUN, -(-want.size // MOST_RUNS))
        codes = rounded.view(f"<u{dtype.bytes}")
        sums = packed(checksums(codes, run, element_of(dtype)))
        return {**entry, "run": run, "checksums": sums, "want": packed(rounded[at].astype("<f8"))}
    above = np.nextafter(bound[at].astype("<f4"), np.float32(np.inf)).astype("<f4")
    return {**entry, "want": packed(want[at].astype("<f8")), "bound": packed(above)}
