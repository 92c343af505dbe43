"""Tunings of NVIDIA Hopper, whose warpgroups multiply tiles in shared memory."""
