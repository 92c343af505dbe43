"""Benchmarks: kernels, peers and the machine's own ceiling, timed side by side in one run."""
