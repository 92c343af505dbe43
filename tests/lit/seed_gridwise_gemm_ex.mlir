// The tuned gridwise product with every attribute of the second draft.
// RUN: imbrex-opt %s | imbrex-opt | filecheck %s
// RUN: imbrex-opt %s --print-op-generic | imbrex-opt | filecheck %s
// RUN: imbrex-opt %s --compact | imbrex-opt | filecheck %s

func.func @ex(%matrix_a: memref<?x?xf32>, %matrix_b: memref<?x?xf32>, %matrix_c: memref<?x?xf32>) {
  miopen.gridwise_gemm_ex(%matrix_a, %matrix_b, %matrix_c) {
    block_size = 256,
    m_per_block = 128,
    n_per_block = 128,
    k_per_block = 16,
    m_per_thread = 64,
    n_per_thread = 64,
    k_per_thread = 16,
    m_level0_cluster = 16,
    n_level0_cluster = 16,
    m_level1_cluster = 16,
    n_level1_cluster = 16,
    matrix_a_source_vector_read_dim = 0,
    matrix_a_source_data_per_read = 4,
    matrix_a_dest_data_per_write_dim_m = 4,
    matrix_b_source_vector_read_dim = 1,
    matrix_b_source_data_per_read = 4,
    matrix_b_dest_data_per_write_dim_n = 4,
    matrix_c_source_dest_vector_read_write_dim = 3,
    matrix_c_dest_data_per_write = 1
  } : memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>
  func.return
}

// CHECK:        miopen.gridwise_gemm_ex(%matrix_a, %matrix_b, %matrix_c) {
// CHECK-NEXT:     block_size = 256,
// CHECK-NEXT:     m_per_block = 128,
// CHECK-NEXT:     n_per_block = 128,
// CHECK-NEXT:     k_per_block = 16,
// CHECK-NEXT:     m_per_thread = 64,
// CHECK-NEXT:     n_per_thread = 64,
// CHECK-NEXT:     k_per_thread = 16,
// CHECK-NEXT:     m_level0_cluster = 16,
// CHECK-NEXT:     n_level0_cluster = 16,
// CHECK-NEXT:     m_level1_cluster = 16,
// CHECK-NEXT:     n_level1_cluster = 16,
// CHECK-NEXT:     matrix_a_source_vector_read_dim = 0,
// CHECK-NEXT:     matrix_a_source_data_per_read = 4,
// CHECK-NEXT:     matrix_a_dest_data_per_write_dim_m = 4,
// CHECK-NEXT:     matrix_b_source_vector_read_dim = 1,
// CHECK-NEXT:     matrix_b_source_data_per_read = 4,
// CHECK-NEXT:     matrix_b_dest_data_per_write_dim_n = 4,
// CHECK-NEXT:     matrix_c_source_dest_vector_read_write_dim = 3,
// CHECK-NEXT:     matrix_c_dest_data_per_write = 1
// CHECK-NEXT:   } : memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>
