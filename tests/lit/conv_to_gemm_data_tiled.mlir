// A data-tiled product: packed arrays, launches that fill them, the product between, and one that unpacks C.
// RUN: imbrex-opt %s -p conv-to-gemm --compact | filecheck %s
// RUN: imbrex-opt %s -p conv-to-gemm | imbrex-opt - -p unfold --compact | filecheck %s

// CHECK:      %packed_a = miopen.workspace() : memref<1x1x4x16x4xf32>
// CHECK:      0: pad(0: gemmK, 0, 13), gemmK,
// CHECK-NEXT: 1: pad(1: gemmM, 0, 11), gemmM
// CHECK:      miopen.launch(%wg, %item) { grid_size = 1, block_size = 256 } do {
// CHECK:        miopen.threadwise_copy(%a_workgroup_workitem_other_slot[%wg, %item], %thread_a) { vector = 4 }
// CHECK:        miopen.threadwise_copy(%thread_a, %packed_a_workgroup_workitem_other_slot[%wg, %item]) { vector = 4 }
// CHECK:      %packed_b = miopen.workspace() : memref<1x1x4x16x4xf32>
// CHECK:      miopen.launch
// CHECK:        miopen.threadwise_copy(%b_workgroup_workitem_other_slot[%wg_1, %item_1], %thread_b_turned_other_slot) { vector = 4 }
// CHECK:        miopen.threadwise_copy(%thread_b_turned_other_slot, %thread_b)
// CHECK:      %packed_c = miopen.workspace() : memref<1x1x4x16x4xf32>
// CHECK:      miopen.gridwise_gemm(%packed_a_gemmK_gemmM, %packed_b_gemmK_gemmN, %packed_c_gemmM_gemmN) {
// CHECK-NEXT:   tuning = {
// CHECK-NEXT:     kind = "xdlops",
// CHECK-NEXT:     m_per_block = 16,
// CHECK:          instruction = "mfma_f32_16x16x4_f32",
// CHECK-NEXT:     lds = "tiled",
// CHECK:      } : memref<16x16xf32>, memref<16x16xf32>, memref<16x16xf32>
// CHECK:      miopen.launch
// CHECK:        miopen.threadwise_copy(%thread_c_turned_other_slot, %c_workgroup_workitem_other_slot[%wg_2, %item_2]) { vector = 4, alpha = 2.0, beta = 0.5 }
func.func @product(%a: memref<5x3xf32>, %b: memref<3x7xf32>, %c: memref<5x7xf32>) {
  miopen.gemm(%a, %b, %c) { alpha = 2.0, beta = 0.5, data_tiled = "f32_16x16x4_Kx4" }
  func.return
}
