"""Case: one kernel of a kit: operands are drawn, launches made, results compared, calls timed.

Law: a kernel writes its results and nothing else: inputs, what lies between the rows of a result and 4096
bytes on either side of every array have to stay.  What nobody wrote reads as a NaN where the type has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from .compare import verdict
from .draw import Array, JsonObject, drawn, storage
from .hip import Hip

__all__ = ["ran"]

ALIGNED = 16
"""Elements by which the first one of an array is aligned."""
MARGIN = 4096
"""Bytes before and after an array."""
ROUNDS, ROUND_S, MOST_CALLS = 7, 0.03, 400
"""Rounds of calls that are timed, how long each takes, and the most calls of one."""


class Memory:
    """An array as it lies on the GPU."""

    def __init__(self, hip: Hip, entry: JsonObject, element: JsonObject) -> None:
        self.hip, self.entry, self.element = hip, entry, element
        size = element["bytes"]
        self.edge = MARGIN // size // ALIGNED * ALIGNED
        shape, self.strides = tuple(entry["shape"]), entry["strides"]
        steps = self.strides or [int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape))]
        self.shape, self.steps = shape, tuple(step * size for step in steps)
        self.reach = 1 + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
        self.row = np.empty(self.reach + 2 * self.edge, storage(element))
        self.start = hip.allocate(self.row.nbytes)
        self.address = self.start + self.edge * size

    def put(self, draws: JsonObject | None) -> None:
        """Draws the array, or leaves it unwritten."""
        poison = self.element["poison"]
        self.row[:] = np.frombuffer(poison.to_bytes(self.row.itemsize, "little"), self.row.dtype)
        if draws is not None:
            self.view(self.row)[...] = drawn(draws, self.element, self.shape, self.strides)
        self.hip.put(self.start, self.row)

    def view(self, row: Array) -> Array:
        """The array's elements in its memory."""
        return np.lib.stride_tricks.as_strided(row[self.edge :], self.shape, self.steps)

    def got(self) -> tuple[Array, str | None]:
        """The elements, and what was written that should not have been."""
        found = np.empty_like(self.row)
        self.hip.get(found, self.start)
        codes = self.view(found).copy()
        before = self.row
        if self.entry["written"]:
            self.view(found)[...] = self.view(before)
        differ = np.flatnonzero(
            (found.view("u1") != before.view("u1")).reshape(-1, found.itemsize).any(axis=1)
        )
        if not differ.size:
            return codes, None
        at = int(differ[0]) - self.edge
        name = self.entry["name"]
        if 0 <= at < self.reach:
            where = "between the rows of the result" if self.entry["written"] else f"into its input '{name}'"
        else:
            end = -at if at < 0 else at - self.reach + 1
            where = f"{end} elements {'before the start' if at < 0 else 'beyond the end'} of '{name}'"
        return codes, f"it writes {where} ({differ.size} elements)"


def ran(hip: Hip, folder: Path, kit: JsonObject, case: JsonObject, *, is_timed: bool) -> dict[str, Any]:
    """What came of it: is_right, passes, and time_s where it was timed."""
    module = hip.module((folder / case["file"]).read_bytes())
    made: list[int] = []
    try:
        arrays = [Memory(hip, operand, kit["types"][operand["type"]]) for operand in case["arrays"]]
        made += [array.start for array in arrays]
        scratch: list[int] = []
        for scratch_array in case["workspace"]:
            scratch.append(hip.allocate(scratch_array["bytes"]))
            made.append(scratch[-1])
            hip.fill(scratch[-1], 0 if scratch_array["zeroed"] else 0xFF, scratch_array["bytes"])
        sizes = [one["bytes"] for one in case["workspace"]]
        queue = _Queue(hip, module, case["steps"], arrays, list(zip(scratch, sizes, strict=True)))
        passes = [_pass(hip, queue, arrays, values_pass) for values_pass in case["passes"]]
        found: dict[str, Any] = {"is_right": all(one["is_right"] for one in passes), "passes": passes}
        if is_timed and case["is_timed"] and found["is_right"]:
            found["time_s"] = _time(hip, queue)
        return found
    finally:
        for address in made:
            hip.free(address)
        hip.call("hipModuleUnload", module)


class _Queue:
    """A call: all launches of a kernel, in order, which it does not wait for."""

    def __init__(
        self,
        hip: Hip,
        module: int,
        steps: Sequence[JsonObject],
        arrays: Sequence[Memory],
        scratch: Sequence[tuple[int, int]],
    ) -> None:
        self.hip, self.steps = hip, steps
        spans = [(array.address, array.reach * array.element["bytes"]) for array in arrays]
        self.addresses, self.sizes = zip(*spans, *scratch, strict=True)
        names = {step["kernel"] for step in steps if "kernel" in step}
        self.functions = {name: hip.function(module, name) for name in names}

    def __call__(self) -> None:
        for step in self.steps:
            if "kernel" not in step:
                place: int = step["argument"]
                self.hip.clear(self.addresses[place], self.sizes[place])
                continue
            places: list[int] = step["arguments"]
            pointers = [self.addresses[place] for place in places]
            function = self.functions[step["kernel"]]
            self.hip.launch(function, step["grid_size"], step["block_size"], 0, pointers)


def _pass(hip: Hip, queue: _Queue, arrays: Sequence[Memory], one: JsonObject) -> dict[str, Any]:
    """All operands of a kind, one call."""
    for array in arrays:
        array.put(one["draws"].get(array.entry["name"]))
    queue()
    hip.wait()
    said: list[str] = []
    is_right = True
    for array in arrays:
        codes, fault = array.got()
        if fault is not None:
            is_right, said = False, [*said, fault]
        if array.entry["written"]:
            want = one["wants"][array.entry["name"]]
            found = verdict(codes, want, array.element, array.entry["layout"])
            is_right &= found["is_right"]
            said.append(found["told"])
    return {"values": one["values"], "is_right": is_right, "told": "; ".join(said)}


def _time(hip: Hip, queue: _Queue) -> dict[str, Any]:
    """Seconds of a call, where calls follow each other: the median and the least of several rounds."""
    one = min(hip.timed(queue) for _ in range(3))
    calls = max(3, min(MOST_CALLS, int(ROUND_S / max(one, 1e-7))))

    def several() -> None:
        for _ in range(calls):
            queue()

    rounds = [hip.timed(several) / calls for _ in range(ROUNDS)]
    return {"median": median(rounds), "least": min(rounds), "calls": calls, "rounds": ROUNDS}
