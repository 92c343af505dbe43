// Numbers that were written by hand must tile: what they lack is said at the number, before anything is built of it.
// RUN: imbrex-opt %s -p gridwise-to-blockwise,blockwise-to-threadwise --split-input-file --verify-diagnostics | filecheck %s

// The numbers of the seeds' own example.
func.func @thread_tile(%a: memref<16x128xf32>, %b: memref<16x128xf32>, %c: memref<128x128xf32>) {
  // CHECK:      tiling_invalid.mlir:{{[0-9]+}}:20: error: a block's m is 128, not a multiple of 16384 (m_per_thread 64 x clusters 16 x 16)
  // CHECK-NEXT:     m_per_thread = 64, n_per_thread = 64, k_per_thread = 16,
  // CHECK-NEXT: {{^ +}}^^{{$}}
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 256, m_per_block = 128, n_per_block = 128, k_per_block = 16,
    m_per_thread = 64, n_per_thread = 64, k_per_thread = 16,
    m_level0_cluster = 16, n_level0_cluster = 16, m_level1_cluster = 16, n_level1_cluster = 16,
    matrix_a_source_vector_read_dim = 0, matrix_a_source_data_per_read = 4,
    matrix_a_dest_data_per_write_dim_m = 4, matrix_b_source_vector_read_dim = 1,
    matrix_b_source_data_per_read = 4, matrix_b_dest_data_per_write_dim_n = 4,
    matrix_c_source_dest_vector_read_write_dim = 3, matrix_c_dest_data_per_write = 1
  } : memref<16x128xf32>, memref<16x128xf32>, memref<128x128xf32>
  func.return
}

// -----
func.func @clusters(%a: memref<16x128xf32>, %b: memref<16x128xf32>, %c: memref<128x128xf32>) {
  // CHECK:      error: the clusters are 16 x 8 work items, the block has 256
  // CHECK-NEXT:     m_level0_cluster = 4, n_level0_cluster = 4, m_level1_cluster = 4, n_level1_cluster = 2,
  // CHECK-NEXT: {{^ +}}^{{$}}
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 256, m_per_block = 128, n_per_block = 128, k_per_block = 16,
    m_per_thread = 4, n_per_thread = 4, k_per_thread = 1,
    m_level0_cluster = 4, n_level0_cluster = 4, m_level1_cluster = 4, n_level1_cluster = 2,
    matrix_a_source_vector_read_dim = 0, matrix_a_source_data_per_read = 4,
    matrix_a_dest_data_per_write_dim_m = 4, matrix_b_source_vector_read_dim = 1,
    matrix_b_source_data_per_read = 4, matrix_b_dest_data_per_write_dim_n = 4,
    matrix_c_source_dest_vector_read_write_dim = 3, matrix_c_dest_data_per_write = 1
  } : memref<16x128xf32>, memref<16x128xf32>, memref<128x128xf32>
  func.return
}

// -----
func.func @untuned(%a: memref<4x32xf32>, %b: memref<4x32xf32>, %c: memref<32x32xf32>) {
  // CHECK: error: miopen.gridwise_gemm_ex: 'matrix_a_copy_cluster_lengths' is needed here; run 'affix-tuning' first
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 4,
    m_per_thread = 2, n_per_thread = 2, k_per_thread = 1,
    m_level0_cluster = 4, n_level0_cluster = 4, m_level1_cluster = 2, n_level1_cluster = 2,
    matrix_a_source_vector_read_dim = 0, matrix_a_source_data_per_read = 4,
    matrix_a_dest_data_per_write_dim_m = 4, matrix_b_source_vector_read_dim = 1,
    matrix_b_source_data_per_read = 4, matrix_b_dest_data_per_write_dim_n = 4,
    matrix_c_source_dest_vector_read_write_dim = 3, matrix_c_dest_data_per_write = 1
  } : memref<4x32xf32>, memref<4x32xf32>, memref<32x32xf32>
  func.return
}

