"""Convolutions as GEMMs: windows, phases of strided gradients, rasters, strips of depthwise ones."""
