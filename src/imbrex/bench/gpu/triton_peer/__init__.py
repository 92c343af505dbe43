"""Triton's part in the contests on a GPU: our Triton kernels, tuned for each problem before they are timed.

They are in the package because `imbrex bench --target sm_90a --peers triton` is a command of it.
"""
