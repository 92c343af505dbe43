// Numbers of a product by waves that were written by hand: what they lack is said at the number.
// RUN: imbrex-opt %s -p gridwise-to-blockwise,blockwise-to-threadwise --split-input-file --verify-diagnostics | filecheck %s

func.func @keys(%a: memref<32x32xf32>, %b: memref<32x32xf32>, %c: memref<32x32xf32>) {
  // CHECK: error: 'kpack' is needed by the pipeline 'xdlops'
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 8, m_per_wave = 32, n_per_wave = 32,
    instruction = "mfma_f32_32x32x2_f32", pipeline = "xdlops",
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 1,
    matrix_b_source_vector_read_dim = 1, matrix_b_source_data_per_read = 1, matrix_b_dest_data_per_write_dim_n = 1,
    matrix_c_dest_data_per_write = 1
  } : memref<32x32xf32>, memref<32x32xf32>, memref<32x32xf32>
  func.return
}

// -----
func.func @clusters(%a: memref<32x32xf32>, %b: memref<32x32xf32>, %c: memref<32x32xf32>) {
  // CHECK: error: 'm_per_thread' is needed by the pipeline 'naive'
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 8,
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 1,
    matrix_b_source_vector_read_dim = 1, matrix_b_source_data_per_read = 1, matrix_b_dest_data_per_write_dim_n = 1,
    matrix_c_dest_data_per_write = 1
  } : memref<32x32xf32>, memref<32x32xf32>, memref<32x32xf32>
  func.return
}

// -----
func.func @pipeline(%a: memref<32x32xf32>, %b: memref<32x32xf32>, %c: memref<32x32xf32>) {
  // CHECK:      error: unknown pipeline 'xdlop'; did you mean 'xdlops'?
  // CHECK-NEXT: miopen.gridwise_gemm_ex(%a, %b, %c) { pipeline = "xdlop" }
  // CHECK-NEXT:                                                  ^^^^^^^
  miopen.gridwise_gemm_ex(%a, %b, %c) { pipeline = "xdlop" }
  func.return
}

// -----
func.func @direct(%a: memref<32x32xf32>, %b: memref<32x32xf32>, %c: memref<32x32xf32>) {
  // CHECK:      error: a direct copy has no 'matrix_a_dest_data_per_write_dim_m'
  // CHECK-NEXT: matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 4,
  // CHECK-NEXT:                                                                        ^
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 8, copy = "direct",
    m_per_wave = 32, n_per_wave = 32, kpack = 4, instruction = "mfma_f32_32x32x2_f32", pipeline = "xdlops",
    matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 4,
    matrix_b_source_data_per_read = 1, matrix_c_dest_data_per_write = 1
  } : memref<32x32xf32>, memref<32x32xf32>, memref<32x32xf32>
  func.return
}

// -----
func.func @word(%a: memref<32x32xf32>, %b: memref<32x32xf32>, %c: memref<32x32xf32>) {
  // CHECK: error: unknown lds_layout 'xorr'; did you mean 'xor'?
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 8, lds_layout = "xorr",
    m_per_wave = 32, n_per_wave = 32, kpack = 4, instruction = "mfma_f32_32x32x2_f32", pipeline = "xdlops",
    matrix_a_source_data_per_read = 1, matrix_b_source_data_per_read = 1, matrix_c_dest_data_per_write = 1
  } : memref<32x32xf32>, memref<32x32xf32>, memref<32x32xf32>
  func.return
}

// -----
func.func @tile(%a: memref<32x48xf32>, %b: memref<32x32xf32>, %c: memref<48x32xf32>) {
  // CHECK:      error: mfma_f32_32x32x2_f32 does not divide a block tile of 48 x 32 in wave tiles of 48 x 32
  // CHECK-NEXT:     m_per_wave = 48
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 48, n_per_block = 32, k_per_block = 8,
    m_per_wave = 48, n_per_wave = 32, kpack = 4, instruction = "mfma_f32_32x32x2_f32", pipeline = "xdlops",
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 1,
    matrix_b_source_vector_read_dim = 1, matrix_b_source_data_per_read = 1, matrix_b_dest_data_per_write_dim_n = 1,
    matrix_c_dest_data_per_write = 1
  } : memref<32x48xf32>, memref<32x32xf32>, memref<48x32xf32>
  func.return
}

// -----
func.func @step(%a: memref<32x32xf16>, %b: memref<32x32xf16>, %c: memref<32x32xf16>) {
  // CHECK:      error: mfma_f32_32x32x8_f16 takes packs of 4 for 2 groups of lanes; a step has 8 of k in packs of 8
  // CHECK-NEXT:     m_per_wave = 32, n_per_wave = 32, kpack = 8
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 8,
    m_per_wave = 32, n_per_wave = 32, kpack = 8, instruction = "mfma_f32_32x32x8_f16", pipeline = "xdlops",
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 1,
    matrix_b_source_vector_read_dim = 1, matrix_b_source_data_per_read = 1, matrix_b_dest_data_per_write_dim_n = 1,
    matrix_c_dest_data_per_write = 1
  } : memref<32x32xf16>, memref<32x32xf16>, memref<32x32xf16>
  func.return
}