// -----
func.func @copy(%a: memref<4x32xf32>, %b: memref<4x32xf32>, %c: memref<32x32xf32>) {
  // CHECK:      error: 4 x 8 work items copy, the block has 64
  // CHECK-NEXT: matrix_a_copy_cluster_lengths = [4, 8], matrix_b_copy_cluster_lengths = [4, 16]
  // CHECK-NEXT: {{^ +}}^^^^^^{{$}}
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 4,
    m_per_thread = 2, n_per_thread = 2, k_per_thread = 1,
    m_level0_cluster = 4, n_level0_cluster = 4, m_level1_cluster = 2, n_level1_cluster = 2,
    matrix_a_source_vector_read_dim = 0, matrix_a_source_data_per_read = 4,
    matrix_a_dest_data_per_write_dim_m = 4, matrix_b_source_vector_read_dim = 1,
    matrix_b_source_data_per_read = 4, matrix_b_dest_data_per_write_dim_n = 4,
    matrix_c_source_dest_vector_read_write_dim = 3, matrix_c_dest_data_per_write = 1,
    matrix_a_copy_cluster_lengths = [4, 8], matrix_b_copy_cluster_lengths = [4, 16]
  } : memref<4x32xf32>, memref<4x32xf32>, memref<32x32xf32>
  func.return
}

// -----
func.func @pipeline(%a: memref<4x32xf32>, %b: memref<4x64xf32>, %c: memref<32x64xf32>) {
  // CHECK: error: miopen.blockwise_gemm: the 2x2 pipeline needs 2 x 2 thread tiles a work item, got 2 x 4
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 32, n_per_block = 64, k_per_block = 4,
    m_per_thread = 2, n_per_thread = 2, k_per_thread = 1,
    m_level0_cluster = 4, n_level0_cluster = 4, m_level1_cluster = 2, n_level1_cluster = 2,
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 4,
    matrix_a_dest_data_per_write_dim_m = 4, matrix_b_source_vector_read_dim = 1,
    matrix_b_source_data_per_read = 4, matrix_b_dest_data_per_write_dim_n = 4,
    matrix_c_source_dest_vector_read_write_dim = 3, matrix_c_dest_data_per_write = 1,
    matrix_a_copy_cluster_lengths = [4, 16], matrix_b_copy_cluster_lengths = [4, 16], pipeline = "2x2"
  } : memref<4x32xf32>, memref<4x64xf32>, memref<32x64xf32>
  func.return
}

// -----
func.func @undivided(%a: memref<2x4x24xf32>, %c0: index) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 64 } do {
    %lds = miopen.alloc() : memref<4x24xf32, #3>
    // CHECK:      error: 4 x 16 work items do not divide a tile of 4 x 24
    // CHECK-NEXT: miopen.blockwise_copy(%a[%c0], %lds) { cluster_lengths = [4, 16] }
    miopen.blockwise_copy(%a[%c0], %lds) { cluster_lengths = [4, 16] } : memref<2x4x24xf32>, memref<4x24xf32, #3>
  }
  func.return
}

// -----
func.func @alone(%a: memref<2x4x32xf32>, %c0: index) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 64 } do {
    %lds = miopen.alloc() : memref<4x32xf32, #3>
    // CHECK: error: miopen.blockwise_copy: 'cluster_lengths' is needed: 64 work items share the copy
    miopen.blockwise_copy(%a[%c0], %lds) : memref<2x4x32xf32>, memref<4x32xf32, #3>
  }
  func.return
}

// -----
func.func @moved(%a: memref<2x4x32xf32>, %c0: index) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 64 } do {
    %lds = miopen.alloc() : memref<4x32xf32, #3>
    // CHECK: error: moves by 6, which is not whole steps of a source with 4 of k a step
    miopen.blockwise_copy(%a[%c0], %lds) { move_source_offset = 6, cluster_lengths = [4, 16] } : memref<2x4x32xf32>, memref<4x32xf32, #3>
  }
  func.return
}

// -----
func.func @unknown(%a: memref<2x4x?xf32>, %c0: index) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 64 } do {
    %lds = miopen.alloc() : memref<4x32xf32, #3>
    // CHECK: error: sizes are not known here; run 'specialise' first
    miopen.blockwise_copy(%a[%c0], %lds) { cluster_lengths = [4, 16] } : memref<2x4x?xf32>, memref<4x32xf32, #3>
  }
  func.return
}
