"""Source text: statements as C++, one table a target, and the files that users own.

c                           indices and statements as C, for all targets
cpu/, hip/, cuda/           a target's kernels: calls of its device headers; gpu/ is what GPUs share
emulate/                    the schedule of a GPU as a CPU runs it
device/                     the headers themselves, ordinary source with tests of their own
host, bundle, facts         the entry point, and all files of a kernel
graph, mlir                 coordinate graphs and swizzles as text for other tools
"""
