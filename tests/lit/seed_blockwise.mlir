// The double-buffered loop over LDS: the second draft's text, repaired.
// RUN: imbrex-opt %s | imbrex-opt | filecheck %s
// RUN: imbrex-opt %s --print-op-generic | imbrex-opt | filecheck %s
// RUN: imbrex-opt %s --compact | imbrex-opt | filecheck %s
// RUN: imbrex-opt %s -p check-buffers | filecheck %s

func.func @blockwise(%matrix_a: memref<?x?xf32>, %matrix_b: memref<?x?xf32>, %matrix_c: memref<?x?xf32>,
                     %k: index, %m: index, %n: index, %shared_block_size: index, %block_a_size: index,
                     %block_a_half: index, %block_b_half: index, %matrix_c_size: index, %copy_a: index, %copy_b: index,
                     %total_iteration: index, %has_one_iteration_left: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %block_shared = miopen.alloc(%shared_block_size, %c3) : memref<?xi8, #3>
  %block_a = miopen.subview(%block_shared, %c0) : memref<?xi8, #3> to memref<?xi8, #3>
  %block_a_even = miopen.subview(%block_a, %c0) : memref<?xi8, #3> to memref<?xi8, #3>
  %matrix_block_a_even = miopen.subview(%block_a_even, %c0) { dimension = [%k, %m] } : memref<?xi8, #3> to memref<?x?xf32, #3>
  %block_a_odd = miopen.subview(%block_a, %block_a_half) : memref<?xi8, #3> to memref<?xi8, #3>
  %matrix_block_a_odd = miopen.subview(%block_a_odd, %c0) { dimension = [%k, %m] } : memref<?xi8, #3> to memref<?x?xf32, #3>
  %block_b = miopen.subview(%block_shared, %block_a_size) : memref<?xi8, #3> to memref<?xi8, #3>
  %block_b_even = miopen.subview(%block_b, %c0) : memref<?xi8, #3> to memref<?xi8, #3>
  %matrix_block_b_even = miopen.subview(%block_b_even, %c0) { dimension = [%k, %n] } : memref<?xi8, #3> to memref<?x?xf32, #3>
  %block_b_odd = miopen.subview(%block_b, %block_b_half) : memref<?xi8, #3> to memref<?xi8, #3>
  %matrix_block_b_odd = miopen.subview(%block_b_odd, %c0) { dimension = [%k, %n] } : memref<?xi8, #3> to memref<?x?xf32, #3>
  %thread_c = miopen.alloc(%matrix_c_size, %c5) : memref<?xi8, #5>
  %matrix_thread_c = miopen.subview(%thread_c, %c0) { dimension = [%m, %n] } : memref<?xi8, #5> to memref<?x?xf32, #5>
  %thread_a_even = miopen.alloc(%copy_a, %c5) : memref<?xi8, #5>
  %thread_a_odd = miopen.alloc(%copy_a, %c5) : memref<?xi8, #5>
  %thread_b_even = miopen.alloc(%copy_b, %c5) : memref<?xi8, #5>
  %thread_b_odd = miopen.alloc(%copy_b, %c5) : memref<?xi8, #5>
  miopen.fill(%matrix_thread_c, %c0) : memref<?x?xf32, #5>
  miopen.blockwise_copy(%matrix_a, %block_a_even) : memref<?x?xf32>, memref<?xi8, #3>
  miopen.blockwise_copy(%matrix_b, %block_b_even) : memref<?x?xf32>, memref<?xi8, #3>
  scf.for %iter = %c0 to %total_iteration step %c1 {
    miopen.lds_barrier()
    miopen.blockwise_copy(%matrix_a, %thread_a_even) { move_source_offset = 16 } : memref<?x?xf32>, memref<?xi8, #5>
    miopen.blockwise_copy(%matrix_b, %thread_b_even) { move_source_offset = 16 } : memref<?x?xf32>, memref<?xi8, #5>
    miopen.blockwise_gemm(%matrix_block_a_even, %matrix_block_b_even, %matrix_thread_c) {
      m_per_thread = 64,
      n_per_thread = 64,
      k_per_thread = 16,
      m_level0_cluster = 16,
      n_level0_cluster = 16,
      m_level1_cluster = 16,
      n_level1_cluster = 16,
      matrix_a_source_data_per_read = 4,
      matrix_b_source_data_per_read = 4
    } : memref<?x?xf32, #3>, memref<?x?xf32, #3>, memref<?x?xf32, #5>
    miopen.blockwise_copy(%thread_a_even, %block_a_odd) : memref<?xi8, #5>, memref<?xi8, #3>
    miopen.blockwise_copy(%thread_b_even, %block_b_odd) : memref<?xi8, #5>, memref<?xi8, #3>
    miopen.lds_barrier()
    miopen.blockwise_copy(%matrix_a, %thread_a_odd) { move_source_offset = 16 } : memref<?x?xf32>, memref<?xi8, #5>
    miopen.blockwise_copy(%matrix_b, %thread_b_odd) { move_source_offset = 16 } : memref<?x?xf32>, memref<?xi8, #5>
    miopen.blockwise_gemm(%matrix_block_a_odd, %matrix_block_b_odd, %matrix_thread_c) {
      m_per_thread = 64,
      n_per_thread = 64,
      k_per_thread = 16,
      m_level0_cluster = 16,
      n_level0_cluster = 16,
      m_level1_cluster = 16,
      n_level1_cluster = 16,
      matrix_a_source_data_per_read = 4,
      matrix_b_source_data_per_read = 4
    } : memref<?x?xf32, #3>, memref<?x?xf32, #3>, memref<?x?xf32, #5>
    miopen.blockwise_copy(%thread_a_odd, %block_a_even) : memref<?xi8, #5>, memref<?xi8, #3>
    miopen.blockwise_copy(%thread_b_odd, %block_b_even) : memref<?xi8, #5>, memref<?xi8, #3>
  }
  miopen.lds_barrier()
  scf.if %has_one_iteration_left {
    miopen.blockwise_gemm(%matrix_block_a_even, %matrix_block_b_even, %matrix_thread_c) {
      m_per_thread = 64,
      n_per_thread = 64,
      k_per_thread = 16,
      m_level0_cluster = 16,
      n_level0_cluster = 16,
      m_level1_cluster = 16,
      n_level1_cluster = 16,
      matrix_a_source_data_per_read = 4,
      matrix_b_source_data_per_read = 4
    } : memref<?x?xf32, #3>, memref<?x?xf32, #3>, memref<?x?xf32, #5>
  } else {
    miopen.blockwise_gemm(%matrix_block_a_odd, %matrix_block_b_odd, %matrix_thread_c) {
      m_per_thread = 64,
      n_per_thread = 64,
      k_per_thread = 16,
      m_level0_cluster = 16,
      n_level0_cluster = 16,
      m_level1_cluster = 16,
      n_level1_cluster = 16,
      matrix_a_source_data_per_read = 4,
      matrix_b_source_data_per_read = 4
    } : memref<?x?xf32, #3>, memref<?x?xf32, #3>, memref<?x?xf32, #5>
  }
  miopen.threadwise_copy(%thread_c, %matrix_c) : memref<?xi8, #5>, memref<?x?xf32>
  func.return
}

