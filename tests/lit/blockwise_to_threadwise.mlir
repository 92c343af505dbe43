// What a workgroup does together becomes what each work item does: copies through registers, naive products.
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:general:64,64,32,4,2,2"},gridwise-to-blockwise,blockwise-to-threadwise,cse' --compact | filecheck %s

// A work item's slice of a tile of A in memory and in LDS.
// CHECK:      %items_m_step_workgroup_k_cluster_m_cluster_k_item_m_item = miopen.transform(%a_step_workgroup_k_m) {
// CHECK-NEXT:   layout = [
// CHECK-NEXT:     0: passthrough(0: step), step,
// CHECK-NEXT:     1: passthrough(1: workgroup), workgroup,
// CHECK-NEXT:     [2, 4]: unmerge(2: k), [k_cluster, k_item],
// CHECK-NEXT:     [3, 5]: unmerge(3: m), [m_cluster, m_item]
// CHECK-NEXT:   ]
// CHECK-NEXT: } : memref<2x1x4x64xf32> to memref<2x1x4x16x1x4xf32>
// CHECK-NEXT: %items_m_step_workgroup_workitem_k_item_m_item = miopen.transform
// CHECK-NEXT:   layout = [
// CHECK-NEXT:     2: merge(2: k_cluster, 3: m_cluster), workitem,
// CHECK:      } : memref<2x1x4x16x1x4xf32> to memref<2x1x64x1x4xf32>
// CHECK:      %items_n_step_workgroup_workitem_k_item_n_item = miopen.transform

// The rows of a tile in LDS that a work item multiplies: work items of one row of clusters share them.
// CHECK:      %rows_m_m_level1_n_level1_m_level0_n_level0_k_m_repeat_m_thread = miopen.transform(%matrix_block_a_even) {
// CHECK-NEXT:   layout = [
// CHECK-NEXT:     4: passthrough(0: k), k,
// CHECK-NEXT:     [5, 0, 2, 6]: unmerge(1: m), [m_repeat, m_level1, m_level0, m_thread],
// CHECK-NEXT:     1: broadcast(), n_level1,
// CHECK-NEXT:     3: broadcast(), n_level0
// CHECK-NEXT:   ]
// CHECK-NEXT: } : memref<4x64xf32, #3> to memref<2x2x4x4x4x4x2xf32, #3>
// CHECK-NEXT: %rows_m_workitem_k_m_repeat_m_thread = miopen.transform
// CHECK-NEXT:   layout = [
// CHECK-NEXT:     0: merge(0: m_level1, 1: n_level1, 2: m_level0, 3: n_level0), workitem,

// Memory to LDS, through registers.
// CHECK:      %thread_staged = miopen.alloc() : memref<1x4xf32, #5>
// CHECK-NEXT: miopen.threadwise_copy(%items_m_step_workgroup_workitem_k_item_m_item[%c0, %wg, %item], %thread_staged) { vector = 4 } : memref<2x1x64x1x4xf32>, memref<1x4xf32, #5>
// CHECK-NEXT: miopen.threadwise_copy(%thread_staged, %items_m_workitem_k_item_m_item[%item]) { vector = 4 } : memref<1x4xf32, #5>, memref<64x1x4xf32, #3>
// CHECK-NEXT: %thread_staged_1 = miopen.alloc() : memref<1x2xf32, #5>
// CHECK-NEXT: miopen.threadwise_copy(%items_n_step_workgroup_workitem_k_item_n_item[%c0, %wg, %item], %thread_staged_1) { vector = 2 } : memref<2x1x64x1x2xf32>, memref<1x2xf32, #5>
// CHECK-NEXT: miopen.threadwise_copy(%thread_staged_1, %items_n_workitem_k_item_n_item[%item]) { vector = 2 } : memref<1x2xf32, #5>, memref<64x1x2xf32, #3>

// The next tile is loaded before the product and stored after it.
// CHECK-NEXT: miopen.lds_barrier()
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %1 = arith.addi %c0, %c1 : index
// CHECK-NEXT: miopen.threadwise_copy(%items_m_step_workgroup_workitem_k_item_m_item[%1, %wg, %item], %thread_a_even) { vector = 4 }
// CHECK-NEXT: miopen.threadwise_copy(%items_n_step_workgroup_workitem_k_item_n_item[%1, %wg, %item], %thread_b_even) { vector = 2 }

// Naive: for each k, four groups of rows of A and two of B, then one product.
// CHECK-NEXT: %thread_a = miopen.alloc() : memref<1x8xf32, #5>
// CHECK-NEXT: %thread_b = miopen.alloc() : memref<1x4xf32, #5>
// CHECK-NEXT: %c4 = arith.constant 4 : index
// CHECK-NEXT: scf.for %k = %c0 to %c4 step %c1 {
// CHECK-NEXT:   miopen.threadwise_copy(%rows_m_workitem_k_m_repeat_m_thread[%item, %k, %c0], %thread_a) { vector = 2 } : memref<64x4x4x2xf32, #3>, memref<1x8xf32, #5>
// CHECK-NEXT:   miopen.threadwise_copy(%rows_m_workitem_k_m_repeat_m_thread[%item, %k, %c1], %thread_a) { offset_dest = 2, vector = 2 }
// CHECK-NEXT:   %c2 = arith.constant 2 : index
// CHECK-NEXT:   miopen.threadwise_copy(%rows_m_workitem_k_m_repeat_m_thread[%item, %k, %c2], %thread_a) { offset_dest = 4, vector = 2 }
// CHECK-NEXT:   %c3 = arith.constant 3 : index
// CHECK-NEXT:   miopen.threadwise_copy(%rows_m_workitem_k_m_repeat_m_thread[%item, %k, %c3], %thread_a) { offset_dest = 6, vector = 2 }
// CHECK-NEXT:   miopen.threadwise_copy(%rows_n_workitem_k_n_repeat_n_thread[%item, %k, %c0], %thread_b) { vector = 2 } : memref<64x4x2x2xf32, #3>, memref<1x4xf32, #5>
// CHECK-NEXT:   miopen.threadwise_copy(%rows_n_workitem_k_n_repeat_n_thread[%item, %k, %c1], %thread_b) { offset_dest = 2, vector = 2 }
// CHECK-NEXT:   miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) : memref<1x8xf32, #5>, memref<1x4xf32, #5>, memref<8x4xf32, #5>
// CHECK-NEXT: }
// CHECK-NEXT: miopen.threadwise_copy(%thread_a_even, %items_m_workitem_k_item_m_item_1[%item]) { vector = 4 } : memref<1x4xf32, #5>, memref<64x1x4xf32, #3>
// CHECK-NEXT: miopen.threadwise_copy(%thread_b_even, %items_n_workitem_k_item_n_item_1[%item]) { vector = 2 } : memref<1x2xf32, #5>, memref<64x1x2xf32, #3>
// CHECK-NEXT: miopen.lds_barrier()
// CHECK-NOT:  miopen.blockwise_
func.func @product(%a: memref<8x64xf32>, %b: memref<8x32xf32>, %c: memref<64x32xf32>) {
  miopen.gridwise_gemm(%a, %b, %c) : memref<8x64xf32>, memref<8x32xf32>, memref<64x32xf32>
  func.return
}
