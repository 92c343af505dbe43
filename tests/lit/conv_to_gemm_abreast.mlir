// Images abreast: they are the fastest digit of gemmN in the image that is read and in the result.
// RUN: imbrex-opt %s -p 'conv-to-gemm{abreast=2}' --compact | filecheck %s

// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2:   merge(0: several, 2: line, 3: column, 1: one), gemmN,
// CHECK:       miopen.gridwise_gemm
// CHECK:         taps = [3, 4, 2]
func.func @forward(%f: memref<8x3x3x4xf32>, %i: memref<3x9x9x4xf32>, %o: memref<3x9x9x8xf32>) {
  miopen.conv2d(%f, %i, %o) {
    filter_layout = ["k", "y", "x", "c"], input_layout = ["n", "hi", "wi", "c"],
    output_layout = ["n", "ho", "wo", "k"], strides = [1, 1], dilations = [1, 1], padding = [[1, 1], [1, 1]]
  } : memref<8x3x3x4xf32>, memref<3x9x9x4xf32>, memref<3x9x9x8xf32>
  func.return
}
