"""What is accepted counts: changing an attribute changes what becomes of its operation, or is refused.

Every key of every operation that a lowered problem has, at every level, in every pipeline.  What nothing
reads is listed, and docs/dialect.md says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.pairs import one_in
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from imbrex.config import tiles
from imbrex.config import tuning as tunings
from imbrex.config.block_plan import entries, made
from imbrex.config.block_plan import keys_of as keys_of_kind
from imbrex.diagnostic import Diagnostic
from imbrex.ir.attrs import Bool, Float, Int, Ints, Keyword, Names, Offset, Padding, Sizes
from imbrex.ir.chosen import Phased, Scheduled, Tuned
from imbrex.ir.dialect import context, load
from imbrex.ir.ops.form import MiopenOp
from imbrex.ir.ops.slot import keys_of
from imbrex.ir.planned import Spread
from imbrex.ir.printed import print_module
from imbrex.ir.source import PassFault
from imbrex.lower.build import program
from imbrex.problem import Gemm
from imbrex.view.conv.phase_box import PhaseBox, Phases

from .levels import Case

DOCUMENTED = {
    *(
        f"miopen.gridwise_gemm.{role}_{what}"
        for role in ("filter", "input", "output")
        for what in ("dimension", "layout")
    ),
    *(f"miopen.gridwise_gemm.{key}" for key in ("dilations", "strides", "padding", "kernel_algorithm")),
    "miopen.gridwise_gemm_ex.kernel_algorithm",
    "miopen.transform.gridwise_gemm_argument_position",
    "miopen.transform.source_layout",
    "miopen.transform.output_layout",
    "miopen.transform.intermediate_layout",
}
"""Notes for readers: where an operation came from, names."""
NOTES = {
    "general": {
        "miopen.gridwise_gemm.diagonal",  # what may be left out, where a tuning can
        "miopen.gridwise_gemm.tuning",  # the passes of these cases have one of their own
    },
}
"""The same of one pipeline."""
AT_MOST = {"miopen.threadwise_copy.vector"}
"""A bound: an access is narrower where memory or registers ask for it."""
WORDS = {
    "pipeline": ("naive", "2x2"),
    "store_method": ("atomic_add", "set"),
    "stationary": ("a", "b"),
    "lds_layout": ("plain", "padded"),
    "copy": ("direct", "staged"),
    "instruction": ("mfma_f32_16x16x16_f16", "mfma_f32_32x32x8_f16"),
    "kernel_algorithm": ("gemm", "v4r4"),
    "data_tiled": ("nonsense",),
    "turned": ("a", "ab"),
}
CASES = {
    "general": Case(Gemm(32, 32, 12, alpha=2.0), "v1:general:64,32,32,4,2,2"),
    "cpu": Case(Gemm(8, 32, 12), "v1:cpu:4,16,4,16,12,16,k_blocked,a,straight"),
    "xdlops": Case(Gemm(64, 64, 32, dtype="f16"), "v1:xdlops:64,64,4,32,32,8,mfma_f32_32x32x8_f16"),
    "warpgroup": Case(
        Gemm(64, 64, 64, dtype="f16"), "v1:warpgroup:64,64,32,4,1,1,1,cooperative,straight,1", gpu="sm_90a"
    ),
}


def others(kind: type[Attribute], key: str, have: Attribute | None) -> list[Attribute]:
    """Other values of an attribute."""
    data: Any = getattr(have, "data", None)
    found: list[Any]
    if kind is Int:
        found = [1, 2, 3] if have is None else [data + 1, 2 * data or 2]
    elif kind is Bool:
        found = [not data]
    elif kind is Float:
        found = [3.0]
    elif kind is Keyword:
        found = [word for word in WORDS.get(key, ("nonsense",)) if word != data]
    elif kind in (Ints, Sizes):
        found = [(2, 1), (1, 1)] if not data else [(data[0] + 1, *data[1:])]
    elif kind is Offset:
        found = [1]
    elif kind is Names:
        found = [tuple(reversed(data or ("a", "b")))]
    elif kind is Tuned:
        found = [tunings.parse("v1:general:64,64,64,4,4,4")] if have is None else other_tunings(data)
    elif kind is Scheduled:
        orders = ("wgm=2", "along=n", "xcd=2", "runtime")
        texts = ("stream_k:3", "split_k:2", *(f"data_parallel/{order}" for order in orders))
        found = [tiles.parse(text) for text in texts]
    elif kind is Phased:
        found = [Phases((0, 1), PhaseBox(1, 1, 2), (1,))]
    elif kind is Padding:
        found = [((1, 1), (0, 0))]
    else:
        found = []
    return [kind(value) for value in found]  # type: ignore[call-arg]


def other_tunings(tuning: tunings.Tuning) -> list[tunings.Tuning]:
    """One for each field, which alone is another."""
    given = tunings.values(tuning)
    changed = {k: not v if isinstance(v, bool) else v + 1 for k, v in given.items() if not isinstance(v, str)}
    return [replace(tuning, **{key: value}) for key, value in changed.items()]


def other_entries(given: Spread[Any]) -> dict[str, tuple[bool, list[Attribute]]]:
    """The same with another value of one entry, by its key: is it given, and others."""
    value, found = given.data, dict[str, tuple[bool, list[Attribute]]]()
    said = entries(value)
    for name, key in keys_of_kind(type(value)).items():
        have = key.of(value)
        spelt: Attribute = attribute_of(have)
        data = [other.data for other in others(type(spelt), name, spelt)]  # type: ignore[attr-defined]
        made_of = [made(type(value), value.pipeline, said | {name: new}) for new in data]
        found[name] = name in said, [type(given).new(new) for new in made_of]
    return found


def attribute_of(value: Any) -> Attribute:
    """The attribute that stands for an entry."""
    match value:
        case int():
            return Int(value)
        case str():
            return Keyword(value)
        case tuple():
            return Ints(value)
        case None:
            return Int(1)
        case _:
            return Tuned(value)


def swept(case: Case, level: str) -> Iterator[tuple[str, bool, list[str]]]:
    """Each key of each kind of operation of a level, whether it is given, and what comes of other values."""
    names = ["problem", *(step.name for step in case.passes())]
    module = load(print_module(case.lowered(level))).module
    rest = case.passes()[names.index(level) :]
    plain = lowered(module.clone(), rest)
    for name, place in first_of_each(module).items():
        op = at(module, place)
        assert isinstance(op, MiopenOp)
        for key, kind in keys_of(type(op)).items():
            given = op.properties.get(key)
            if isinstance(given, Spread):
                found = other_entries(given)
            else:
                found = {key: (given is not None, others(kind, key, given))}
            for part, (is_given, values) in found.items():
                told = [outcome(module.clone(), rest, place, key, value, plain) for value in values]
                yield f"{name}.{part}", is_given, told


def first_of_each(module: ModuleOp) -> dict[str, int]:
    """The first operation of each kind."""
    found: dict[str, int] = {}
    for place, op in enumerate(module.walk()):
        if op.name.startswith("miopen."):
            found.setdefault(op.name, place)
    return found


def at(module: ModuleOp, place: int) -> Operation:
    return list(module.walk())[place]


def outcome(
    module: ModuleOp, rest: list[ModulePass], place: int, key: str, value: Attribute, plain: str
) -> str:
    at(module, place).properties[key] = value
    try:
        module.verify()
        made = lowered(module, rest)
    except PassFault as fault:
        return f"broken with {value}: {fault}"
    except (Diagnostic, DiagnosticException) as error:
        assert str(error), "a reason"
        return "refused"
    return "changed" if made != plain else f"unchanged by {value}"


def lowered(module: ModuleOp, rest: list[ModulePass]) -> str:
    """The work items' operations in the end, or, of those, the statements that are made of them."""
    for step in rest:
        step.apply(context(), module)
    if rest:
        for op in module.walk():
            op.properties.pop("gridwise_gemm_argument_position", None)
        return print_module(module)
    try:
        return repr(program(module, frozenset({2})))
    except AssertionError:
        return "no program"


ALL = ("problem", "unfold", "affix-tuning", "gridwise-to-blockwise", "blockwise-to-threadwise")
SWEEPS = [
    *(("general", level) for level in ALL),
    *(("cpu", level) for level in ("affix-tuning", "gridwise-to-blockwise")),
    *(("xdlops", level) for level in ("affix-tuning", "gridwise-to-blockwise")),
    *(("warpgroup", level) for level in ("affix-tuning", "gridwise-to-blockwise")),
]


@pytest.mark.parametrize(("name", "level"), one_in(2, SWEEPS))
def test_what_is_accepted_counts(name: str, level: str) -> None:
    ignored: list[str] = []
    for key, is_given, told in swept(CASES[name], level):
        assert not [said for said in told if said.startswith("broken")], (key, told)
        counts = [not said.startswith("unchanged") for said in told]
        is_read = all(counts) if is_given and key not in AT_MOST else any(counts)
        if told and not is_read and key not in DOCUMENTED | NOTES.get(name, set()):
            ignored.append(f"{key}: {told}")
    assert not ignored, "\n".join(ignored)
