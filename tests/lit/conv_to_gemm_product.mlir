// A matrix product is its own gemm; transposes become the order of dims, alpha and beta stay.
// RUN: imbrex-opt %s -p conv-to-gemm --compact | filecheck %s

// CHECK:      %a_gemmG_gemmK_gemmM = miopen.transform(%a) {
// CHECK-NEXT:   gridwise_gemm_argument_position = 0,
// CHECK-NEXT:   layout = [
// CHECK-NEXT:     0: passthrough(0: g), gemmG,
// CHECK-NEXT:     1: passthrough(1: k), gemmK,
// CHECK-NEXT:     2: passthrough(2: m), gemmM
// CHECK-NEXT:   ]
// CHECK-NEXT: } : memref<2x5x7xf32> to memref<2x5x7xf32>
// CHECK:      %b_gemmG_gemmK_gemmN = miopen.transform(%b) {
// CHECK:          1: passthrough(1: k), gemmK,
// CHECK-NEXT:     2: passthrough(2: n), gemmN
// CHECK:      %c_gemmG_gemmM_gemmN = miopen.transform(%c) {
// CHECK:      miopen.gridwise_gemm(%a_gemmG_gemmK_gemmM, %b_gemmG_gemmK_gemmN, %c_gemmG_gemmM_gemmN) { alpha = 2.0, beta = 0.5 } : memref<2x5x7xf32>, memref<2x5x9xf32>, memref<2x7x9xf32>
func.func @product(%a: memref<2x5x7xf32>, %b: memref<2x5x9xf32>, %c: memref<2x7x9xf32>) {
  miopen.gemm(%a, %b, %c) { a_transposed = true, alpha = 2.0, beta = 0.5 }
  func.return
}
