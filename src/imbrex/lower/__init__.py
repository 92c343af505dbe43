"""Kernels as statements: a closed set, one way to say each thing, no target.

build, reader               a function of threadwise IR becomes a program, launch by launch
stmt, buffer                statements, and references into buffers
lane, hoist, matrix         what a work item of a GPU does
cpu/                        what a core of a CPU does
warpgroup/                  what a workgroup of warpgroups does: a pipelined product of parts
finish                      stores through an epilogue
grid, joined                how many workgroups a run-time size has; the programs of its buckets as one
common_subexpressions, prune    names for what indices share; nothing that is not used
check, races, lds_traffic   what every kernel keeps, and what its accesses cost
"""
