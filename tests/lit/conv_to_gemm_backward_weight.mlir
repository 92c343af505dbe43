// Backward weight sums over all pixels: A is the output, B the input's windows, C the filter (v4r4).
// RUN: imbrex-opt %s -p conv-to-gemm --compact | filecheck %s

// CHECK:      %output_gemmK_gemmM = miopen.transform(%output) {
// CHECK-NEXT:   gridwise_gemm_argument_position = 0,
// CHECK-NEXT:   layout = [
// CHECK-NEXT:     0: merge(0: n, 2: ho, 3: wo), gemmK,
// CHECK-NEXT:     1: passthrough(1: k), gemmM
// CHECK-NEXT:   ]
// CHECK-NEXT: } : memref<2x4x4x4xf32> to memref<32x4xf32>
// CHECK-NEXT: %input_n_c_hipad_wipad = miopen.transform(%input) {
// CHECK:          2: pad(2: hi, 1, 1), hipad,
// CHECK-NEXT:     3: pad(3: wi, 1, 1), wipad
// CHECK:      %input_n_c_y_ho_x_wo = miopen.transform(%input_n_c_hipad_wipad) {
// CHECK:          [2, 3]: embed(2: hipad, 2, [1, 2, 0]), [y, ho],
// CHECK-NEXT:     [4, 5]: embed(3: wipad, 2, [1, 2, 0]), [x, wo]
// CHECK:      %input_gemmK_gemmN = miopen.transform(%input_n_c_y_ho_x_wo) {
// CHECK-NEXT:   gridwise_gemm_argument_position = 1,
// CHECK-NEXT:   layout = [
// CHECK-NEXT:     0: merge(0: n, 3: ho, 5: wo), gemmK,
// CHECK-NEXT:     1: merge(1: c, 2: y, 4: x), gemmN
// CHECK-NEXT:   ]
// CHECK-NEXT: } : memref<2x3x3x4x3x4xf32> to memref<32x27xf32>
// CHECK-NEXT: %filter_gemmM_gemmN = miopen.transform(%filter) {
// CHECK-NEXT:   gridwise_gemm_argument_position = 2,
// CHECK-NEXT:   layout = [
// CHECK-NEXT:     0: passthrough(0: k), gemmM,
// CHECK-NEXT:     1: merge(1: c, 2: y, 3: x), gemmN
// CHECK-NEXT:   ]
// CHECK-NEXT: } : memref<4x3x3x3xf32> to memref<4x27xf32>
// CHECK-NEXT: miopen.gridwise_gemm(%output_gemmK_gemmM, %input_gemmK_gemmN, %filter_gemmM_gemmN) {
// CHECK-NEXT:   kernel_algorithm = "backward_weight_v4r4",
// CHECK:      } : memref<32x4xf32>, memref<32x27xf32>, memref<4x27xf32>
func.func @backward_weight(%filter: memref<4x3x3x3xf32>, %input: memref<2x3x8x8xf32>, %output: memref<2x4x4x4xf32>) {
  miopen.conv2d_bwd_weight(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [2, 2], padding = [1, 1]
  } : memref<4x3x3x3xf32>, memref<2x3x8x8xf32>, memref<2x4x4x4xf32>
  func.return
}
