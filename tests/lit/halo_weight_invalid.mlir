// Products by warpgroups whose columns are a window's taps, written by hand: what they are not for.
// RUN: imbrex-opt %s -p gridwise-to-blockwise --split-input-file --verify-diagnostics | filecheck %s

func.func @pingpong(%a: memref<512x64xf16>, %b: memref<512x576xf16>, %c: memref<64x576xf32>) {
  // CHECK: error: miopen.warpgroup_gemm: 'b_halo' is for single workgroups whose consumers compute whole tiles together
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 384, m_per_block = 64, n_per_block = 576, k_per_block = 128, stages = 2, cluster = [1, 1], group = 1,
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 1,
    matrix_b_source_vector_read_dim = 1, matrix_b_source_data_per_read = 1, matrix_b_dest_data_per_write_dim_n = 1,
    matrix_c_source_dest_vector_read_write_dim = 1, matrix_c_dest_data_per_write = 1, pipeline = "warpgroup",
    b_halo = 192, consumers = 2, pingpong = true
  } : memref<512x64xf16>, memref<512x576xf16>, memref<64x576xf32>
  func.return
}

// -----

func.func @parts(%a: memref<512x64xf16>, %b: memref<512x1152xf16>, %c: memref<64x1152xf32>) {
  // CHECK: error: miopen.warpgroup_gemm: 'n_per_block' 576 is not all columns, whole parts of them for 3 consumers
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 512, m_per_block = 64, n_per_block = 576, k_per_block = 128, stages = 2, cluster = [1, 1], group = 1,
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 1,
    matrix_b_source_vector_read_dim = 1, matrix_b_source_data_per_read = 1, matrix_b_dest_data_per_write_dim_n = 1,
    matrix_c_source_dest_vector_read_write_dim = 1, matrix_c_dest_data_per_write = 1, pipeline = "warpgroup",
    b_halo = 192, consumers = 3
  } : memref<512x64xf16>, memref<512x1152xf16>, memref<64x1152xf32>
  func.return
}

// -----

func.func @consumers(%a: memref<512x64xf16>, %b: memref<512x576xf16>, %c: memref<64x576xf32>) {
  // CHECK: error: miopen.warpgroup_gemm: 'n_per_block' 576 is not all columns, whole parts of them for 5 consumers
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 768, m_per_block = 64, n_per_block = 576, k_per_block = 128, stages = 2, cluster = [1, 1], group = 1,
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 1,
    matrix_b_source_vector_read_dim = 1, matrix_b_source_data_per_read = 1, matrix_b_dest_data_per_write_dim_n = 1,
    matrix_c_source_dest_vector_read_write_dim = 1, matrix_c_dest_data_per_write = 1, pipeline = "warpgroup",
    b_halo = 192, consumers = 5
  } : memref<512x64xf16>, memref<512x576xf16>, memref<64x576xf32>
  func.return
}
