"""Array intake: the same memory, or an error that NumPy's users know."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from imbrex.dtype import DTYPES
from imbrex.run.arrays import (
    as_array,
    check,
    contiguous,
    dense_order,
    empty,
    in_memory,
    new_array,
    order_of,
    same_kind,
    share_memory,
    strided_view,
)

F32 = np.dtype(np.float32)

NARROW = [t.array_name for t in DTYPES.values() if t.array_type.startswith("ml_dtypes.")]


class Exporter:
    """Somebody else's array: DLPack and nothing more, on the device that it is given."""

    def __init__(self, array: np.ndarray[Any, Any], device: int = 1) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)


class Unexportable(Exporter):
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("bfloat16 is unknown\nand more")


class Protocol(Unexportable):
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.array


def test_numpy_passes_through() -> None:
    for array in (np.zeros((2, 3), np.float32), np.zeros((2, 3))[:, ::2], np.zeros(3, ml_dtypes.bfloat16)):
        assert as_array(array) is array


@pytest.mark.parametrize("name", NARROW)
def test_elements_of_ml_dtypes_are_numbers(name: str) -> None:
    array = np.zeros(3, getattr(ml_dtypes, name))
    assert as_array(array) is array


def test_dlpack_shares_memory() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    for theirs in (array, array.T, array[:, ::2]):
        ours = as_array(Exporter(theirs))
        assert np.shares_memory(ours, array)
        assert ours.strides == theirs.strides
        np.testing.assert_array_equal(ours, theirs)


def test_owner_of_an_unknown_type_may_hand_over_an_array() -> None:
    array = np.zeros(3, ml_dtypes.bfloat16)
    assert as_array(Protocol(array)) is array
    with pytest.raises(TypeError, match=r"'x' cannot be read by DLPack: bfloat16 is unknown$"):
        as_array(Unexportable(array), "x")


@pytest.mark.parametrize(("device", "where"), [(2, "CUDA"), (10, "ROCm"), (77, "DLPack device 77")])
def test_memory_of_a_device_is_refused(device: int, where: str) -> None:
    with pytest.raises(TypeError, match=f"'x' lies in {where} memory"):
        as_array(Exporter(np.zeros(1), device), "x")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("text", "'x' should be an array of numbers, got dtype <U4"),
        (None, "'x' should be an array of numbers, got dtype object"),
        ([[1.0], [1.0, 2.0]], "'x' should be an array, got list: setting an array element"),
        (np.array([object()]), "got dtype object"),
        (np.zeros(2, "M8[s]"), "got dtype datetime64"),
        (np.zeros(2, [("a", "f4")]), "'x' should be an array of numbers"),
        (np.zeros(2, ">f4"), "'x' has dtype '>f4', whose bytes are swapped; give '.astype(\"<f4\")' of it"),
        (np.ma.masked_array([1.0], [True]), "'x' is a masked array"),
    ],
)
def test_what_is_no_array_of_numbers_is_a_type_error(value: object, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        as_array(value, "x")
    assert message in str(caught.value)


def test_sequences_are_numbers_too() -> None:
    np.testing.assert_array_equal(as_array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))


def test_check_lets_the_right_array_through() -> None:
    check(np.zeros((2, 3), np.float32), "x", dtype=F32, shape=[2, 3], written=True)
    check(np.zeros((0, 3), np.float32), "x", dtype=F32, shape=(0, 3))


def _unaligned() -> np.ndarray[Any, Any]:
    return np.zeros(4 * 6 + 1, np.uint8)[1:].view(np.float32).reshape(2, 3)


def _read_only() -> np.ndarray[Any, Any]:
    array = np.zeros((2, 3), np.float32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.zeros((2, 3)), TypeError, "'x' should have dtype float32, got float64"),
        (np.zeros((3, 2), np.float32), ValueError, "'x' should have shape (2, 3), got (3, 2)"),
        (np.zeros((2, 3, 1), np.float32), ValueError, "'x' should have shape (2, 3), got (2, 3, 1)"),
        (np.zeros((3, 2), np.float32).T, ValueError, "'x' should be contiguous, got strides (4, 8)"),
        (_unaligned(), ValueError, "'x' should lie at a multiple of 4 bytes"),
        (_read_only(), ValueError, "'x' is the output, but it is read-only"),
    ],
)
def test_check_says_what_is_wrong(array: np.ndarray[Any, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        check(array, "x", dtype=F32, shape=(2, 3), written=True)
    assert message in str(caught.value)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 3, 1, 5), (4, 1, 1, 1), (2, 1, 3, 1), (1, 1, 1, 1)])
