// A forward convolution is views of its three arrays and one product (v4r4).
// RUN: imbrex-opt %s -p conv-to-gemm --split-input-file --verify-diagnostics --compact | filecheck %s

// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %filter_gemmK_gemmM = miopen.transform(%filter) {
// CHECK-NEXT:      gridwise_gemm_argument_position = 0,
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        0: merge(1: c, 2: y, 3: x), gemmK,
// CHECK-NEXT:        1: passthrough(0: k), gemmM
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<128x8x3x3xf32> to memref<72x128xf32>
// CHECK-NEXT:    %input_n_c_hipad_wipad = miopen.transform(%input) {
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        0: passthrough(0: n), n,
// CHECK-NEXT:        1: passthrough(1: c), c,
// CHECK-NEXT:        2: pad(2: hi, 0, 0), hipad,
// CHECK-NEXT:        3: pad(3: wi, 0, 0), wipad
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<128x8x32x32xf32> to memref<128x8x32x32xf32>
// CHECK-NEXT:    %input_n_c_y_ho_x_wo = miopen.transform(%input_n_c_hipad_wipad) {
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        0: passthrough(0: n), n,
// CHECK-NEXT:        1: passthrough(1: c), c,
// CHECK-NEXT:        [2, 3]: embed(2: hipad, 2, [1, 1, 0]), [y, ho],
// CHECK-NEXT:        [4, 5]: embed(3: wipad, 2, [1, 1, 0]), [x, wo]
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<128x8x32x32xf32> to memref<128x8x3x30x3x30xf32>
// CHECK-NEXT:    %input_gemmK_gemmN = miopen.transform(%input_n_c_y_ho_x_wo) {
// CHECK-NEXT:      gridwise_gemm_argument_position = 1,
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        0: merge(1: c, 2: y, 4: x), gemmK,
// CHECK-NEXT:        1: merge(0: n, 3: ho, 5: wo), gemmN
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<128x8x3x30x3x30xf32> to memref<72x115200xf32>
// CHECK-NEXT:    %output_gemmM_gemmN = miopen.transform(%output) {
// CHECK-NEXT:      gridwise_gemm_argument_position = 2,
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        0: passthrough(1: k), gemmM,
// CHECK-NEXT:        1: merge(0: n, 2: ho, 3: wo), gemmN
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<128x128x30x30xf32> to memref<128x115200xf32>
// CHECK-NEXT:    miopen.gridwise_gemm(%filter_gemmK_gemmM, %input_gemmK_gemmN, %output_gemmM_gemmN) {
// CHECK-NEXT:      kernel_algorithm = "v4r4",
// CHECK-NEXT:      filter_dimension = [128, 8, 3, 3],
// CHECK-NEXT:      filter_layout = [0: k, 1: c, 2: y, 3: x],
// CHECK-NEXT:      input_dimension = [128, 8, 32, 32],
// CHECK-NEXT:      input_layout = [0: n, 1: c, 2: hi, 3: wi],
// CHECK-NEXT:      output_dimension = [128, 128, 30, 30],
// CHECK-NEXT:      output_layout = [0: n, 1: k, 2: ho, 3: wo],
// CHECK-NEXT:      dilations = [1, 1],
// CHECK-NEXT:      strides = [1, 1],
// CHECK-NEXT:      padding = [0, 0]
// CHECK-NEXT:    } : memref<72x128xf32>, memref<72x115200xf32>, memref<128x115200xf32>
// CHECK-NEXT:    func.return
func.func @forward(%filter: memref<128x8x3x3xf32>, %input: memref<128x8x32x32xf32>, %output: memref<128x128x30x30xf32>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"],
    input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"],
    dilations = [1, 1],
    strides = [1, 1],
    padding = [0, 0]
  } : memref<128x8x3x3xf32>, memref<128x8x32x32xf32>, memref<128x128x30x30xf32>
  func.return
}

