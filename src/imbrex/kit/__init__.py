"""Kit: kernels, and a program that checks and times them, for a machine with the GPU and without Imbrex.

cases    which kernels, where nobody names problems
expected what a kit tells of a kernel: its arrays, its launches, what has to come out
make     all of a kit as one archive
report   what came back
runner   the program
"""
