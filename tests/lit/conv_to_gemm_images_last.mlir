// Images last: they are the fastest digit of gemmK in both operands, though the slowest in memory.
// RUN: imbrex-opt %s -p 'conv-to-gemm{images_last=true}' --compact | filecheck %s

// CHECK-LABEL: func.func @weights
// CHECK:           0: merge(1: ho, 2: wo, 0: n), gemmK,
// CHECK:           0: merge(2: ho, 4: wo, 0: n), gemmK,
func.func @weights(%f: memref<8x3x3x4xf32>, %i: memref<2x9x9x4xf32>, %o: memref<2x7x7x8xf32>) {
  miopen.conv2d_bwd_weight(%f, %i, %o) {
    filter_layout = ["k", "y", "x", "c"], input_layout = ["n", "hi", "wi", "c"],
    output_layout = ["n", "ho", "wo", "k"], strides = [1, 1], dilations = [1, 1], padding = [[0, 0], [0, 0]]
  } : memref<8x3x3x4xf32>, memref<2x9x9x4xf32>, memref<2x7x7x8xf32>
  func.return
}