// -----
func.func @slices(%a: memref<32x32xf16>, %b: memref<32x32xf16>, %c: memref<32x32xf16>) {
  // CHECK: error: miopen.gridwise_gemm_ex: slices of 8 x 2, 4 x 16 at once, do not divide a tile of 16 x 32
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 16,
    m_per_wave = 32, n_per_wave = 32, kpack = 8, instruction = "mfma_f32_32x32x8_f16", pipeline = "xdlops",
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 1,
    matrix_b_source_vector_read_dim = 1, matrix_b_source_data_per_read = 1, matrix_b_dest_data_per_write_dim_n = 1,
    matrix_c_dest_data_per_write = 1,
    matrix_a_copy_cluster_lengths = [4, 16], matrix_a_copy_slice_lengths = [8, 2],
    matrix_b_copy_cluster_lengths = [2, 32], matrix_b_copy_slice_lengths = [8, 1]
  } : memref<32x32xf16>, memref<32x32xf16>, memref<32x32xf16>
  func.return
}

// -----
func.func @layout(%a: memref<24x32xf16>, %b: memref<24x32xf16>, %c: memref<32x32xf16>) {
  // CHECK:      error: no such layout in LDS: 'xor'
  // CHECK-NEXT:     lds_layout = "xor"
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 48,
    m_per_wave = 32, n_per_wave = 32, kpack = 8, instruction = "mfma_f32_32x32x8_f16", pipeline = "xdlops",
    matrix_a_source_vector_read_dim = 1, matrix_a_source_data_per_read = 1, matrix_a_dest_data_per_write_dim_m = 1,
    matrix_b_source_vector_read_dim = 1, matrix_b_source_data_per_read = 1, matrix_b_dest_data_per_write_dim_n = 1,
    matrix_c_dest_data_per_write = 1,
    lds_layout = "xor", matrix_a_lds_numbers = [1, 1], matrix_b_lds_numbers = [1, 1],
    matrix_a_copy_cluster_lengths = [2, 32], matrix_a_copy_slice_lengths = [8, 1],
    matrix_b_copy_cluster_lengths = [2, 32], matrix_b_copy_slice_lengths = [8, 1]
  } : memref<24x32xf16>, memref<24x32xf16>, memref<32x32xf16>
  func.return
}

// -----
func.func @one_part(%a: memref<64x32xf16>, %b: memref<64x32xf16>, %c: memref<32x32xf16>) {
  // CHECK: error: a step that is read ahead through registers has two parts of 16 of k; got 16
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 16, m_per_wave = 32, n_per_wave = 32,
    kpack = 4, instruction = "mfma_f32_16x16x16_f16", pipeline = "xdlops", copy = "staged_ahead", 
    matrix_a_source_data_per_read = 1, matrix_a_source_vector_read_dim = 1,
    matrix_a_copy_cluster_lengths = [4, 16], matrix_a_copy_slice_lengths = [4, 1],
    matrix_b_source_data_per_read = 1, matrix_b_source_vector_read_dim = 1,
    matrix_b_copy_cluster_lengths = [4, 16], matrix_b_copy_slice_lengths = [4, 1],
    matrix_c_dest_data_per_write = 1
  } : memref<64x32xf16>, memref<64x32xf16>, memref<32x32xf16>
  func.return
}

// -----
func.func @held(%a: memref<64x32xf16>, %b: memref<64x32xf16>, %c: memref<32x32xf16>) {
  // CHECK: error: registers hold one tile or two on their way, one fewer than 'lds_buffers'; got 4
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 32, m_per_wave = 32, n_per_wave = 32,
    kpack = 4, instruction = "mfma_f32_16x16x16_f16", pipeline = "xdlops", copy = "staged_ahead", lds_buffers = 4,
    matrix_a_source_data_per_read = 1, matrix_a_source_vector_read_dim = 1,
    matrix_a_copy_cluster_lengths = [8, 8], matrix_a_copy_slice_lengths = [4, 1],
    matrix_b_source_data_per_read = 1, matrix_b_source_vector_read_dim = 1,
    matrix_b_copy_cluster_lengths = [8, 8], matrix_b_copy_slice_lengths = [4, 1],
    matrix_c_dest_data_per_write = 1
  } : memref<64x32xf16>, memref<64x32xf16>, memref<32x32xf16>
  func.return
}

// -----
func.func @rows(%a: memref<64x32xf16>, %b: memref<64x32xf16>, %c: memref<32x32xf16>) {
  // CHECK: error: 16 rows are copied of a tile of 32
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 32, m_per_wave = 32, n_per_wave = 32,
    kpack = 4, instruction = "mfma_f32_16x16x16_f16", pipeline = "xdlops", copy = "staged_ahead", matrix_b_copied_rows = 16,
    matrix_a_source_data_per_read = 1, matrix_a_source_vector_read_dim = 1,
    matrix_a_copy_cluster_lengths = [8, 8], matrix_a_copy_slice_lengths = [4, 1],
    matrix_b_source_data_per_read = 1, matrix_b_source_vector_read_dim = 1,
    matrix_b_copy_cluster_lengths = [8, 8], matrix_b_copy_slice_lengths = [4, 1],
    matrix_c_dest_data_per_write = 1
  } : memref<64x32xf16>, memref<64x32xf16>, memref<32x32xf16>
  func.return
}
