"""The check of a result where it lies: operands drawn on a GPU, float64 reference there, the same bounds.

Law: what is right here is right by `verify.compare`, element by element; nothing is shared with the kernels.
All arrays are torch's, on any device.  For results too large for NumPy: 8192^3 takes a GPU a tenth of a
second.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from imbrex.dtype import F32, F64, DType, dtype
from imbrex.problem import Gemm, Operand, Problem
from imbrex.problem.epilogue_function import FAR
from imbrex.verify.compare import Comparison, Mismatch, law_of
from imbrex.verify.data import Known, Values, known, probe_supports
from imbrex.verify.device.reference import Tensor, Truth, true_result
from imbrex.verify.epilogue import Arrays, Finished, is_exact, largest_of
from imbrex.verify.probe import read_bits
from imbrex.verify.unit import Unit, unit_of

__all__ = [
    "HOST_FLOPS",
    "Tensor",
    "called",
    "compared",
    "drawn",
    "element_type",
    "gaps",
    "has_device",
    "is_for_device",
    "operand_view",
    "poison_tensor",
    "spoiled",
]

HOST_FLOPS = 2 * 10**10
"""Work of the largest problem whose reference NumPy computes."""

OPERATIONS: Mapping[str, str] = {
    **{name: name for name in ("add", "subtract", "relu", "clamp", "abs", "tanh", "sigmoid")},
    **{name: name for name in ("multiply", "divide")},
    "negate": "negative",
    "min": "minimum",
    "max": "maximum",
}
"""Operations of epilogues, as torch calls them."""


def element_type(of: DType) -> Any:
    """torch's name of the array element type."""
    torch: Any = import_module("torch")
    return getattr(torch, of.numpy.name)


def poison_tensor(tensor: Tensor) -> None:
    """Fill with the bit pattern of `verify.poison`."""
    torch: Any = import_module("torch")
    bits = 8 * tensor.element_size()
    pattern = _of(tensor).poison
    signed = pattern - (1 << bits) if pattern >> (bits - 1) else pattern
    tensor.view(getattr(torch, f"int{bits}")).fill_(signed)


def drawn(
    problem: Problem, seed: int, values: Values, device: Any, unit: Unit | None = None
) -> dict[str, Tensor]:
    """Operands by role, as `verify.data` has them: "integer" ones make every sum exact where that can be."""
    torch: Any = import_module("torch")
    random = torch.Generator(device=device)
    random.manual_seed(seed)
    unit = unit or unit_of(None, problem.dtype)
    widest = known(problem, values, unit).widest
    masks = probe_supports(problem, unit) if values == "probe" else {}
    reads_result = isinstance(problem, Gemm) and problem.beta != 0.0
    found: dict[str, Tensor] = {}
    for operand in problem.operands:
        kind = element_type(operand.dtype)
        if operand.is_written and not (reads_result and operand.role == problem.written):
            empty = torch.empty(operand.allocated_elements, dtype=kind, device=device)
            poison_tensor(empty)
            found[operand.role] = operand_view(empty, operand)
            continue
        if operand.role in masks:
            at = torch.meshgrid([torch.arange(n, device=device) for n in operand.shape], indexing="ij")
            is_met = masks[operand.role](dict(zip(operand.layout, at, strict=True)))
            drawing = _full(operand, problem.dtype, random, device) * is_met
        elif values == "float" and operand.dtype.is_float:
            drawing = _real(operand, random, device)
        else:
            is_narrow = operand.dtype == problem.dtype and not problem.dtype.is_float
            drawing = _whole(operand, 128 if is_narrow else widest, random, device)
        is_wide = operand.dtype.bytes == 8 or not operand.dtype.is_float
        found[operand.role] = _laid((drawing if is_wide else drawing.float()).to(kind), operand)
    return found


def _whole(operand: Operand, widest: int, random: Any, device: Any) -> Tensor:
    """Whole numbers without zero; those of 8 bits reach from -128 to 127."""
    torch: Any = import_module("torch")
    high = min(widest, 127)
    whole = torch.randint(-widest, high, operand.shape, generator=random, device=device, dtype=torch.int16)
    return whole + (whole >= 0)


def _real(operand: Operand, random: Any, device: Any) -> Tensor:
    """Uniform in [-1, 1), none of 16 bits subnormal."""
    torch: Any = import_module("torch")
    wide = torch.float64 if operand.dtype.bytes == 8 else torch.float32
    real = torch.rand(operand.shape, generator=random, device=device, dtype=wide) * 2 - 1
    least = operand.dtype.smallest_normal if operand.dtype.bytes == 2 else 0.0
    return torch.where(real.abs() < least, least, real)


