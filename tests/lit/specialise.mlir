// `?` sizes get their numbers, in arrays, views and notes alike; numbers that disagree say where.
// RUN: imbrex-opt %s -p 'specialise{filter=64,64,3,3 input=1,64,56,56}' --split-input-file --verify-diagnostics --compact | filecheck %s

// CHECK-LABEL: func.func @forward(%filter: memref<64x64x3x3xf32>, %input: memref<1x64x56x56xf32>, %output: memref<1x64x54x54xf32>) {
// CHECK:         } : memref<64x64x3x3xf32>, memref<1x64x56x56xf32>, memref<1x64x54x54xf32>
// CHECK:         } : memref<64x64x3x3xf32> to memref<576x64xf32>
// CHECK:         } : memref<1x64x56x56xf32> to memref<1x64x56x56xf32>
// CHECK:         } : memref<1x64x56x56xf32> to memref<1x64x3x54x3x54xf32>
// CHECK:         } : memref<1x64x3x54x3x54xf32> to memref<576x2916xf32>
// CHECK:         } : memref<1x64x54x54xf32> to memref<64x2916xf32>
// CHECK:         miopen.gridwise_gemm
// CHECK-NEXT:      filter_dimension = [64, 64, 3, 3],
// CHECK:         } : memref<576x64xf32>, memref<576x2916xf32>, memref<64x2916xf32>
func.func @forward(%filter: memref<?x?x?x?xf32>, %input: memref<?x?x?x?xf32>, %output: memref<?x?x?x?xf32>) {
  miopen.conv(%filter, %input, %output) {
    filter_layout = [0: k, 1: c, 2: y, 3: x],
    input_layout = [0: n, 1: c, 2: h, 3: w],
    output_layout = [0: n, 1: k, 2: ho, 3: wo],
    dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  }
  %a = miopen.transform(%filter) {
    layout = [
      0: merge(1: c, 2: y, 3: x), gemmK
      1: passthrough(0: k), gemmM
    ]
  } : memref<?x?x?x?xf32> to memref<?x?xf32>
  %padded = miopen.transform(%input) {
    layout = [
      0: passthrough(0: n), n
      1: passthrough(1: c), c
      2: pad(2: hi, 0, 0), hipad
      3: pad(3: wi, 0, 0), wipad
    ]
  } : memref<?x?x?x?xf32> to memref<?x?x?x?xf32>
  %windows = miopen.transform(%padded) {
    layout = [
      0: passthrough(0: n), n
      1: passthrough(1: c), c
      [2, 3]: embed(2: hipad, 2, [1, 1, 0]), [y, ho]
      [4, 5]: embed(3: wipad, 2, [1, 1, 0]), [x, wo]
    ]
  } : memref<?x?x?x?xf32> to memref<?x?x?x?x?x?xf32>
  %b = miopen.transform(%windows) {
    layout = [
      0: merge(1: c, 2: y, 4: x), gemmK
      1: merge(0: n, 3: ho, 5: wo), gemmN
    ]
  } : memref<?x?x?x?x?x?xf32> to memref<?x?xf32>
  %c = miopen.transform(%output) {
    layout = [
      0: passthrough(1: k), gemmM
      1: merge(0: n, 2: ho, 3: wo), gemmN
    ]
  } : memref<?x?x?x?xf32> to memref<?x?xf32>
  miopen.gridwise_gemm(%a, %b, %c) {
    filter_dimension = [?, ?, ?, ?], filter_layout = [0: k, 1: c, 2: y, 3: x]
  }
  func.return
}

// -----
// CHECK:      specialise.mlir:{{[0-9]+}}:3: error: miopen.conv2d: the filter is 32x?x?x? here, but is to be 64x64x3x3
// CHECK-NEXT: miopen.conv2d(%filter, %input, %output) {
func.func @disagrees(%filter: memref<32x?x?x?xf32>, %input: memref<?x?x?x?xf32>, %output: memref<?x?x?x?xf32>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  }
  func.return
}

// -----
// CHECK: error: miopen.conv2d: 'c' is 56 in the input, but 64 elsewhere
func.func @layout(%filter: memref<?x?x?x?xf32>, %input: memref<?x?x?x?xf32>, %output: memref<?x?x?x?xf32>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "hi", "wi", "c"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  }
  func.return
}

// -----
// CHECK: error: miopen.conv2d: window y = 3 (dilated by 40 to 81) is larger than the padded input: hi = 56 + pads 0 + 0 = 56
func.func @window(%filter: memref<?x?x?x?xf32>, %input: memref<?x?x?x?xf32>, %output: memref<?x?x?x?xf32>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [40, 40], strides = [1, 1], padding = [0, 0]
  }
  func.return
}

// -----
// CHECK: error: miopen.conv2d: filter=64,64,3,3 has 4 sizes for g, k, c, y, x
func.func @groups(%filter: memref<?x?x?x?x?xf32>, %input: memref<?x?x?x?x?xf32>, %output: memref<?x?x?x?x?xf32>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["g", "k", "c", "y", "x"], input_layout = ["n", "g", "c", "hi", "wi"],
    output_layout = ["n", "g", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  }
  func.return
}
