// The naive and the pipelined 2x2 product of one work item: the second draft's text, with numbers for what it
// leaves open, and types left out where the operands are known.
// RUN: imbrex-opt %s | imbrex-opt | filecheck %s
// RUN: imbrex-opt %s --print-op-generic | imbrex-opt | filecheck %s
// RUN: imbrex-opt %s --compact | imbrex-opt | filecheck %s

func.func @naive(%block_a: memref<?x?xf32, #3>, %block_b: memref<?x?xf32, #3>, %thread_c: memref<?x?xf32, #5>,
                 %threadwise_matrix_a: index, %threadwise_matrix_b: index, %K: index, %k_per_thread_loop: index,
                 %repeat_a: index, %repeat_b: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %thread_a = miopen.alloc(%threadwise_matrix_a, %c5) : memref<?xi8, #5>
  %thread_b = miopen.alloc(%threadwise_matrix_b, %c5) : memref<?xi8, #5>
  %total_iteration = arith.divui %K, %k_per_thread_loop : index
  scf.for %iter_k = %c0 to %total_iteration step %c1 {
    scf.for %iter_a = %c0 to %repeat_a step %c1 {
      miopen.threadwise_copy(%block_a, %thread_a) { offset_block = 64, offset_thread = 4 }
    }
    scf.for %iter_b = %c0 to %repeat_b step %c1 {
      miopen.threadwise_copy(%block_b, %thread_b) { offset_block = 64, offset_thread = 4 }
    }
    miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c)
  }
  func.return
}

func.func @pipelined(%block_a: memref<?x?xf32, #3>, %block_b: memref<?x?xf32, #3>, %thread_c: memref<8x8xf32, #5>,
                     %threadwise_matrix_a: index, %threadwise_matrix_b: index, %total_iteration: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %thread_a = miopen.alloc(%threadwise_matrix_a, %c5) : memref<?xi8, #5>
  %thread_b = miopen.alloc(%threadwise_matrix_b, %c5) : memref<?xi8, #5>
  miopen.threadwise_copy(%block_a, %thread_a) { offset_source = 0 }
  miopen.threadwise_copy(%block_b, %thread_b) { offset_source = 0 }
  miopen.threadwise_copy(%block_b, %thread_b) { offset_source = [0, 64], offset_dest = 4 }
  miopen.threadwise_copy(%block_a, %thread_a) { offset_source = [0, 64], offset_dest = 4 }
  miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c)
  miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) { offset_b = 4, offset_c = 4 }
  scf.for %iter_k = %c0 to %total_iteration step %c1 {
    miopen.threadwise_copy(%block_a, %thread_a) { offset_source = 0 }
    miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) { offset_a = 4, offset_c = 32 }
    miopen.threadwise_copy(%block_b, %thread_b) { offset_source = 0 }
    miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) { offset_a = 4, offset_b = 4, offset_c = 36 }
    miopen.threadwise_copy(%block_b, %thread_b) { offset_source = 64, offset_dest = 4 }
    miopen.threadwise_copy(%block_a, %thread_a) { offset_source = 64, offset_dest = 4 }
    miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c)
    miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) { offset_b = 4, offset_c = 4 }
  }
  miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) { offset_a = 4, offset_c = 32 }
  miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) { offset_a = 4, offset_b = 4, offset_c = 36 }
  func.return
}

// CHECK:      miopen.threadwise_copy(%block_a, %thread_a) { offset_block = 64, offset_thread = 4 } : memref<?x?xf32, #3>, memref<?xi8, #5>
// CHECK:      miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) : memref<?xi8, #5>, memref<?xi8, #5>, memref<?x?xf32, #5>
// CHECK:      miopen.threadwise_copy(%block_b, %thread_b) { offset_source = [0, 64], offset_dest = 4 } : memref<?x?xf32, #3>, memref<?xi8, #5>
// CHECK:      miopen.threadwise_gemm(%thread_a, %thread_b, %thread_c) { offset_a = 4, offset_b = 4, offset_c = 36 } : memref<?xi8, #5>, memref<?xi8, #5>, memref<8x8xf32, #5>