def test_dense_order_undoes_every_permutation(shape: tuple[int, ...]) -> None:
    """The law: seen in its order, the array is C-contiguous."""
    for order in itertools.permutations(range(4)):
        array = np.zeros(shape, np.float32).transpose(order)
        found = dense_order(array)
        assert found is not None
        assert sorted(found) == [0, 1, 2, 3]
        assert array.transpose(found).flags.c_contiguous


def test_dense_order_of_channels_last() -> None:
    assert dense_order(np.zeros((2, 5, 6, 3)).transpose(0, 3, 1, 2)) == (0, 2, 3, 1)
    assert dense_order(np.zeros((2, 3, 5, 6))) == (0, 1, 2, 3)
    assert dense_order(np.zeros(())) == ()


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((4, 6))[:, ::2],
        np.zeros((4, 6))[::2],
        np.zeros((4, 6))[:, :5],
        np.zeros((4, 6))[::-1],
        np.broadcast_to(np.zeros(6), (4, 6)),
        np.zeros((4, 6)).T[1:3, 1:],
    ],
)
def test_dense_order_of_what_has_gaps_is_none(array: np.ndarray[Any, Any]) -> None:
    assert dense_order(array) is None


def test_contiguous_copies_only_what_it_must() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert contiguous(array) is array
    for other in (array.T, array[:, ::2], _unaligned()):
        made = contiguous(other)
        assert made.flags.c_contiguous and made.flags.aligned
        assert not np.shares_memory(made, other)
        np.testing.assert_array_equal(made, other)


def test_result_for_numpy_is_itself() -> None:
    array = np.zeros(3)
    assert same_kind(array, np.zeros(1)) is array
    assert same_kind(array, [1.0]) is array


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is an extra")


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "int8", "int32"])
def test_tensor_shares_memory_both_ways(torch: Any, name: str) -> None:
    tensor = torch.arange(6).to(getattr(torch, name)).reshape(2, 3)
    array = as_array(tensor.T)
    assert (array.dtype.name, array.shape, array.strides) == (name, (3, 2), tensor.numpy().T.strides)
    array[0, 1] = 7
    assert tensor[1, 0] == 7
    back = same_kind(array, tensor)
    assert isinstance(back, torch.Tensor) and back.dtype == tensor.dtype
    assert back.data_ptr() == tensor.data_ptr()


def test_bfloat16_tensor_is_ml_dtypes(torch: Any) -> None:
    tensor = torch.tensor([[1.5, -2.0], [3.0, 0.25]], dtype=torch.bfloat16)
    array = as_array(tensor)
    assert array.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(array.astype(np.float32), tensor.float().numpy())
    back = same_kind(array, tensor)
    assert back.dtype == torch.bfloat16
    assert back.data_ptr() == tensor.data_ptr()
    strided = as_array(tensor[:, ::2])
    np.testing.assert_array_equal(strided.astype(np.float32), np.array([[1.5], [3.0]], np.float32))


def test_8_bit_float_tensor_is_ml_dtypes(torch: Any) -> None:
    tensor = torch.tensor([[1.5, -2.0], [3.0, 0.25]]).to(torch.float8_e4m3fn)
    array = as_array(tensor)
    assert array.dtype == ml_dtypes.float8_e4m3fn
    np.testing.assert_array_equal(array.astype(np.float32), tensor.float().numpy())


def test_channels_last_tensor_tells_its_order(torch: Any) -> None:
    tensor = torch.zeros(2, 3, 5, 6).to(memory_format=torch.channels_last)
    assert dense_order(as_array(tensor)) == (0, 2, 3, 1)


