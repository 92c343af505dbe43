"""From CUDA source to a cubin, and what its compiler says of it."""
