// Numbers of a product by warpgroups that were written by hand: what they lack is said at the number.
// RUN: imbrex-opt %s -p gridwise-to-blockwise --split-input-file --verify-diagnostics | filecheck %s

func.func @keys(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %c: memref<64x64xf16>) {
  // CHECK: error: miopen.gridwise_gemm_ex: 'group' is needed by the pipeline 'warpgroup'
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 256, m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster = [1, 1],
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 1,
    matrix_b_source_vector_read_dim = 1, matrix_b_source_data_per_read = 1, matrix_b_dest_data_per_write_dim_n = 1,
    matrix_c_source_dest_vector_read_write_dim = 1, matrix_c_dest_data_per_write = 1, pipeline = "warpgroup"
  } : memref<64x64xf16>, memref<64x64xf16>, memref<64x64xf16>
  func.return
}

// -----
func.func @threads(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %c: memref<64x64xf16>) {
  // CHECK:      error: 2 consumers and a producer are 384 work items, the block has 256
  // CHECK-NEXT: block_size = 256
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 256, m_per_block = 128, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 2, cluster = [1, 1], group = 1,
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 1,
    matrix_b_source_vector_read_dim = 1, matrix_b_source_data_per_read = 1, matrix_b_dest_data_per_write_dim_n = 1,
    matrix_c_source_dest_vector_read_write_dim = 1, matrix_c_dest_data_per_write = 1, pipeline = "warpgroup"
  } : memref<64x64xf16>, memref<64x64xf16>, memref<64x64xf16>
  func.return
}

// -----
func.func @pingpong(%a: memref<640x64xf16>, %b: memref<640x64xf16>, %c: memref<64x64xf16>) {
  // CHECK:      error: pingpong consumers have whole tiles; only data_parallel serves them
  // CHECK-NEXT: schedule = "stream_k"
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 384, m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 2, cluster = [1, 1], group = 1,
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 1,
    matrix_b_source_vector_read_dim = 1, matrix_b_source_data_per_read = 1, matrix_b_dest_data_per_write_dim_n = 1,
    matrix_c_source_dest_vector_read_write_dim = 1, matrix_c_dest_data_per_write = 1, pipeline = "warpgroup",
    pingpong = true, schedule = "stream_k", workgroups = 4
  } : memref<640x64xf16>, memref<640x64xf16>, memref<64x64xf16>
  func.return
}

// -----
func.func @count(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %c: memref<64x64xf16>) {
  // CHECK: error: miopen.gridwise_gemm_ex: 'workgroups' is needed where 'schedule' is given
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 256, m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster = [1, 1], group = 1,
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 1,
    matrix_b_source_vector_read_dim = 1, matrix_b_source_data_per_read = 1, matrix_b_dest_data_per_write_dim_n = 1,
    matrix_c_source_dest_vector_read_write_dim = 1, matrix_c_dest_data_per_write = 1, pipeline = "warpgroup", schedule = "split_k"
  } : memref<64x64xf16>, memref<64x64xf16>, memref<64x64xf16>
  func.return
}

// -----
func.func @cluster(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %c: memref<64x64xf16>) {
  miopen.launch(%wg, %item) { grid_size = 3, block_size = 256 } do {
    // CHECK:      error: 'workgroups' 3 are not whole clusters of 2 x 1
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster = [2, 1], group = 1,
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, workgroups = 3
    } : memref<64x64xf16>, memref<64x64xf16>, memref<64x64xf16>
  }
  func.return
}

// -----
func.func @sizes(%a: memref<64x64xf16>, %b: memref<32x64xf16>, %c: memref<64x64xf16>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 256 } do {
    // CHECK: error: k of a and b differ: 64 and 32
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster = [1, 1], group = 1,
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, workgroups = 1
    } : memref<64x64xf16>, memref<32x64xf16>, memref<64x64xf16>
  }
  func.return
}

// -----
func.func @workspace(%a: memref<640x64xf16>, %b: memref<640x64xf16>, %c: memref<64x64xf16>) {
  miopen.launch(%wg, %item) { grid_size = 3, block_size = 256 } do {
    // CHECK: error: 'partials' and 'flags' are given where, and only where, workgroups share tiles
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster = [1, 1], group = 1,
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, schedule = "stream_k", workgroups = 3
    } : memref<640x64xf16>, memref<640x64xf16>, memref<64x64xf16>
  }
  func.return
}

// -----
func.func @sums(%a: memref<640x64xf16>, %b: memref<640x64xf16>, %c: memref<64x64xf16>, %p: memref<3x4096xf16>, %f: memref<3xi32>) {
  miopen.launch(%wg, %item) { grid_size = 3, block_size = 256 } do {
    // CHECK: error: 'partials' is a memref<3x4096xf32> in global memory
    miopen.warpgroup_gemm(%a, %b, %c, %wg, %p, %f) {
      m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster = [1, 1], group = 1,
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, schedule = "stream_k", workgroups = 3
    } : memref<640x64xf16>, memref<640x64xf16>, memref<64x64xf16>, memref<3x4096xf16>, memref<3xi32>
  }
  func.return
}

// -----
func.func @parts(%a: memref<640x64xf16>, %b: memref<640x80xf16>, %c: memref<64x80xf16>) {
  miopen.launch(%wg, %item) { grid_size = 3, block_size = 256 } do {
    // CHECK: error: cluster_k has 2, 4 or 8 parts of K for each of 1 units, not 3
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      m_per_block = 64, n_per_block = 80, k_per_block = 64, stages = 2, consumers = 1, cluster = [1, 1], group = 1,
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, schedule = "cluster_k", workgroups = 3
    } : memref<640x64xf16>, memref<640x80xf16>, memref<64x80xf16>
  }
  func.return
}

// -----
func.func @columns(%a: memref<640x64xf16>, %b: memref<640x80xf16>, %c: memref<64x80xf16>) {
  miopen.launch(%wg, %item) { grid_size = 4, block_size = 256 } do {
    // CHECK: error: 80 columns are not 4 parts of whole 8
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      m_per_block = 64, n_per_block = 80, k_per_block = 64, stages = 2, consumers = 1, cluster = [1, 1], group = 1,
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, schedule = "cluster_k", workgroups = 4
    } : memref<640x64xf16>, memref<640x80xf16>, memref<64x80xf16>
  }
  func.return
}
