// RUN: imbrex-opt %s -p conv-to-gemm | filecheck %s

// An epilogue is a view of what is written: every level stores through it, and no other operation changes.

// CHECK-LABEL: @product
// CHECK: %[[F:.*]] = miopen.finish(%c, %bias_m_n) { expression = "relu(x + bias)" } : memref<4x8xf16>, memref<4x8xf16> to memref<4x8xf32>
// CHECK: %[[C:.*]] = miopen.transform(%[[F]])
// CHECK: miopen.gridwise_gemm(%{{.*}}, %{{.*}}, %[[C]])
func.func @product(%a: memref<4x16xf16>, %b: memref<16x8xf16>, %c: memref<4x8xf16>, %bias: memref<8xf16>) {
  %bias_m_n = miopen.transform(%bias) {
    layout = [
      { dimensions = [1], names = ["n"], transformation = "passthrough", source_dimensions = [0], source_names = ["channel"] },
      { dimensions = [0], names = ["m"], transformation = "broadcast", source_dimensions = [], source_names = [] }
    ]
  } : memref<8xf16> to memref<4x8xf16>
  %finished = miopen.finish(%c, %bias_m_n) { expression = "relu(x + bias)" } : memref<4x8xf16>, memref<4x8xf16> to memref<4x8xf32>
  miopen.gemm(%a, %b, %finished) : memref<4x16xf16>, memref<16x8xf16>, memref<4x8xf32>
  return
}
