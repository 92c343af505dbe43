"""HIP source for AMD GPUs: what one work item does, printed from the statements of a kernel."""

from imbrex.emit.hip.files import units

__all__ = ["units"]
