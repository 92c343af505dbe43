// Forward convolution in the compact form of the first draft, repaired.
// RUN: imbrex-opt %s --compact | imbrex-opt --compact | filecheck %s
// RUN: imbrex-opt %s | imbrex-opt --compact | filecheck %s
// RUN: imbrex-opt %s --print-op-generic | imbrex-opt --compact | filecheck %s
// RUN: imbrex-opt %s | filecheck %s --check-prefix=LONG

func.func @forward(%filter: memref<?x?x?x?xf32>, %input: memref<?x?x?x?xf32>, %output: memref<?x?x?x?xf32>) {
  miopen.conv(%filter, %input, %output) {
    filter_layout = [0: k, 1: c, 2: y, 3: x],
    input_layout = [0: n, 1: c, 2: h, 3: w],
    output_layout = [0: n, 1: k, 2: ho, 3: wo],
    dilations = [1, 1],
    strides = [1, 1],
    padding = [0, 0]
  } : memref<?x?x?x?xf32>,
      memref<?x?x?x?xf32>,
      memref<?x?x?x?xf32>
  %filter_gemmK_gemmM = miopen.transform(%filter) {
    layout = [
      0: merge(1: c, 2: y, 3: x), gemmK
      1: passthrough(0: k), gemmM
    ]
  } : memref<?x?x?x?xf32> to memref<?x?xf32>
  %input_n_c_hipad_wipad = miopen.transform(%input) {
    layout = [
      0: passthrough(0: n), n
      1: passthrough(1: c), c
      2: pad(2: h, 0, 0), hipad
      3: pad(3: w, 0, 0), wipad
    ]
  } : memref<?x?x?x?xf32> to memref<?x?x?x?xf32>
  %input_n_c_y_ho_x_wo = miopen.transform(%input_n_c_hipad_wipad) {
    layout = [
      0: passthrough(0: n), n
      1: passthrough(1: c), c
      [2, 3]: embed(2: hipad, 2, [1, 1, 0]), [y, ho]
      [4, 5]: embed(3: wipad, 2, [1, 1, 0]), [x, wo]
    ]
  } : memref<?x?x?x?xf32> to memref<?x?x?x?x?x?xf32>
  %input_gemmK_gemmN = miopen.transform(%input_n_c_y_ho_x_wo) {
    layout = [
      0: merge(1: c, 2: y, 4: x), gemmK
      1: merge(0: n, 3: ho, 5: wo), gemmN
    ]
  } : memref<?x?x?x?x?x?xf32> to memref<?x?xf32>
  %output_gemmM_gemmN = miopen.transform(%output) {
    layout = [
      0: passthrough(1: k), gemmM
      1: merge(0: n, 2: ho, 3: wo), gemmN
    ]
  } : memref<?x?x?x?xf32> to memref<?x?xf32>
  miopen.gridwise_gemm(%filter_gemmK_gemmM, %input_gemmK_gemmN, %output_gemmM_gemmN) {
    parameters = [
      // tuning parameters
    ]
  } : memref<?x?xf32>,
      memref<?x?xf32>,
      memref<?x?xf32>
  func.return
}

// CHECK:      miopen.conv(%filter, %input, %output) {
// CHECK-NEXT:   filter_layout = [0: k, 1: c, 2: y, 3: x],
// CHECK-NEXT:   input_layout = [0: n, 1: c, 2: hi, 3: wi],
// CHECK-NEXT:   output_layout = [0: n, 1: k, 2: ho, 3: wo],
// CHECK:      %filter_gemmK_gemmM = miopen.transform(%filter) {
// CHECK-NEXT:   layout = [
// CHECK-NEXT:     0: merge(1: c, 2: y, 3: x), gemmK,
// CHECK-NEXT:     1: passthrough(0: k), gemmM
// CHECK-NEXT:   ]
// CHECK-NEXT: } : memref<?x?x?x?xf32> to memref<?x?xf32>
// CHECK:          2: pad(2: h, 0, 0), hipad,
// CHECK-NEXT:     3: pad(3: w, 0, 0), wipad
// CHECK:          [2, 3]: embed(2: hipad, 2, [1, 1, 0]), [y, ho],
// CHECK-NEXT:     [4, 5]: embed(3: wipad, 2, [1, 1, 0]), [x, wo]
// CHECK:      miopen.gridwise_gemm(%filter_gemmK_gemmM, %input_gemmK_gemmN, %output_gemmM_gemmN) { parameters = [] }

// LONG:       miopen.conv2d(%filter, %input, %output) {
// LONG-NEXT:    filter_layout = ["k", "c", "y", "x"],
// LONG-NEXT:    input_layout = ["n", "c", "hi", "wi"],
// LONG:           transformation = "embed",
// LONG-NEXT:      parameters = [2, [1, 1, 0]],
// LONG-NEXT:      source_dimensions = [2],
// LONG-NEXT:      source_names = ["hipad"]
// LONG:         intermediate_layout = ["n", "c", "hipad", "wipad"],
// LONG-NEXT:    output_layout = ["n", "c", "y", "ho", "x", "wo"]
