"""A matrix product as the GEMM that all levels share, and the tiles it is cut into."""