def _full(operand: Operand, read: DType, random: Any, device: Any) -> Tensor:
    """Odd numbers of as many bits as a product reads, with signs; floats between 1 and 2."""
    torch: Any = import_module("torch")
    of: dict[str, Any] = {"generator": random, "device": device}
    signs = 2 * torch.randint(0, 2, operand.shape, **of) - 1
    if not operand.dtype.is_float:
        return signs * torch.randint(1, 127, operand.shape, **of)
    bits = read_bits(read)
    odd = 2 * torch.randint(2 ** (bits - 2), 2 ** (bits - 1), operand.shape, **of) + 1
    return (odd * signs).double() * 2.0 ** (1 - bits)


def _laid(values: Tensor, operand: Operand) -> Tensor:
    """Memory with the operand's gaps, full of poison."""
    if operand.strides is None:
        return values
    torch: Any = import_module("torch")
    memory = torch.empty(operand.allocated_elements, dtype=values.dtype, device=values.device)
    poison_tensor(memory)
    return operand_view(memory, operand, values)


def operand_view(memory: Tensor, operand: Operand, values: Tensor | None = None) -> Tensor:
    """The operand's array, with its gaps, in a row of memory, filled with values."""
    torch: Any = import_module("torch")
    if operand.strides is None:
        array = memory[: operand.elements].view(operand.shape)
        return array if values is None else array.copy_(values)
    array = torch.as_strided(memory, operand.shape, operand.strides)
    if values is not None:
        once = tuple(slice(0, 1 if stride == 0 else None) for stride in operand.strides)
        array[once].copy_(values[once])
    return array


def gaps(memory: Tensor, operand: Operand) -> Tensor:
    """Which elements of a row of memory are not the operand's."""
    torch: Any = import_module("torch")
    found = torch.ones(memory.shape, dtype=torch.bool, device=memory.device)
    once = operand_view(found, operand)[tuple(slice(0, 1 if s == 0 else None) for s in operand.strides or ())]
    once.fill_(False)
    return found


def spoiled(array: Tensor, operand: Operand) -> int:
    """Elements in the gaps of an array of `drawn` that are not poison any more."""
    torch: Any = import_module("torch")
    if operand.strides is None:
        return 0
    memory = torch.as_strided(array, (operand.allocated_elements,), (1,))
    return int((gaps(memory, operand) & ~_is_poison(memory)).sum())


def _is_poison(array: Tensor) -> Tensor:
    torch: Any = import_module("torch")
    bits = getattr(torch, f"int{8 * array.element_size()}")
    fresh = torch.empty(1, dtype=array.dtype, device=array.device)
    poison_tensor(fresh)
    return array.view(bits) == fresh.view(bits)


def is_for_device(problem: Problem) -> bool:
    """Is it too large for NumPy, and can torch compute it on a GPU that is here?"""
    return problem.flops > HOST_FLOPS and has_device()


def has_device() -> bool:
    """Is there a GPU on which torch computes?"""
    if importlib.util.find_spec("torch") is None:
        return False
    torch: Any = import_module("torch")
    return bool(torch.cuda.is_available())


def compared(
    problem: Problem,
    before: Mapping[str, Tensor],
    got: Tensor,
    *,
    values: Values = "integer",
    unit: Unit | None = None,
) -> Comparison:
    """`got` against the truth.  before: the operands as they were, drawn with these values."""
    given = {role: t for role, t in before.items() if role != problem.written or _reads(problem)}
    what = known(problem, values, unit)
    truth = true_result(problem, given, magnitude=not what.is_exact and what.data == "any")
    finished = _finished(problem, truth.want, given)
    want = truth.want if finished is None else finished.want
    bound = _bound(problem, truth, finished, what, unit)
    if finished is not None and not problem.result.dtype.is_float:
        want, bound = _stored(want, bound, problem.result.dtype)
    return _comparison(got, want, bound, problem.result)


def _stored(want: Tensor, bound: Tensor, element: DType) -> tuple[Tensor, Tensor]:
    """Integers, and how far off they may be, as `verify.compare` has it."""
    own, low, high = (_saturated(want + side, element) for side in (0.0, -bound, bound))
    return own, (high - own).maximum(own - low)


def _saturated(values: Tensor, element: DType) -> Tensor:
    return values.nan_to_num(0.0, math.inf, -math.inf).round().clamp(-element.largest - 1.0, element.largest)


