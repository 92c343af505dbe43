"""How busy a kernel keeps the matrix unit: its hot loop, counted and modelled, from the compiler's text."""

from imbrex.build.amd.hot_loop.bound import Bound, Conflicts, bound_of
from imbrex.build.amd.hot_loop.count import Counts, counts_of
from imbrex.build.amd.hot_loop.loop import hot_loop_of
from imbrex.build.amd.hot_loop.mca import find_mca, mca_busy
from imbrex.build.amd.hot_loop.report import HotLoop, hot_loop
from imbrex.build.amd.hot_loop.text import Code, Inst, read_code
from imbrex.build.amd.hot_loop.timeline import simulated_busy

__all__ = [
    "Bound", "Code", "Conflicts", "Counts", "HotLoop", "Inst", "bound_of", "counts_of", "find_mca",
    "hot_loop", "hot_loop_of", "mca_busy", "read_code", "simulated_busy",
]  # fmt: skip
