"""What a workgroup of warpgroups does: a pipelined product of parts.

pipeline, parts      the statement, and the closed sums that it is made of
families             which parts each family of kernels has
stage, lines, taps   how operands come in: tiles, lines of pixels, windows as columns
drain                how the result goes out
run_time_tiles       tiles of a size that is told when the kernel runs
text                 the same in words
"""