def _bound(
    problem: Problem, truth: Truth, finished: Finished | None, what: Known, unit: Unit | None
) -> Tensor:
    """Bound of every element; 0 where it has to be exact."""
    torch: Any = import_module("torch")
    is_whole = what.is_exact or not problem.dtype.is_float
    if is_whole and is_exact(problem.epilogue):
        return torch.zeros_like(truth.want)
    law, result = law_of(problem, what.data, unit), problem.result.dtype
    of_x = torch.zeros_like(truth.want) if is_whole else truth.scaled * law.of_scaled + law.absolute
    if law.of_magnitude and truth.magnitude is not None:
        of_x += truth.magnitude * law.of_magnitude
    if finished is None:
        return of_x + truth.want.abs() * law.of_want
    error = finished.error(of_x, (F64 if result == F64 else F32).unit_roundoff)
    if not result.is_float:
        return error
    own = finished.want.nan_to_num(0.0, 0.0, 0.0).abs()
    return error + own * result.unit_roundoff + result.smallest_subnormal


def _reads(problem: Problem) -> bool:
    return isinstance(problem, Gemm) and problem.beta != 0.0


def _comparison(got: Tensor, want: Tensor, bound: Tensor, operand: Operand) -> Comparison:
    torch: Any = import_module("torch")
    element = operand.dtype
    kind = element_type(element)
    value = got.double()
    target = torch.where(bound == 0.0, want.to(kind).double(), want) if element.is_float else want
    error = (value - target).abs()
    beyond = (target.abs() + bound >= element.largest) & torch.isinf(value) & (value.sign() == target.sign())
    same = (value == target) | (torch.isnan(value) & torch.isnan(target)) | beyond
    unbounded = int((torch.isinf(bound) & ~same).sum())
    right = same | (error <= bound)
    right |= torch.isinf(bound) & ~_is_poison(got)
    ratio = torch.where(right & (error == 0), torch.zeros_like(error), error / bound).nan_to_num(math.inf)
    wrong = int((~right).sum())
    unwritten = _is_poison(got) & ~right
    first = None
    if wrong:
        at = tuple(int(i) for i in _indices(int(torch.argmin(right.flatten().byte())), operand.shape))
        named = tuple(zip(operand.layout, at, strict=True))
        first = Mismatch(named, float(value[at]), float(target[at]), float(bound[at]), bool(unwritten[at]))
    most = math.inf if wrong else float(torch.where(torch.isinf(ratio), 0.0, ratio).max())
    return Comparison(
        elements=got.numel(),
        wrong=wrong,
        unwritten=int(unwritten.sum()),
        max_error_ratio=most,
        is_exact=not bool(bound.any()),
        first=first,
        unbounded=unbounded,
        is_judged=unbounded < max(1, got.numel()),
    )


def _indices(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    found: list[int] = []
    for size in reversed(shape):
        flat, index = divmod(flat, size)
        found.append(index)
    return tuple(reversed(found))


def _finished(problem: Problem, own: Tensor, tensors: Mapping[str, Tensor]) -> Finished | None:
    torch: Any = import_module("torch")
    if problem.epilogue is None:
        return None
    names = {"x": own}
    for operand in (o for o in problem.operands[len(problem.roles) :] if not o.is_written):
        names[operand.role] = tensors[operand.role].double().reshape(operand.shape_along(problem.result))

    def constant(value: float) -> Tensor:
        return torch.tensor(value, dtype=torch.float64, device=own.device)

    return Finished(
        problem.epilogue, names, largest_of(problem), problem.result.dtype, Arrays(torch, constant, called)
    )


def called(name: str, x: Tensor, *more: Tensor) -> Tensor:
    """A function of epilogues of float64.  Where torch's own loses the tails of its value, or does not reach
    its ends, by a formula that keeps them.
    """
    torch: Any = import_module("torch")
    if name in OPERATIONS:
        return getattr(torch, OPERATIONS[name])(x, *more)
    least = x.clamp(min=FAR)
    match name:
        case "pre_activation":
            return x
        case "silu":
            return least * torch.sigmoid(x)
        case "gelu":
            return 0.5 * least * torch.special.erfc(-x / math.sqrt(2.0))
        case "gelu_tanh":
            return least * torch.sigmoid(math.sqrt(8.0 / math.pi) * (least + 0.044715 * least**3))
        case "softplus":
            return torch.logaddexp(x, torch.zeros_like(x))
        case "hardswish":
            return x.clamp(min=-3.0) * (x / 6.0 + 0.5).clamp(0.0, 1.0)
        case "leaky_relu":
            return torch.where(x > 0, x, more[0] * x)
        case _:
            raise AssertionError(f"torch has no '{name}'")


def _of(tensor: Tensor) -> DType:
    return dtype(str(tensor.dtype).removeprefix("torch."))
