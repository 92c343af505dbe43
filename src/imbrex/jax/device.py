"""The device that JAX computes on, as a target, and the axes of a mesh of several."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from imbrex.chip import GPU_MACHINES
from imbrex.diagnostic import Diagnostic

__all__ = ["alike", "kind", "uncut", "varying"]

jax: Any = import_module("jax")

CAPABILITIES: Final = {
    ".".join(map(str, row.compute_capability)): name
    for name, row in GPU_MACHINES.items()
    if row.compute_capability is not None and row.has_wgmma
}
"""Targets of GPUs, by the compute capability that JAX says."""


def kind() -> str:
    """The target of JAX's default device; a Diagnostic where there is none for it."""
    device: Any = jax.config.jax_default_device
    if device is None or isinstance(device, str):
        device = jax.devices(device)[0]
    capability = getattr(device, "compute_capability", "")
    found = "cpu" if device.platform == "cpu" else CAPABILITIES.get(capability)
    if found is None:
        message = f"imbrex.jax runs on CPUs and on Hopper GPUs, and JAX's default is '{device.platform}'"
        raise Diagnostic(
            f"{message}, a {device.device_kind}", hint="jax.config.update('jax_platforms', 'cpu')"
        )
    return found


def varying(*types: Any) -> frozenset[str]:
    """The axes of `jax.shard_map`'s mesh along which any array differs.  types: as of `jax.typeof`."""
    of = (getattr(one, "manual_axis_type", None) for one in types)  # JAX from 0.10 on
    named = [
        getattr(one, "vma", ()) if new is None else new.varying for one, new in zip(types, of, strict=True)
    ]
    return frozenset[str]().union(*named)


def alike(*arrays: Any) -> list[Any]:
    """The arrays, each as one that differs along the axes of them all.

    What differs nowhere has a gradient that is a sum over those axes, which JAX adds up.
    """
    axes = varying(*map(jax.typeof, arrays))
    return [_cast(one, tuple(more)) if (more := axes - varying(jax.typeof(one))) else one for one in arrays]


def _cast(array: Any, axes: tuple[str, ...]) -> Any:
    pcast = getattr(jax.lax, "pcast", None)
    return jax.lax.pvary(array, axes) if pcast is None else pcast(array, axes, to="varying")


def uncut(array: Any) -> Any:
    """The whole array on each device, where its type says that it is cut (JAX's explicit axes of a mesh); its
    gradient is cut as it is.
    """
    spec = getattr(jax.typeof(array).sharding, "spec", ())
    return (
        jax.sharding.reshard(array, jax.sharding.PartitionSpec(*(None for _ in spec))) if any(spec) else array
    )
