"""Calls made ready: the launches of a kernel on arrays at known addresses, in a known stream.

Law: what a launch needs is built once, its parameters, tensor maps and configuration in memory that stays;
the call that comes of it hands addresses of these to the driver and does nothing else.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, assert_never

from imbrex.diagnostic import Diagnostic
from imbrex.numeral import counted
from imbrex.run.cpu import Parameter
from imbrex.run.cuda.driver import MAP_BYTES, driver_version
from imbrex.run.launch import Launch, Step, Zero

__all__ = ["Call", "Ready", "configuration"]

Call: TypeAlias = Callable[[], Any]
"""Gives the driver's error, which is 0 where there is none."""

_MOST_WORKGROUPS = (1 << 31) - 1
_POINTER_BYTES = 8
_MAP_ALIGNMENT = 64
_MOST_KEPT = 4096
_RECORDS_EARLY = 12030
"""The first CUDA whose driver takes launches that begin early into graphs (release notes of 12.3)."""


class Ready:
    """A kernel on one GPU, its functions loaded.  What depends on a stream alone, or on one array alone, is
    kept: configurations, and tensor maps by their address.
    """

    def __init__(
        self,
        cuda: Any,
        steps: Sequence[Step],
        functions: Mapping[str, Any],
        parameters: Sequence[Parameter],
    ) -> None:
        """parameters: of each address that `call` will be given, the workspace's too."""
        self._cuda, self._steps, self._functions = cuda, steps, functions
        self._parameters = parameters
        self._configurations: dict[tuple[int, int], Any] = {}
        self._maps: dict[tuple[int, int, int], bytes] = {}

    def call(self, addresses: Sequence[int], stream: int) -> Call:
        """All steps in order, on arrays at these addresses."""
        calls = [self._call(index, step, addresses, stream) for index, step in enumerate(self._steps)]
        if len(calls) == 1:
            return calls[0]

        def call() -> Any:
            for one in calls:
                if error := one():
                    return error
            return 0

        return call

    def _call(self, index: int, step: Step, addresses: Sequence[int], stream: int) -> Call:
        match step:
            case Zero():
                clear, address = self._cuda.cuMemsetD8Async, addresses[step.argument]
                size = self._parameters[step.argument].bytes
                return lambda: clear(address, 0, size, stream)[0]
            case Launch():
                pointers = [addresses[i] for i in step.arguments]
                values = _Values(self._maps_of(index, step, pointers), pointers, step.count)
                launch, function = self._cuda.cuLaunchKernelEx, self._functions[step.kernel]
                config, at = self._configuration(index, step, stream), values.pointers

                def call(kept: _Values = values) -> Any:
                    """kept: the memory behind `at`."""
                    return launch(config, function, at, 0)[0]

                return call
            case _:
                assert_never(step)

    def _configuration(self, index: int, step: Launch, stream: int) -> Any:
        key = (index, stream)
        if key not in self._configurations:
            _trim(self._configurations)
            self._configurations[key] = configuration(self._cuda, step, stream)
        return self._configurations[key]

    def _maps_of(self, index: int, step: Launch, pointers: Sequence[int]) -> list[bytes]:
        return [self._map(index, step, number, pointers) for number in range(len(step.tensors))]

    def _map(self, index: int, step: Launch, number: int, pointers: Sequence[int]) -> bytes:
        tensor = step.tensors[number]
        address = pointers[tensor.argument]
        key = (index, number, address)
        if key not in self._maps:
            from imbrex.run.cuda.tensor_map import encoded  # here, for most launches go without

            _trim(self._maps)
            try:
                self._maps[key] = encoded(self._cuda, tensor, address, driver_version(self._cuda))
            except ValueError as error:
                name = self._parameters[step.arguments[tensor.argument]].name
                raise ValueError(f"'{name}': {error}") from None
        return self._maps[key]


def _trim(kept: dict[Any, Any]) -> None:
    if len(kept) >= _MOST_KEPT:
        kept.clear()


class _Values:
    """A launch's parameters: tensor maps, then pointers, then a run-time size, if any.  `pointers`: the
    address of an array of theirs.
    """

    def __init__(self, maps: Sequence[bytes], addresses: Sequence[int], count: int | None) -> None:
        self._words = (ctypes.c_uint64 * len(addresses))(*addresses)
        self._maps = ctypes.create_string_buffer(b"".join(maps), MAP_BYTES * len(maps) + _MAP_ALIGNMENT)
        at, words = ctypes.addressof(self._maps), ctypes.addressof(self._words)
        if shift := -at % _MAP_ALIGNMENT:
            ctypes.memmove(at + shift, at, MAP_BYTES * len(maps))
        of_maps = [at + shift + MAP_BYTES * index for index in range(len(maps))]
        of_words = [words + _POINTER_BYTES * index for index in range(len(addresses))]
        self._count = ctypes.c_int32(count or 0)
        of_count = [] if count is None else [ctypes.addressof(self._count)]
        entries = [*of_maps, *of_words, *of_count]
        self._table = (ctypes.c_uint64 * len(entries))(*entries)
        self.pointers = ctypes.addressof(self._table)


def configuration(cuda: Any, step: Launch, stream: int) -> Any:
    """What the driver is told of a launch beside its kernel and its parameters; a Diagnostic where it is too
    large for CUDA.
    """
    if step.grid_size > _MOST_WORKGROUPS:
        raise Diagnostic(
            f"'{step.kernel}' has {counted(step.grid_size, 'workgroup')}; CUDA launches less than 2^31"
        )
    config = cuda.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = step.grid_size, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = step.block_size, 1, 1
    config.sharedMemBytes, config.hStream = step.shared_bytes, stream
    attributes = [*_cluster(cuda, step), *_early(cuda, step)]
    if attributes:
        config.attrs, config.numAttrs = attributes, len(attributes)
    return config


def _cluster(cuda: Any, step: Launch) -> Iterator[Any]:
    if step.cluster > 1:
        attribute = cuda.CUlaunchAttribute()
        attribute.id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        size = attribute.value.clusterDim
        size.x, size.y, size.z = step.cluster, 1, 1
        yield attribute


def _early(cuda: Any, step: Launch) -> Iterator[Any]:
    """Older drivers cannot record it; a kernel that waits may be launched without, too."""
    if step.is_early and driver_version(cuda) >= _RECORDS_EARLY:
        attribute = cuda.CUlaunchAttribute()
        attribute.id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        attribute.value.programmaticStreamSerializationAllowed = 1
        yield attribute