def test_tensor_that_cannot_be_read_is_a_type_error(torch: Any) -> None:
    cases = {
        "requires grad": torch.zeros(2, requires_grad=True),
        "lies on meta": torch.zeros(2, device="meta"),
        "got layout torch.sparse_coo": torch.zeros(2).to_sparse(),
        "cannot be read as an array": torch.conj(torch.zeros(2, dtype=torch.complex64)),
    }
    for message, tensor in cases.items():
        with pytest.raises(TypeError, match=message):
            as_array(tensor, "x")


@pytest.mark.parametrize(
    ("shape", "strides", "order"),
    [
        ((2, 3, 4), (12, 4, 1), (0, 1, 2)),
        ((2, 3, 4), None, (0, 1, 2)),
        ((2, 3, 4), (12, 1, 3), (0, 2, 1)),
        ((2, 1, 4), (4, 99, 1), (0, 1, 2)),
        ((2, 3, 4), (24, 8, 2), None),
        ((2, 3, 4), (12, -4, 1), None),
        ((2, 3), (3, 3), None),
        ((), (), ()),
    ],
)
def test_order_of_shape_and_strides(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, order: tuple[int, ...] | None
) -> None:
    assert order_of(shape, strides) == order


WIDE = np.arange(24, dtype=np.float32).reshape(4, 6)


def test_strides_are_those_of_the_kernel() -> None:
    check(WIDE[:, :5], "a", dtype=F32, shape=(4, 5), strides=(6, 1))
    check(WIDE[:1, :5], "a", dtype=F32, shape=(1, 5), strides=(99, 1))
    for array in (WIDE[:, :5].copy(), WIDE[:, 1:6:2].copy()[:, :1].repeat(5, 1), WIDE.T[:5].T[:, ::-1]):
        with pytest.raises(ValueError, match=r"'a' should have strides \(6, 1\) in elements.*, got \("):
            check(array, "a", dtype=F32, shape=(4, 5), strides=(6, 1))
    with pytest.raises(ValueError, match=r"should be contiguous, got strides \(24, 4\)"):
        check(WIDE[:, :5], "a", dtype=F32, shape=(4, 5))


def test_memory_of_a_view_is_all_between_its_ends() -> None:
    view = WIDE[1:3, 2:4]
    assert in_memory(view).tolist() == list(range(8, 16))
    assert in_memory(WIDE) is WIDE
    assert np.shares_memory(in_memory(view), WIDE)


def test_a_new_array_has_the_strides_that_are_asked_for() -> None:
    array = new_array((2, 3, 4), F32, (4, 9, 1))
    assert array.shape == (2, 3, 4) and array.strides == (16, 36, 4)
    array[...] = np.arange(24).reshape(2, 3, 4)
    assert in_memory(array).size == 26
    assert new_array((2, 3), F32, None).flags.c_contiguous


@pytest.mark.parametrize("name", [*NARROW, "float16"])
def test_a_view_has_elements_of_any_type(name: str) -> None:
    element = np.dtype(getattr(ml_dtypes, name, name))
    row = (2.0 ** (np.arange(6) % 3)).astype(element)
    view = strided_view(row, (2, 2), (4, 1))
    assert view.dtype == element and np.shares_memory(view, row)
    assert view.astype(np.float64).tolist() == [[1, 2], [2, 4]]


def test_views_beside_one_another_share_nothing() -> None:
    assert not share_memory(WIDE[:, :3], WIDE[:, 3:])
    assert share_memory(WIDE[:, :3], WIDE[:, 2:])
    assert not share_memory(WIDE, WIDE.copy())
    assert share_memory(WIDE, strided_view(WIDE, (3, 3), (1, 1)))


@pytest.mark.parametrize("shape", [(3, 5), (512, 1024), (9, 331, 1001)])
@pytest.mark.parametrize("kind", [np.float32, np.int8, np.float64], ids=str)
def test_a_large_new_array_begins_with_a_line(shape: tuple[int, ...], kind: Any) -> None:
    of = np.dtype(kind)
    for _ in range(3):
        made = empty(shape, of)
        assert made.shape == shape and made.dtype == of
        assert made.flags.c_contiguous and made.flags.aligned and made.flags.writeable
        assert made.nbytes < 1 << 19 or made.ctypes.data % 64 == 0
        made[...] = 1
