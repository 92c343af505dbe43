"""The source of CPU kernels: calls of the device headers on panels."""
