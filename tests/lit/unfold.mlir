// A merge of dims that lie next to one another in memory is one stride: an unfold.
// RUN: imbrex-opt %s -p conv-to-gemm,unfold --split-input-file --compact | filecheck %s

// The filter's c, y, x, and the output's ho, wo of one image; not what slides, not what jumps over k.
// CHECK-LABEL: func.func @nchw
// CHECK:         0: unfold(1: c, 2: y, 3: x), gemmK,
// CHECK:         0: merge(1: c, 2: y, 4: x), gemmK,
// CHECK-NEXT:    1: merge(0: n, 3: ho, 5: wo), gemmN
// CHECK:         1: merge(0: n, 2: ho, 3: wo), gemmN
func.func @nchw(%filter: memref<4x3x3x3xf32>, %input: memref<2x3x8x8xf32>, %output: memref<2x4x6x6xf32>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  } : memref<4x3x3x3xf32>, memref<2x3x8x8xf32>, memref<2x4x6x6xf32>
  func.return
}

// -----
// Channels last: pixels lie next to one another.  A 1x1 window without pads slides over nothing.
// CHECK-LABEL: func.func @nhwc
// CHECK:         0: unfold(1: y, 2: x, 3: c), gemmK,
// CHECK:         0: unfold(1: y, 3: x, 5: c), gemmK,
// CHECK-NEXT:    1: unfold(0: n, 2: ho, 4: wo), gemmN
// CHECK:         1: unfold(0: n, 1: ho, 2: wo), gemmN
func.func @nhwc(%filter: memref<4x1x1x3xf32>, %input: memref<2x8x8x3xf32>, %output: memref<2x8x8x4xf32>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "y", "x", "c"], input_layout = ["n", "hi", "wi", "c"],
    output_layout = ["n", "ho", "wo", "k"], dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  } : memref<4x1x1x3xf32>, memref<2x8x8x3xf32>, memref<2x8x8x4xf32>
  func.return
}

// -----
// A stride, or a pad, breaks it; one image leaves ho and wo.
// CHECK-LABEL: func.func @strided
// CHECK:         0: unfold(1: y, 3: x, 5: c), gemmK,
// CHECK-NEXT:    1: merge(0: n, 2: ho, 4: wo), gemmN
// CHECK:         1: unfold(0: n, 2: ho, 3: wo), gemmN
func.func @strided(%filter: memref<4x1x1x3xf32>, %input: memref<1x8x8x3xf32>, %output: memref<1x4x4x8xf32>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "y", "x", "c"], input_layout = ["n", "hi", "wi", "c"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [2, 1], padding = [0, 0]
  } : memref<4x1x1x3xf32>, memref<1x8x8x3xf32>, memref<1x4x4x8xf32>
  func.return
}

// -----
// Sizes that are not known prove nothing.
// CHECK-LABEL: func.func @unknown
// CHECK:         0: merge(1: c, 2: y, 3: x), gemmK,
func.func @unknown(%filter: memref<?x?x?x?xf32>) {
  %a = miopen.transform(%filter) {
    layout = [
      0: merge(1: c, 2: y, 3: x), gemmK,
      1: passthrough(0: k), gemmM
    ]
  } : memref<?x?x?x?xf32> to memref<?x?xf32>
  func.return
}
