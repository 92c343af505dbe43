"""replace: a model's convolutions and linear layers computed by kernels of ours, where these are faster.

    the example runs    which layers it reaches, with tensors of which shapes
    layers are swapped  and fused with what follows them, as their containers' graphs have it
    kernels             of all of them, compiled side by side, or tuned
    times               of each layer with what follows it, beside torch's; then of the whole model, with all
                        layers swapped and with the faster ones, contiguous and channels_last, and as it was;
                        of one in training mode with its gradients
    the example runs    again, and has to give what it gave

Law: parameters, buffers, keys and hooks stay; a layer of which anything is not known to be the same is left
as it is, with the reason.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace as changed
from importlib import import_module
from typing import Any, NamedTuple

from imbrex.argument import truth, whole
from imbrex.diagnostic import Diagnostic
from imbrex.function.batches import Batches, expect_batches
from imbrex.kernel.tuned import Effort, expect_effort
from imbrex.kernel.warm import CompileJob, warmed
from imbrex.torch.candidate import Candidate, Met, candidates, differentiated, expect_same, met, tensors_of
from imbrex.torch.example import drawn, repeatable
from imbrex.torch.fallback import collected
from imbrex.torch.form import Form, channels_last, chosen, contiguous, fastest, may_lie_last
from imbrex.torch.fusion import Chain, Fused, chains, fused_class
from imbrex.torch.layer import LAYERS, Layer, Swapped
from imbrex.torch.opened import Opened
from imbrex.torch.report import Replaced, Row
from imbrex.torch.trial import Trial, ask_for_kernels, timed
from imbrex.tuner.interface import tune as tuned

__all__ = ["replace", "restore"]

torch: Any = import_module("torch")


def replace(
    model: Any,
    example: Any,
    *,
    fallback: bool = True,
    batches: Batches = "any",
    tune: Effort | None = None,
    jobs: int | None = None,
    measure: bool = True,
    channels_last: bool | None = None,
    cuda_graph: bool = False,
) -> Replaced:
    """Swaps layers of a model, in place, for kernels; says which, and of the others why not.

    example: the model's input, a tensor, a tuple of arguments or a dict of named ones; shapes of later inputs
    are compiled when they are first met, in the background with `fallback`.  batches: "any" has kernels of
    the example's numbers of images and rows, and one of all other numbers, "each" one of each.  A model in
    training mode gets kernels of its gradients, too.  tune: with which effort kernels are tuned first.  jobs:
    processes that compile.  measure: keep torch's own layers where these are faster.  channels_last: how
    filters of convolutions are to lie, and with them all images between; None for what is measured to be
    faster, where the example's results lie as before.  cuda_graph: the model will be captured into a CUDA
    graph, so that times are those of replays, without the host's part.
    """
    _expect_model(model)
    is_training: bool = model.training
    wishes = _Wishes(fallback, batches, tune, jobs, measure, channels_last, cuda_graph)
    _expect_wishes(wishes, is_training)
    if cuda_graph:
        _expect_graph(model)
    with _evaluated(model):
        found = candidates(model)
        wanted, seen = met(model, example, [one for one in found if one.reason is None], is_training)
        known = [_reached(one, seen) for one in found]
        try:
            with drawn():
                report = _replaced(model, example, known, is_training, wishes)
            if report.swapped:
                expect_same(model, example, wanted)
                report = report if is_training else _without_passed_by(model, known, report, wishes)
        except BaseException:
            restore(model)
            raise
    return report


def _without_passed_by(model: Any, found: Sequence[Candidate], report: Replaced, wishes: _Wishes) -> Replaced:
    """The report where layers that the example's last run has not called are left: torch computes a whole
    encoder of a transformer at once where nothing watches it.
    """
    swapped = [row.reason is None for row in report.rows]
    is_met = [bool(getattr(one.module, "imbrex_swapped", Swapped(True)).shapes) for one in found]
    if all(met_ or not was for met_, was in zip(is_met, swapped, strict=True)):
        return report
    rows = tuple(
        row.left("torch computes it with what holds it, at once") if was and not met_ else row
        for row, met_, was in zip(report.rows, is_met, swapped, strict=True)
    )
    _take(model, found, Form(rows, report.is_last), wishes)
    return changed(report, rows=rows)


def restore(model: Any) -> None:
    """Gives a model its own layers back, in place."""
    _expect_model(model)
    for module in model.modules():
        if isinstance(module, Fused):
            module.__class__ = _own_class(type(module), fused_class(module.imbrex_of), module.imbrex_of)
            for name in ("imbrex_chains", "_imbrex_program"):
                module.__dict__.pop(name, None)
        if isinstance(module, Layer):
            theirs = next(theirs for theirs in LAYERS if isinstance(module, theirs))
            module.__class__ = _own_class(type(module), LAYERS[theirs], theirs)
            del module.__dict__["imbrex_swapped"]
        contiguous(module)


def _own_class(now: Any, ours: Any, theirs: Any) -> Any:
    """The class that a module had; of one that was parametrised since, which torch does by a subclass, a
    subclass of it.
    """
    if now is ours:
        return theirs
    bases = tuple(theirs if base is ours else base for base in now.__bases__)
    own: Any = dict(now.__dict__)
    for slot in ("__dict__", "__weakref__"):
        own.pop(slot, None)
    return type(now.__name__, bases, own)


def _expect_model(model: Any) -> None:
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"'model' should be a torch.nn.Module, got {type(model).__name__}")


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
    reason = None if seen[one.name] else "the example calls it with no dense tensor of torch's own"
    return changed(one, reason=reason, met=seen[one.name])


class _Wishes(NamedTuple):
    """What the caller says, as `replace` has it."""

    fallback: bool
    batches: Batches
    tune: Effort | None
    jobs: int | None
    measure: bool
    channels_last: bool | None
    cuda_graph: bool


def _expect_wishes(wishes: _Wishes, is_training: bool) -> None:
    """TypeError and ValueError where they are not what they should be."""
    expect_batches(wishes.batches)
    for name in ("fallback", "measure", "cuda_graph"):
        truth(name, getattr(wishes, name))
    if wishes.channels_last is not None and truth("channels_last", wishes.channels_last) and is_training:
        raise ValueError("'channels_last' is of a model in eval mode; 'model.to' has a memory_format, too")
    expect_effort(wishes.tune)
    if wishes.jobs is not None:
        whole("jobs", wishes.jobs, 1)


def _expect_graph(model: Any) -> None:
    """A ValueError where replays of a CUDA graph would not be what is timed."""
    if model.training:
        raise ValueError("'cuda_graph' is of a model in eval mode; one in training mode is timed without")
    kinds = {parameter.device.type for parameter in model.parameters()} - {"cuda"}
    if kinds:
        raise ValueError(f"'cuda_graph' is of a model on a GPU, and parameters are on '{min(kinds)}'")


def _replaced(
    model: Any, example: Any, found: Sequence[Candidate], is_training: bool, wishes: _Wishes
) -> Replaced:
    """The model in its fastest form; where nothing is measured, in the one that is asked for."""
    is_tried = wishes.channels_last or (wishes.channels_last is None and wishes.measure and not is_training)
    lasts = _forms_last(model, example, found, wishes) if is_tried else []
    if wishes.channels_last and not lasts:
        message = "the model does not run with filters that lie channels_last, or has none that may be moved"
        raise Diagnostic(message, hint="leave 'channels_last' out")
    forms = (
        lasts
        if lasts and wishes.channels_last
        else [*_forms(model, found, False, is_training, wishes), *lasts]
    )

    def take(form: Form) -> None:
        _take(model, found, form, wishes)

    if not wishes.measure or not any(form.swaps for form in forms):
        take(forms[0])
        return Replaced(forms[0].rows, forms[0].is_last)
    own = Form(tuple(row.left("torch's own model is faster") for row in forms[0].rows))
    forms = list(dict.fromkeys([own, *forms]))
    device = next(one.module.weight.device for one in found if one.reason is None)
    run = differentiated if is_training else tensors_of
    is_graph = wishes.cuda_graph and not is_training
    with repeatable(example):
        times = fastest(forms, take, lambda: run(model, example), device, is_graph)
    best = chosen(times)
    take(forms[best])
    return Replaced(forms[best].rows, forms[best].is_last, times[best] if best else min(times[1:]), times[0])


def _forms_last(model: Any, example: Any, found: Sequence[Candidate], wishes: _Wishes) -> list[Form]:
    """Forms whose filters lie channels_last; none where something would be different outside."""
    usable = [one for one in found if one.reason is None]
    if not may_lie_last(usable):
        return []
    before, _ = met(model, example, (), False)
    channels_last(usable)
    try:
        results, seen = met(model, example, usable, False)
    except ValueError:  # the model calls for how memory lies, as of a view
        return []
    finally:
        restore(model)
    is_alike = [one.stride() for one in before] == [one.stride() for one in results]
    if not is_alike and not wishes.channels_last:
        return []
    return _forms(model, [_reached(one, seen) for one in found], True, False, wishes)


def _forms(
    model: Any, found: Sequence[Candidate], is_last: bool, is_training: bool, wishes: _Wishes
) -> list[Form]:
    """Two forms: the layers that are faster by themselves, and all; the model has its own again.

    is_last: how filters lie.
    """
    usable = [one for one in found if one.reason is None]
    if is_last:
        channels_last(usable)
    for one in usable:
        _swap(one.module, Swapped(True, wishes.batches))
    try:
        fused = {} if is_training else _chains(model, usable)
        trials = {one.name: Trial(one, fused.get(one.name, Chain(one.name)), is_training) for one in usable}
        compile_jobs, errors = _compiled(list(trials.values()), wishes.tune, wishes.jobs)
        good = [trial for name, trial in trials.items() if name not in errors]
        times = timed(good, wishes.cuda_graph) if wishes.measure else {}
    finally:
        restore(model)
    rows: list[Row] = []
    for one in found:
        fused_with = trials[one.name].text if one.name in trials else ""
        reason = one.reason or errors.get(one.name)
        rows.append(Row(one.name, one.kind, reason, *times.get(one.name, (None, None)), fused_with))
    faster = tuple(row if row.slower is None else row.left(row.slower) for row in rows)
    return [Form(of, is_last, compile_jobs) for of in (faster, *([tuple(rows)] if wishes.measure else []))]


def _take(model: Any, found: Sequence[Candidate], form: Form, wishes: _Wishes) -> None:
    """Gives the model this form."""
    restore(model)
    if form.is_last:
        channels_last([one for one in found if one.reason is None])
    waits = not wishes.fallback and wishes.batches == "any"
    opened = Opened(form.compile_jobs, wishes.jobs) if waits else None
    for one, row in zip(found, form.rows, strict=True):
        if row.reason is None:
            _swap(one.module, Swapped(wishes.fallback, wishes.batches, opened=opened))
    _fuse(model)


def _swap(module: Any, swapped: Swapped) -> None:
    module.imbrex_swapped = swapped
    module.__class__ = LAYERS[type(module)]


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


def _compiled(
    trials: list[Trial], tune: Effort | None, jobs: int | None
) -> tuple[tuple[CompileJob, ...], dict[str, str]]:
    """Kernels of all trials, which are built; of those that have none the reason, by the layer's name."""
    wanted: dict[str, list[CompileJob]] = {}
    errors: dict[str, str] = {}
    for trial in trials:
        with collected() as compile_jobs:
            try:
                ask_for_kernels(trial)
            except (Diagnostic, TypeError, ValueError) as error:
                errors[trial.candidate.name] = str(error).partition("\n")[0]
        wanted[trial.candidate.name] = compile_jobs
    every = [job for compile_jobs in wanted.values() for job in compile_jobs]
    failed = {one.problem: one.error for one in warmed(every, jobs) if one.error is not None}
    if tune is not None:
        good = [job for job in dict.fromkeys(every) if job.problem not in failed]
        for job in good:
            tuned(job.problem, job.target, threads=job.threads, effort=tune, jobs=jobs)
        failed |= {one.problem: one.error for one in warmed(good, jobs) if one.error is not None}
    for name, compile_jobs in wanted.items():
        for job in compile_jobs:
            if job.problem in failed:
                errors.setdefault(name, f"no kernel: {failed[job.problem]}")
    return tuple(job for job in every if job.problem not in failed), errors