// CHECK:      %block_shared = miopen.alloc(%shared_block_size, %c3) : memref<?xi8, #3>
// CHECK-NEXT: %block_a = miopen.subview(%block_shared, %c0) : memref<?xi8, #3> to memref<?xi8, #3>
// CHECK:      %matrix_block_a_odd = miopen.subview(%block_a_odd, %c0) { dimension = [%k, %m] } : memref<?xi8, #3> to memref<?x?xf32, #3>
// CHECK:      %thread_c = miopen.alloc(%matrix_c_size, %c5) : memref<?xi8, #5>
// CHECK:      miopen.fill(%matrix_thread_c, %c0) : memref<?x?xf32, #5>
// CHECK-NEXT: miopen.blockwise_copy(%matrix_a, %block_a_even) : memref<?x?xf32>, memref<?xi8, #3>
// CHECK:      scf.for %iter = %c0 to %total_iteration step %c1 {
// CHECK-NEXT:   miopen.lds_barrier()
// CHECK-NEXT:   miopen.blockwise_copy(%matrix_a, %thread_a_even) { move_source_offset = 16 } : memref<?x?xf32>, memref<?xi8, #5>
// CHECK:        miopen.blockwise_gemm(%matrix_block_a_even, %matrix_block_b_even, %matrix_thread_c) {
// CHECK-NEXT:     m_per_thread = 64,
// CHECK-NEXT:     n_per_thread = 64,
// CHECK-NEXT:     k_per_thread = 16,
// CHECK-NEXT:     m_level0_cluster = 16,
// CHECK-NEXT:     n_level0_cluster = 16,
// CHECK-NEXT:     m_level1_cluster = 16,
// CHECK-NEXT:     n_level1_cluster = 16,
// CHECK-NEXT:     matrix_a_source_data_per_read = 4,
// CHECK-NEXT:     matrix_b_source_data_per_read = 4
// CHECK-NEXT:   } : memref<?x?xf32, #3>, memref<?x?xf32, #3>, memref<?x?xf32, #5>
// CHECK:      scf.if %has_one_iteration_left {
// CHECK:      } else {
// CHECK:      miopen.threadwise_copy(%thread_c, %matrix_c) : memref<?xi8, #5>, memref<?x?xf32>
