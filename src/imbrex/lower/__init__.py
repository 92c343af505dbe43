"""Kernels as statements: a closed set, one way to say each thing, no target.

build, reader               a function of threadwise IR becomes a program, launch by launch
stmt, buffer                statements, and references into buffers
lane, hoist                 what a work item of a GPU does
panel, packed, fuse, windows    what a core of a CPU does
families, pipeline, parts   what a workgroup of warpgroups does: a pipelined product of parts; stage, lines,
                            taps and drain are its operands' ways in and its result's way out
finish                      stores through an epilogue
common_subexpressions, prune    names for what indices share; nothing that is not used
check, races, lds_traffic   what every kernel keeps, and what its accesses cost
"""
