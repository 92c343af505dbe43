"""The device that JAX computes on, as a target."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from imbrex.chip import GPU_MACHINES
from imbrex.diagnostic import Diagnostic

__all__ = ["kind"]

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