// -----
// The first draft's name, layouts in any order, pads, a stride and a dilation: merges follow memory, c fastest.
// CHECK-LABEL: func.func @draft
// CHECK:         0: merge(2: y, 0: x, 1: c), gemmK,
// CHECK-NEXT:    1: passthrough(3: k), gemmM
// CHECK:         1: pad(1: hi, 1, 2), hipad,
// CHECK-NEXT:    2: pad(2: wi, 0, 1), wipad,
// CHECK:         [1, 2]: embed(1: hipad, 2, [2, 1, 0]), [y, ho],
// CHECK-NEXT:    [3, 4]: embed(2: wipad, 2, [1, 2, 0]), [x, wo],
// CHECK:         0: merge(1: y, 3: x, 5: c), gemmK,
// CHECK-NEXT:    1: merge(2: ho, 0: n, 4: wo), gemmN
// CHECK:         0: passthrough(3: k), gemmM,
// CHECK-NEXT:    1: merge(0: ho, 1: n, 2: wo), gemmN
// CHECK:         padding = {{\[\[}}1, 2], [0, 1]]
// CHECK:       } : memref<36x8xf32>, memref<36x36xf32>, memref<8x36xf32>
func.func @draft(%filter: memref<3x4x3x8xf32>, %input: memref<2x7x6x4xf32>, %output: memref<6x2x3x8xf32>) {
  miopen.conv(%filter, %input, %output) {
    filter_layout = [0: x, 1: c, 2: y, 3: k],
    input_layout = [0: n, 1: h, 2: w, 3: c],
    output_layout = [0: ho, 1: n, 2: wo, 3: k],
    dilations = [2, 1], strides = [1, 2], padding = [[1, 2], [0, 1]]
  } : memref<3x4x3x8xf32>, memref<2x7x6x4xf32>, memref<6x2x3x8xf32>
  func.return
}

// -----
// Groups are gemmG, the slowest dim of every operand.
// CHECK-LABEL: func.func @groups
// CHECK:         0: passthrough(0: g), gemmG,
// CHECK-NEXT:    1: merge(2: c, 3: y, 4: x), gemmK,
// CHECK-NEXT:    2: passthrough(1: k), gemmM
// CHECK-NEXT:  ]
// CHECK-NEXT:  } : memref<2x4x3x1x1xf16> to memref<2x3x4xf16>
// CHECK:         0: passthrough(1: g), gemmG,
// CHECK-NEXT:    1: merge(2: c, 3: y, 5: x), gemmK,
// CHECK-NEXT:    2: merge(0: n, 4: ho, 6: wo), gemmN
// CHECK:         0: passthrough(1: g), gemmG,
// CHECK-NEXT:    1: passthrough(2: k), gemmM,
// CHECK-NEXT:    2: merge(0: n, 3: ho, 4: wo), gemmN
// CHECK:       } : memref<2x3x4xf16>, memref<2x3x5xf16>, memref<2x4x5xf16>
func.func @groups(%filter: memref<2x4x3x1x1xf16>, %input: memref<1x2x3x5x1xf16>, %output: memref<1x2x4x5x1xf16>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["g", "k", "c", "y", "x"], input_layout = ["n", "g", "c", "hi", "wi"],
    output_layout = ["n", "g", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  } : memref<2x4x3x1x1xf16>, memref<1x2x3x5x1xf16>, memref<1x2x4x5x1xf16>
  func.return
}

// -----
// CHECK:      conv_to_gemm_forward.mlir:{{[0-9]+}}:{{[0-9]+}}: error: sizes are not known here; run 'specialise' first
// CHECK-NEXT:   } : memref<4x3x1x1xf32>, memref<?x3x5x1xf32>, memref<?x4x5x1xf32>
// CHECK-NEXT: {{^ +}}^^^^^^^^^^^^^^^^^^
func.func @unknown(%filter: memref<4x3x1x1xf32>, %input: memref<?x3x5x1xf32>, %output: memref<?x4x5x1xf32>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  } : memref<4x3x1x1xf32>, memref<?x3x5x1xf32>, memref<?x4x5x1xf32>
  func.return
}
