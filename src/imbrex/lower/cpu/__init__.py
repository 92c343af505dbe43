"""What a core of a CPU does: windows packed into panels, panels multiplied, tiles written back.

packed             its statements
panel              copies, and products of panels
fuse, fuse_parts   a step over K as one product, which packs what must be packed and reads the rest
runs               neighbours along k that need no copy
windows            windows of few channels as grids
"""
