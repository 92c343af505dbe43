"""CUDA C++ for NVIDIA GPUs: what one thread does, printed from the statements of a kernel."""

from imbrex.emit.cuda.files import units

__all__ = ["units"]
