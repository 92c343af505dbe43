"""Ops that torch's dispatcher sees while a function runs: convolutions and products, forward and backward.

Law: what is captured is what runs: shapes, types, transposed operands and channels_last as they are met.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final, cast

from imbrex.capture.layer import Conv, product
from imbrex.capture.tally import Tally
from imbrex.diagnostic import Diagnostic
from imbrex.problem import Direction, Problem

__all__ = ["captured", "function_of"]

UNSUPPORTED: Final = (
    "scaled_dot_product", "scaled_mm", "int_mm", "lstm", "gru", "rnn", "quantized", "sparse", "cdist",
    "grid_sampler", "grouped_mm", "einsum", "multi_head_attention", "tensordot", "dot", "vdot",
    "transformer_encoder",
)  # fmt: skip
"""Parts of the names of ops that multiply, and that no problem states."""
MULTIPLYING: Final = re.compile(r"\w*(?:mm|mv|matmul|attention)|(?:tri|bi)?linear|conv(?!ert)\w*|convolution")
"""Words of the names of others."""
OWN: Final = ("aten", "prims", "prim", "profiler", "rngprims", "c10d", "_c10d_functional")
"""Namespaces of which all ops that multiply have such a name."""
FORWARD: Final = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
TRANSPOSED: Final = ("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation")


def function_of(file: Path, name: str) -> Callable[[], Any]:
    """The function of that name in a file of Python, which is executed; a Diagnostic where there is none."""
    if find_spec("torch") is None:
        raise Diagnostic("capturing a function needs PyTorch", hint="pip install 'imbrex[torch]'")
    spec = spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise Diagnostic(f"'{file}' is no file of Python")
    module = module_from_spec(spec)
    sys.path.insert(0, str(file.parent))
    _called(lambda: cast(Any, spec.loader).exec_module(module), str(file))
    found = getattr(module, name, None)
    if not callable(found):
        known = ", ".join(n for n, v in vars(module).items() if callable(v) and not n.startswith("_"))
        raise Diagnostic(f"'{file}' has no function '{name}'", hint=f"it has {known}" if known else None)
    _expect_no_model(found, f"'{name}' is a model, and what it is called with is not known")
    return found


def captured(function: Callable[[], Any], name: str, is_training: bool) -> Tally:
    """What the function computes; where it gives a model and its inputs, a tensor, a tuple or a dict of named
    ones, what a call of the model does.

    is_training: a call forward, and backward from the sum of the squares of what it gives.
    """
    torch: Any = import_module("torch")
    tally = Tally()
    with _mode(tally):
        given: Any = _called(function, name)
    if not tally.problems:
        _expect_no_model(given, f"'{name}' gives a model, and not what it is called with")
    if not _is_model(given):
        return tally
    model, inputs = cast("tuple[Any, Any]", given)
    several = isinstance(inputs, list | tuple)
    arguments: tuple[Any, ...] = tuple(cast("Sequence[Any]", inputs)) if several else (inputs,)
    named = cast("Mapping[str, Any]", inputs) if isinstance(inputs, Mapping) else None
    tally = Tally()
    quiet: AbstractContextManager[Any] = nullcontext() if is_training else torch.no_grad()
    with _mode(tally), quiet:
        out: Any = _called(lambda: model(*arguments) if named is None else model(**named), name)
        if is_training:
            _called(lambda: _sum(torch, out).backward(), name)
    return tally


def _expect_no_model(given: Any, message: str) -> None:
    torch: Any = import_module("torch")
    values = cast("tuple[Any, ...]", given) if isinstance(given, tuple) else (given,)
    if not _is_model(given) and any(isinstance(value, torch.nn.Module) for value in values):
        raise Diagnostic(message, hint="a function gives both, in this order: return model, inputs")


def _is_model(given: Any) -> bool:
    found = cast("tuple[Any, ...]", given) if isinstance(given, tuple) else ()
    return len(found) == 2 and callable(found[0])


def _called(function: Callable[[], Any], name: str) -> Any:
    try:
        return function()
    except Diagnostic:
        raise
    except Exception as error:
        message = f"'{name}' ended in {type(error).__name__}: {error}"
        raise Diagnostic(message, hint="--traceback shows where") from error


def _sum(torch: Any, out: Any) -> Any:
    """Sum of the squares of all that has a gradient, so that gradients lie as results do."""
    found = [t for t in torch.utils._pytree.tree_leaves(out) if torch.is_tensor(t) and t.requires_grad]
    if not found:
        raise Diagnostic("nothing that the model gives has a gradient")
    return sum(t.float().square().sum() for t in found)


def _mode(tally: Tally) -> Any:
    """The context in which ops are counted."""
    base: Any = import_module("torch.utils._python_dispatch").TorchDispatchMode

    class Counting(base):
        supports_higher_order_operators = True

        def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name, overloaded, _ = str(op).rpartition(".")
            if not overloaded:  # one of functions, such as `torch.cond`
                return self._controlled(str(op), op, *args, **(kwargs or {}))
            result = op(*args, **(kwargs or {}))
            _note(tally, name, list(args), dict(kwargs or {}), result)
            return result

        def _controlled(self, name: str, op: Any, *args: Any, **kwargs: Any) -> Any:
            flow = CONTROL.get(name)
            if flow is None:
                tally.leave(name, "the functions that it calls are not seen")
                return op(*args, **kwargs)
            with self:
                return flow(*args, **kwargs)

    return Counting()


def _cond(condition: Any, if_true: Any, if_false: Any, given: Sequence[Any] = ()) -> Any:
    return (if_true if condition else if_false)(*given)


def _while_loop(condition: Any, body: Any, carried: Sequence[Any], more: Sequence[Any] = ()) -> Any:
    while condition(*carried, *more):
        carried = body(*carried, *more)
    return tuple(carried)


CONTROL: Final[Mapping[str, Callable[..., Any]]] = {"cond": _cond, "while_loop": _while_loop}
"""Ops of functions, as what these compute: what runs is counted."""


def _note(tally: Tally, name: str, args: list[Any], keywords: dict[str, Any], result: Any) -> None:
    namespace, _, op = name.partition(".")
    reader = READERS.get(name.removesuffix("_"))
    if reader is not None:
        tally.add(name, lambda: reader(args, keywords, result))
    elif namespace == "imbrex":
        tally.leave(name, "a kernel of Imbrex; capture a model before 'replace', or after 'restore'")
    elif any(part in name for part in UNSUPPORTED) or any(map(MULTIPLYING.fullmatch, op.split("_"))):
        tally.leave(name, "no problem states it")
    elif namespace not in OWN:
        tally.leave(name, f"ops of '{namespace}' are not known")
    else:
        tally.pass_by(name)


def _convolution(args: list[Any], keywords: dict[str, Any], result: Any) -> list[Problem]:
    x, w, bias, stride, pad, dilation, is_transposed, _, groups = args
    after = None if bias is None else "x + bias"
    if not is_transposed:
        return [_conv(x, w, result, stride, pad, dilation, groups).problem("forward", after)]
    return [_conv(result, w, x, stride, pad, dilation, groups).problem("backward_data")]


def _functional(
    names: Sequence[str], is_transposed: bool, args: list[Any], keywords: dict[str, Any]
) -> list[Any]:
    """Arguments of `convolution`, from those of torch.nn.functional's, as inference mode shows them."""
    given: dict[str, Any] = {**dict(zip(names, args, strict=False)), **keywords}
    moves = [given.get(key, usual) for key, usual in (("stride", 1), ("padding", 0), ("dilation", 1))]
    fixed = (is_transposed, None, given.get("groups", 1))
    return [given["input"], given["weight"], given.get("bias"), *moves, *fixed]


