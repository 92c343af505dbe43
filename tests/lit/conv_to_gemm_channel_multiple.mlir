// The channels of each tap are counted up to a multiple, of the filter and of the input; those too many do not exist.
// RUN: imbrex-opt %s -p 'conv-to-gemm{channel_multiple=8}' --compact | filecheck %s

// CHECK-LABEL: func.func @forward
// CHECK:           3: pad(3: c, 0, 3), c
// CHECK:           0: merge(1: y, 2: x, 3: c), gemmK
// CHECK:           2: pad(2: wi, 0, 0), wipad
// CHECK-NEXT:      3: pad(3: c, 0, 3), c
// CHECK:         gridwise_gemm
// CHECK:           memref<72x8xf32>, memref<72x98xf32>, memref<8x98xf32>
func.func @forward(%f: memref<8x3x3x5xf32>, %i: memref<2x9x9x5xf32>, %o: memref<2x7x7x8xf32>) {
  miopen.conv2d(%f, %i, %o) {
    filter_layout = ["k", "y", "x", "c"], input_layout = ["n", "hi", "wi", "c"],
    output_layout = ["n", "ho", "wo", "k"], strides = [1, 1], dilations = [1, 1], padding = [[0, 0], [0, 0]]
  } : memref<8x3x3x5xf32>, memref<2x9x9x5xf32>, memref<2x7x7x8xf32>
  func.return
}
