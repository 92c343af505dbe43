"""TileKernel: many matrix instructions on one tile, and how the tile of each operand is packed for them.

An instruction says which lane and register hold an element of its own small tile.  Unrolling puts several
such tiles side by side along m, n and k; waves share the result.  What is left to choose is

    how a dimension counts   the instructions of a wave one after the other, or dealt out, so that a lane owns
                             neighbours (`runs`); the waves outside the unrolling or inside (`waves_inside`)
    how memory is ordered    which parts are outermost in the packed tile (`order`)

Nothing else about a layout is written here: the parts come from the instruction's maps.  Sources: IREE's
TileSwizzle and data-tiled layouts, hip-matmul's kernels, Composable Kernel's warp tiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from imbrex.cached import cached_property
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.index.map import Dim, Layer, Map, layer_over
from imbrex.index.rule import Broadcast, Merge, PassThrough, Rule
from imbrex.view.mma import BITS, Instruction, Operand
from imbrex.view.swizzle.part import KINDS, Digit, Part, held_parts, refined
from imbrex.view.swizzle.swizzle import Swizzle

__all__ = ["INTERLEAVED", "LANES_TOGETHER", "NOT_INTERLEAVED", "OPERAND_DIMS", "TileKernel"]

DIMS: Final = ("m", "n", "k")
OPERAND_DIMS: Final[Mapping[Operand, tuple[str, str]]] = {"a": ("m", "k"), "b": ("n", "k"), "c": ("m", "n")}
"""Rows and columns of each tile; B's is held as [n, k]."""

INTERLEAVED: Final = ("wave", "unroll_m", "unroll_n", "outer", "lane", "unroll_k", "outer_k", "element")
"""All of a lane's k lies side by side: one load for several instructions, as in the seeds' kernels."""

NOT_INTERLEAVED: Final = ("wave", "unroll", "outer", "lane", "element")
"""The packed tiles of single instructions, one after the other."""

LANES_TOGETHER: Final = ("wave", "unroll_m", "unroll_n", "lane", "unroll_k", "outer", "element")
"""All that a lane holds of an instruction side by side, where its registers jump along a dimension, too."""


