"""replace: a model's convolutions and linear layers computed by kernels of ours, where these are faster.

    the example runs    which layers it reaches, with tensors of which shapes
    layers are swapped  and fused with what follows them, as their containers' graphs have it
    kernels             of all of them, compiled side by side, or tuned
    times               of each layer with what follows it, beside torch's; the slower ones are given back
    the example runs    again, and has to give what it gave

Law: parameters, buffers, keys and hooks stay; a layer of which anything is not known to be the same is left
as it is, with the reason.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace as changed
from importlib import import_module
from typing import Any, Literal, TypeAlias

from imbrex.diagnostic import Diagnostic
from imbrex.kernel.warm import CompileJob, warmed
from imbrex.torch.candidate import Candidate, Met, candidates, expect_same, met
from imbrex.torch.fallback import collected
from imbrex.torch.fusion import Chain, Fused, chains, fused_class
from imbrex.torch.layer import LAYERS, Layer, Swapped
from imbrex.torch.report import Replaced, Row
from imbrex.torch.trial import Trial, orders_of, timed
from imbrex.tuner.interface import tune as tuned

__all__ = ["replace", "restore"]

torch: Any = import_module("torch")

Effort: TypeAlias = Literal["quick", "normal", "full"]


def replace(
    model: Any,
    example: Any,
    *,
    fallback: bool = True,
    tune: Effort | None = None,
    jobs: int | None = None,
    measure: bool = True,
) -> Replaced:
    """Swaps layers of a model, in place, for kernels; says which, and of the others why not.

    example: the model's input, a tensor, a tuple of arguments or a dict of named ones; shapes of later inputs
    are compiled when they are first met, in the background with `fallback`.  A model in training mode gets
    kernels of its gradients, too.  tune: with which effort kernels are tuned first.  jobs: processes that
    compile.  measure: keep torch's own layer where it is faster.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"'model' should be a torch.nn.Module, got {type(model).__name__}")
    is_training: bool = model.training
    with _evaluated(model):
        found = candidates(model)
        wanted, seen = met(model, example, [one for one in found if one.reason is None], is_training)
        chosen = [_reached(one, seen) for one in found]
        rows = _swapped(model, chosen, is_training, (fallback, measure), tune, jobs)
        report = Replaced(tuple(rows))
        try:
            if report.swapped:
                expect_same(model, example, wanted)
        except BaseException:
            restore(model)
            raise
    return report


def restore(model: Any) -> None:
    """Gives a model its own layers back, in place."""
    for module in model.modules():
        if isinstance(module, Fused):
            module.__class__ = module.imbrex_of
            for name in ("imbrex_chains", "_imbrex_program"):
                module.__dict__.pop(name, None)
        if isinstance(module, Layer):
            module.__class__ = next(theirs for theirs in LAYERS if isinstance(module, theirs))
            del module.__dict__["imbrex_swapped"]


@contextmanager
def _evaluated(model: Any) -> Generator[None]:
    """Set eval mode in the block, so that no statistics change; each module gets its own mode back."""
    modes = [(module, module.training) for module in model.modules()]
    for module, _ in modes:
        module.training = False
    try:
        yield
    finally:
        for module, is_training in modes:
            module.training = is_training


def _reached(one: Candidate, seen: Mapping[str, tuple[Met, ...]]) -> Candidate:
    """A candidate with what it met; one that the example does not reach stays."""
    if one.reason is not None:
        return one
    if one.name not in seen:
        return changed(one, reason="the example does not reach it")
    return changed(one, met=seen[one.name])


def _swapped(
    model: Any,
    found: list[Candidate],
    is_training: bool,
    wishes: tuple[bool, bool],
    tune: Effort | None,
    jobs: int | None,
) -> list[Row]:
    """Swaps those that may be, and gives back the slower ones; a row each.  wishes: fallback, measure."""
    fallback, measure = wishes
    usable = [one for one in found if one.reason is None]
    for one in usable:
        one.module.imbrex_swapped = Swapped(True)
        one.module.__class__ = LAYERS[type(one.module)]
    try:
        fused = {} if is_training else _chains(model, usable)
        trials = [Trial(one, fused.get(one.name, Chain(one.name)), is_training) for one in usable]
        errors = _compiled(trials, tune, jobs)
        times = {} if not measure else timed([t for t in trials if t.candidate.name not in errors])
    except BaseException:
        restore(model)
        raise
    rows: list[Row] = []
    for one in found:
        row = Row(one.name, one.kind, one.reason, *times.get(one.name, (None, None)))
        if one.reason is None:
            trial = next(t for t in trials if t.candidate is one)
            row = changed(row, reason=errors.get(one.name) or row.slower, fused=trial.told)
            if row.reason is None:
                one.module.imbrex_swapped = Swapped(fallback)
            else:
                restore(one.module)
        rows.append(row)
    _fuse(model)
    return rows


def _chains(model: Any, usable: list[Candidate]) -> dict[str, Chain]:
    """The chain that begins with a layer, by the layer's name in the model."""
    names = {id(one.module): one.name for one in usable}
    found: dict[str, Chain] = {}
    for container in _containers(model):
        for chain in chains(container, _is_fusable):
            name = names.get(id(container.get_submodule(chain.layer)))
            if name is not None:
                found[name] = chain
    return found


def _fuse(model: Any) -> None:
    """Gives containers of swapped layers that are followed by anything the class that fuses them."""
    for container in _containers(model):
        found = tuple(chains(container, _is_fusable))
        if found:
            container.__class__ = fused_class(container.__class__)
            container.imbrex_chains = found


def _containers(model: Any) -> list[Any]:
    """Modules with children, whose forward is that of their class."""
    modules = [module for module in model.modules() if len(module._modules) and "forward" not in vars(module)]
    return [module for module in modules if not isinstance(module, Fused | torch.fx.GraphModule)]


def _is_fusable(module: Any) -> bool:
    return isinstance(module, Layer) and hasattr(module, "fused")


def _compiled(trials: list[Trial], tune: Effort | None, jobs: int | None) -> dict[str, str]:
    """Kernels of all trials are built; of those that have none the reason, by the layer's name."""
    wanted: dict[str, list[CompileJob]] = {}
    errors: dict[str, str] = {}
    for trial in trials:
        with collected() as orders:
            try:
                orders_of(trial)
            except (Diagnostic, TypeError, ValueError) as error:
                errors[trial.candidate.name] = str(error).partition("\n")[0]
        wanted[trial.candidate.name] = orders
    every = [order for orders in wanted.values() for order in orders]
    failed = {one.problem: one.error for one in warmed(every, jobs) if one.error is not None}
    if tune is not None:
        good = [order for order in dict.fromkeys(every) if order.problem not in failed]
        for order in good:
            tuned(order.problem, order.target, threads=order.threads, effort=tune, jobs=jobs)
        failed |= {one.problem: one.error for one in warmed(good, jobs) if one.error is not None}
    for name, orders in wanted.items():
        for order in orders:
            if order.problem in failed:
                errors.setdefault(name, f"no kernel: {failed[order.problem]}")
    return errors
