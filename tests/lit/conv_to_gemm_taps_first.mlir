// Taps first: channels are the fastest digit of gemmK in both operands, though not in memory.
// RUN: imbrex-opt %s -p 'conv-to-gemm{taps_first=true}' --compact | filecheck %s

// CHECK-LABEL: func.func @nchw
// CHECK:           0: merge(2: y, 3: x, 1: c), gemmK,
// CHECK:           0: merge(2: y, 4: x, 1: c), gemmK,
func.func @nchw(%f: memref<8x4x3x3xf32>, %i: memref<2x4x9x9xf32>, %o: memref<2x8x7x7xf32>) {
  miopen.conv2d(%f, %i, %o) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], strides = [1, 1], dilations = [1, 1], padding = [[0, 0], [0, 0]]
  } : memref<8x4x3x3xf32>, memref<2x4x9x9xf32>, memref<2x8x7x7xf32>
  func.return
}
