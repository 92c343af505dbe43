"""Named maps: convolutions and products as GEMMs, tiles, workgroups.  Functions of numbers only."""
