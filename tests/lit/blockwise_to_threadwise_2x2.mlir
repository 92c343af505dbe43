// The pipelined product: A and B in two halves; each read stands two products before its use.
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:general:64,32,32,4,2,2"},gridwise-to-blockwise,blockwise-to-threadwise,cse' --compact | filecheck %s

// The registers hold one k of two halves; C_10 starts two rows down, C_01 two columns right.
// CHECK:      %thread_a = miopen.alloc() : memref<1x4xf32, #5>
// CHECK-NEXT: %thread_b = miopen.alloc() : memref<1x4xf32, #5>
// CHECK-NEXT: miopen.threadwise_copy(%rows_m_workitem_k_m_repeat_m_thread[%item, %c0, %c0], %thread_a) { vector = 2 }
// CHECK-NEXT: miopen.threadwise_copy(%rows_n_workitem_k_n_repeat_n_thread[%item, %c0, %c0], %thread_b) { vector = 2 }
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: miopen.threadwise_copy(%rows_n_workitem_k_n_repeat_n_thread[%item, %c0, %c1], %thread_b) { offset_dest = 2, vector = 2 }
// CHECK-NEXT: miopen.threadwise_copy(%rows_m_workitem_k_m_repeat_m_thread[%item, %c0, %c1], %thread_a) { offset_dest = 2, vector = 2 }
// CHECK-NEXT: miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) { m_per_thread = 2, n_per_thread = 2 }
// CHECK-NEXT: miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) { offset_b = 2, offset_c = 2, m_per_thread = 2, n_per_thread = 2 }
// CHECK-NEXT: %c4 = arith.constant 4 : index
// CHECK-NEXT: scf.for %k = %c1 to %c4 step %c1 {
// CHECK-NEXT:   miopen.threadwise_copy(%rows_m_workitem_k_m_repeat_m_thread[%item, %k, %c0], %thread_a) { vector = 2 }
// CHECK-NEXT:   miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) { offset_a = 2, offset_c = 8, m_per_thread = 2, n_per_thread = 2 }
// CHECK-NEXT:   miopen.threadwise_copy(%rows_n_workitem_k_n_repeat_n_thread[%item, %k, %c0], %thread_b) { vector = 2 }
// CHECK-NEXT:   miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) {
// CHECK-NEXT:     offset_a = 2,
// CHECK-NEXT:     offset_b = 2,
// CHECK-NEXT:     offset_c = 10,
// CHECK-NEXT:     m_per_thread = 2,
// CHECK-NEXT:     n_per_thread = 2
// CHECK-NEXT:   } : memref<1x4xf32, #5>, memref<1x4xf32, #5>, memref<4x4xf32, #5>
// CHECK-NEXT:   miopen.threadwise_copy(%rows_n_workitem_k_n_repeat_n_thread[%item, %k, %c1], %thread_b) { offset_dest = 2, vector = 2 }
// CHECK-NEXT:   miopen.threadwise_copy(%rows_m_workitem_k_m_repeat_m_thread[%item, %k, %c1], %thread_a) { offset_dest = 2, vector = 2 }
// CHECK-NEXT:   miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) { m_per_thread = 2, n_per_thread = 2 }
// CHECK-NEXT:   miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) { offset_b = 2, offset_c = 2, m_per_thread = 2, n_per_thread = 2 }
// CHECK-NEXT: }
// CHECK-NEXT: miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) { offset_a = 2, offset_c = 8, m_per_thread = 2, n_per_thread = 2 }
// CHECK-NEXT: miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) {
// CHECK-NEXT:   offset_a = 2,
// CHECK-NEXT:   offset_b = 2,
// CHECK-NEXT:   offset_c = 10,
// CHECK:      miopen.threadwise_copy(%thread_c_m_repeat_m_thread_n_repeat_n_thread,
// CHECK-NOT:  miopen.blockwise_
func.func @product(%a: memref<4x32xf32>, %b: memref<4x32xf32>, %c: memref<32x32xf32>) {
  miopen.gridwise_gemm(%a, %b, %c) : memref<4x32xf32>, memref<4x32xf32>, memref<32x32xf32>
  func.return
}
