"""Kernels at run time: arrays in, the call, its time, and the machine it ran on."""