def _conv_forward(args: list[Any], keywords: dict[str, Any], result: Any) -> list[Problem]:
    return _convolution(_functional(FORWARD, False, args, keywords), {}, result)


def _conv_transpose(args: list[Any], keywords: dict[str, Any], result: Any) -> list[Problem]:
    return _convolution(_functional(TRANSPOSED, True, args, keywords), {}, result)


def _convolution_backward(args: list[Any], keywords: dict[str, Any], result: Any) -> list[Problem]:
    dy, x, w, _, stride, pad, dilation, is_transposed, _, groups, mask = args
    images, results = (dy, x) if is_transposed else (x, dy)
    conv = _conv(images, w, results, stride, pad, dilation, groups)
    by_x: Direction = "forward" if is_transposed else "backward_data"
    wanted: tuple[Direction, Direction] = by_x, "backward_weight"
    return [conv.problem(direction) for direction, is_wanted in zip(wanted, mask, strict=False) if is_wanted]


def _conv(x: Any, w: Any, y: Any, stride: Any, pad: Any, dilation: Any, groups: int) -> Conv:
    """x: what a convolution with that stride reads; y: what it writes."""
    rank = x.dim() - 2
    pads = tuple((size, size) for size in _each(pad, rank))
    moves = tuple(_each(stride, rank)), pads, tuple(_each(dilation, rank)), groups
    is_last = (_is_last(x), _is_last(w), _is_last(y))
    return Conv(tuple(x.shape), tuple(w.shape), *moves, _type(x), is_last)


