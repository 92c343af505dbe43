"""Library: kernels of many problems in one shared library for CPUs, with a table by which a call finds its
own (docs/library.md).

family    problems that differ in their rows or images only
dispatch  the table, and the header, in C
checking  a program in C that checks all of it against plain loops
make      compiled, linked, timed and packed
"""