@dataclass(frozen=True)
class TileKernel:
    """unroll, waves: instructions of a wave and waves of a workgroup, along (m, n, k).

    runs: how many neighbours along m, n and k one lane owns, of C along m and n, of A and B along k; None
    where instructions follow each other.  A run takes the registers of an instruction, then one instruction
    after the other.  Renumbering k is free, as A and B are renumbered alike.
    waves_inside: neighbouring instruction tiles along m, n or k belong to different waves.
    order: kinds of parts, outermost in memory first.  `unroll_k` is the unrolling of k alone, `unroll` of all
    dimensions that are not named.  Lanes and registers keep their own order among themselves.
    """

    instruction: Instruction
    unroll: tuple[int, int, int] = (1, 1, 1)
    waves: tuple[int, int, int] = (1, 1, 1)
    order: tuple[str, ...] = INTERLEAVED
    runs: tuple[int | None, int | None, int | None] = (None, None, None)
    waves_inside: bool = False

    def __post_init__(self) -> None:
        for name, counts in (("unroll", self.unroll), ("waves", self.waves)):
            if len(counts) != 3 or min(counts) < 1:
                raise Diagnostic(f"'{name}' takes three positive numbers, along m, n and k, got {counts}")
        if len(self.runs) != 3 or any(run is not None and run < 1 for run in self.runs):
            raise Diagnostic(f"'runs' takes a positive number or None along m, n and k, got {self.runs}")
        _check_order(self.order)
        if any(self.runs):
            self.swizzle("a")  # of all operands: a run that does not fit is refused here

    @property
    def tile(self) -> tuple[int, int, int]:
        """The workgroup's tile along (m, n, k), of each block of the instruction."""
        i = self.instruction
        m, n, k = (
            own * unroll * waves
            for own, unroll, waves in zip((i.m, i.n, i.k), self.unroll, self.waves, strict=True)
        )
        return m, n, k

    @property
    def workitems(self) -> int:
        return self.instruction.wave * prod(self.waves)

    def bits(self, operand: Operand) -> int:
        """Bits of an element in memory."""
        return BITS[self.instruction.element(operand)]

    def load_bytes(self, operand: Operand) -> float:
        """Bytes that a lane has side by side in the packed tile: as much as one load or several can take."""
        return self.swizzle(operand).lane_run * self.bits(operand) / 8

    def registers(self, operand: Operand) -> int:
        """32-bit registers of a lane for the wave's part of an operand; of A and B, for one step of k."""
        row, column = (self.unroll[DIMS.index(d)] for d in OPERAND_DIMS[operand])
        held = dict(self.instruction.map(operand).upper)["register"]
        return -(-row * column * held * self.instruction.register_bits(operand) // 32)

    def swizzle(self, operand: Operand) -> Swizzle:
        """How the tile of an operand is packed; blocks of the instruction are an outermost dimension."""
        return self._swizzles[operand]

    @cached_property
    def _swizzles(self) -> Mapping[Operand, Swizzle]:
        return {operand: self._swizzle(operand) for operand in OPERAND_DIMS}

    def _swizzle(self, operand: Operand) -> Swizzle:
        has_blocks = self.instruction.blocks > 1
        dims = (*(("block",) if has_blocks else ()), *OPERAND_DIMS[operand])
        groups = tuple(self._group(operand, dim) for dim in dims)
        parts = [part for group in groups for part in group]
        positions = {token: position for position, token in enumerate(self.order)}

        def memory(i: int) -> tuple[int, int, int]:
            part = parts[i]
            named = f"{part.kind}_{part.dim}"
            return positions.get(named, positions.get(part.kind, 0)), -part.stride, i

        return Swizzle(groups, tuple(sorted(range(len(parts)), key=memory)))

    def fragment(self, operand: Operand) -> Map:
        """What the waves hold: (wave, unroll of rows, unroll of columns, lane, register) -> packed tile.

        wave counts (m, n, k), the last fastest.  Waves that differ in a dimension that the operand lacks
        hold the same.
        """
        swizzle, held = self.swizzle(operand), self.instruction.map(operand)
        rows_columns = OPERAND_DIMS[operand]
        outside = [*(f"wave_{d}" for d in rows_columns), *(f"unroll_{d}" for d in rows_columns)]
        sizes = {f"wave_{d}": s for d, s in zip(DIMS, self.waves, strict=True)}
        sizes |= {f"unroll_{d}": s for d, s in zip(DIMS, self.unroll, strict=True)}
        dims = [Dim(name, sizes[name]) for name in outside]
        inside = held.with_leading(dims)
        waves = self._wave_layers(inside.upper, rows_columns, sizes)
        return Map((*waves, *inside.layers, _packing(swizzle, dims, held.lower)))

    def _wave_layers(
        self, below: Sequence[Dim], own: tuple[str, str], sizes: Mapping[str, int]
    ) -> tuple[Layer, Layer]:
        """The number of the wave to its places along m, n and k, of which the operand has two."""
        (missing,) = [f"wave_{d}" for d in DIMS if d not in own]
        rest = [d.name for d in below if not d.name.startswith("wave_")]
        passed = [(PassThrough(), d.name, d.name) for d in below]
        spread = layer_over(
            below, *passed, (Broadcast(), missing, ""),
            order=[*(f"wave_{d}" for d in DIMS), *rest], **{missing: sizes[missing]},
        )  # fmt: skip
        gathered = (Merge(), "wave", " ".join(f"wave_{d}" for d in DIMS))
        kept = [(PassThrough(), name, name) for name in rest]
        return layer_over(spread.upper, gathered, *kept), spread

    def _group(self, operand: Operand, dim: str) -> tuple[Part, ...]:
        """The parts of one dimension of an operand's tile; one of size 1 where there is nothing to count."""
        held = self._held(operand, dim)
        found: list[Part] = []
        for digit in self._digits(dim):
            if digit.origin != "instruction":
                found.append(Part(dim, digit.origin, digit))
                continue
            parts = refined(digit, held)
            if parts is None:
                raise Diagnostic(
                    f"this run along {dim} cuts what a lane of {self.instruction.name} holds of {operand}",
                    hint=f"leave the run along {dim} out",
                )
            found += parts
        return tuple(p for p in found if p.size > 1) or (Part(dim, "element", Digit("instruction", 1)),)

    def _digits(self, dim: str) -> tuple[Digit, ...]:
        """How a dimension counts, outermost first."""
        if dim == "block":
            return (Digit("instruction", self.instruction.blocks),)
        unroll, waves = (counts[DIMS.index(dim)] for counts in (self.unroll, self.waves))
        wave = Digit("wave", waves)
        own = (self.instruction.m, self.instruction.n, self.instruction.k)[DIMS.index(dim)]
        outside, inside = (Digit("unroll", unroll),), (Digit("instruction", own),)
        if (run := self.runs[DIMS.index(dim)]) is not None:
            outside, inside = self._run(dim, unroll, run)
        return (*outside, wave, *inside) if self.waves_inside else (wave, *outside, *inside)

    def _run(self, dim: str, unroll: int, run: int) -> tuple[tuple[Digit, ...], tuple[Digit, ...]]:
        """The digits outside a lane's run of neighbours, and those from the lane on."""
        parts = self._held("a" if dim == "k" else "c", dim)
        lanes = [p.digit for p in parts if p.kind == "lane"]
        owned = [Digit("unroll", unroll), *(p.digit for p in parts if p.kind != "lane")]
        inside: list[Digit] = []
        left = run
        while owned and left > 1:
            digit = owned.pop()
            taken = min(left, digit.size)
            if left % taken or digit.size % taken:
                break
            inside.insert(0, digit._replace(size=taken))
            if taken < digit.size:
                owned.append(digit._replace(size=digit.size // taken, step=digit.step * taken))
            left //= taken
        if left != 1:
            own = prod(p.size for p in parts if p.kind != "lane")
            raise Diagnostic(
                f"a run of {run} along {dim} does not fit {unroll} instructions of {own} a lane",
                hint=f"a run is made of factors of {own}, and then of {unroll}",
            )
        return tuple(owned), (*lanes, *inside)

    def _held(self, operand: Operand, dim: str) -> tuple[Part, ...]:
        parts = held_parts(self.instruction.map(operand), dim)
        assert parts is not None, f"{self.instruction.name} does not count '{dim}' of {operand} in digits"
        return parts


def _check_order(order: Sequence[str]) -> None:
    """Every kind of part has its place, for every dimension."""
    known = [*KINDS, *(f"{kind}_{dim}" for kind in KINDS for dim in (*DIMS, "block"))]
    for token in order:
        if token not in known:
            kinds = f"known: {', '.join(KINDS)}, and these of one dimension: unroll_k"
            hint = did_you_mean(token, known) or kinds
            raise Diagnostic(f"unknown part '{token}' in the order of a tile", hint=hint)
        if order.count(token) > 1:
            raise Diagnostic(f"'{token}' stands twice in the order of a tile")
    for kind in KINDS:
        dims = DIMS if kind in ("wave", "unroll") else (*DIMS, "block")
        missing = [dim for dim in dims if kind not in order and f"{kind}_{dim}" not in order]
        if missing:
            raise Diagnostic(f"the order of a tile lacks '{kind}_{missing[0]}'", hint=f"add it, or '{kind}'")


def _packing(swizzle: Swizzle, outside: Sequence[Dim], inside: Sequence[Dim]) -> Layer:
    """The counters of a tile to its packed parts: wave_m, unroll_m, ... and the instruction's own dims."""
    named = dict(zip(swizzle.names, swizzle.parts, strict=True))
    entries: list[tuple[Rule, str, str]] = []
    sizes: dict[str, int] = {}
    for dim in (*outside, *inside):
        own = [n for n, p in named.items() if _counter(p) == dim.name]
        own.sort(key=lambda name: -named[name].digit.step)
        if own:
            entries.append((PassThrough() if len(own) == 1 else Merge(), dim.name, " ".join(own)))
        else:
            assert dim.size == 1, f"{dim} is held by no part of {swizzle}"
            entries.append((Broadcast(), dim.name, ""))
            sizes[dim.name] = 1
    order = [d.name for d in (*outside, *inside)]
    return layer_over(swizzle.packed_dims, *entries, order=order, **sizes)


def _counter(part: Part) -> str:
    """The name of what counts a part."""
    return part.dim if part.digit.origin == "instruction" else f"{part.digit.origin}_{part.dim}"
