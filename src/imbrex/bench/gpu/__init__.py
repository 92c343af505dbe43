"""Kernels on an NVIDIA GPU beside the libraries that its users have."""
