"""Cubins on an NVIDIA GPU, through cuda-bindings."""
