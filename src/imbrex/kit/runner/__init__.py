"""The program of a kit: it runs where Imbrex is not, on Python 3.9 or later, NumPy and the GPU's driver.

draw     operands and places from seeds
compare  results against what a kit expects
hip      the HIP runtime, called through ctypes
case     one kernel: its arrays, its launches, its checks, its time
main     all kernels, each where a fault of it ends no other; the report
"""