def _each(value: Any, rank: int) -> list[int]:
    if isinstance(value, str):
        raise Diagnostic(f"padding '{value}' is not known in numbers here")
    found = [value] if isinstance(value, int) else list(value)
    return found * rank if len(found) == 1 else found


def _is_last(tensor: Any) -> bool:
    """Does it lie as channels_last, and not as contiguous ones do, too?"""
    torch: Any = import_module("torch")
    if tensor.dim() != 4 or tensor.is_contiguous():
        return False
    return bool(tensor.is_contiguous(memory_format=torch.channels_last))


def _product(args: list[Any], keywords: dict[str, Any], result: Any) -> list[Problem]:
    return [_multiplied(args[0], args[1])]


def _added(args: list[Any], keywords: dict[str, Any], result: Any) -> list[Problem]:
    """added + a b, with factors."""
    added, a, b = args
    word, beta = "bias" if added.dim() == 1 else "residual", float(keywords.get("beta", 1))
    after = f"x + {word}" if beta == 1 else f"x + {word} * {beta!r}"
    return [_multiplied(a, b, float(keywords.get("alpha", 1)), after if beta else None)]


def _linear(args: list[Any], keywords: dict[str, Any], result: Any) -> list[Problem]:
    bias = args[2] if len(args) > 2 else keywords.get("bias")
    return [_multiplied(args[0], args[1].mT, 1.0, None if bias is None else "x + bias")]


def _multiplied(a: Any, b: Any, alpha: float = 1.0, epilogue: str | None = None) -> Problem:
    return product(
        a.shape, b.shape, _type(a),
        transpose_a=_is_transposed(a), transpose_b=_is_transposed(b), alpha=alpha, epilogue=epilogue,
    )  # fmt: skip


def _is_transposed(matrices: Any) -> bool:
    if matrices.dim() < 2:
        return False
    rows, columns = matrices.stride()[-2:]
    return bool(rows == 1 and columns != 1)


def _type(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


READERS: Final[dict[str, Callable[[list[Any], dict[str, Any], Any], list[Problem]]]] = {
    "aten.convolution": _convolution,
    "aten.conv1d": _conv_forward,
    "aten.conv2d": _conv_forward,
    "aten.conv3d": _conv_forward,
    "aten.conv_transpose1d": _conv_transpose,
    "aten.conv_transpose2d": _conv_transpose,
    "aten.conv_transpose3d": _conv_transpose,
    "aten.convolution_backward": _convolution_backward,
    "aten.mm": _product,
    "aten.bmm": _product,
    "aten.mv": _product,
    "aten.matmul": _product,
    "aten.addmm": _added,
    "aten._addmm_activation": _added,
    "aten.addmv": _added,
    "aten.baddbmm": _added,
    "aten.linear": _linear,
}  # fmt: skip
