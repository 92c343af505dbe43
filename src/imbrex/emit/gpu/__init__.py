"""Kernels of any GPU in the C++ of its language: what one work item does, and the files that hold it."""
