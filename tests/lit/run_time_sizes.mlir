// A size `?` is one that a kernel is told: m of a product, n of a forward convolution, the outermost of its arrays.
// RUN: imbrex-opt %s -p run-time-sizes,conv-to-gemm --split-input-file --compact | filecheck %s

// CHECK-LABEL: func.func @rows(%a: memref<?x96xf32>, %b: memref<96x64xf32>, %c: memref<?x64xf32>)
// CHECK:         %a_m_k = miopen.transform(%a)
// CHECK:             0: prefix(0: m, 1), m,
// CHECK:         } : memref<?x96xf32> to memref<65536x96xf32>
// CHECK:         %c_m_n = miopen.transform(%c)
// CHECK:         } : memref<?x64xf32> to memref<65536x64xf32>
// CHECK:         miopen.gridwise_gemm
func.func @rows(%a: memref<?x96xf32>, %b: memref<96x64xf32>, %c: memref<?x64xf32>) {
  miopen.gemm(%a, %b, %c) : memref<?x96xf32>, memref<96x64xf32>, memref<?x64xf32>
  func.return
}

// -----
// CHECK-LABEL: func.func @images
// CHECK:             0: prefix(0: n, 1), n,
// CHECK:         } : memref<?x3x8x8xf32> to memref<1024x3x8x8xf32>
// CHECK:         } : memref<?x4x6x6xf32> to memref<1024x4x6x6xf32>
func.func @images(%filter: memref<4x3x3x3xf32>, %input: memref<?x3x8x8xf32>, %output: memref<?x4x6x6xf32>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  } : memref<4x3x3x3xf32>, memref<?x3x8x8xf32>, memref<?x4x6x6xf32>
  func.return
}
