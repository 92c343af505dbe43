"""A library of kernels in Python without Imbrex, made by
imbrex build --library net "gemm -m 4 -n 8 -k 16" "gemm -m 1 -n 8 -k 16" -o net

python examples/library_ctypes.py net
"""

import ctypes
import sys
from array import array
from pathlib import Path


def main(folder: Path) -> None:
    """A product of six rows, by the kernels of four rows and of one."""
    net = ctypes.CDLL(str(folder / "libnet.so"))
    rows = ctypes.c_int64()
    family = net.imbrex_net_find(b"gemm -t f32 -m 6 -n 8 -k 16 -transA 0 -transB 0 -g 1", ctypes.byref(rows))
    a = array("f", [i // 16 for i in range(6 * 16)])
    b, c = array("f", [0.5] * (16 * 8)), array("f", [0.0] * (6 * 8))
    arrays = (ctypes.c_void_p * 3)(*(each.buffer_info()[0] for each in (a, b, c)))
    status = net.imbrex_net_run(family, rows, arrays, 1)
    print(f"{rows.value} rows, code {status}, last element {c[47]:g}")


if __name__ == "__main__" and len(sys.argv) > 1:
    main(Path(sys.argv[1]))
