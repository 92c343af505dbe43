// The notes' example: K128 C8 3x3, N128 32x32 without pads on gfx942, and every number that follows from its tile.
// RUN: imbrex-opt %s -p 'conv-to-gemm,affix-tuning{family=general}' --compact | filecheck %s
// RUN: not imbrex-opt %s -p 'conv-to-gemm,affix-tuning{family="genral"}' 2>&1 | filecheck %s --check-prefix=FAMILY

func.func @forward(%filter: memref<128x8x3x3xf32>, %input: memref<128x8x32x32xf32>, %output: memref<128x128x30x30xf32>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  }
  func.return
}

// CHECK:      miopen.gridwise_gemm_ex(
// CHECK:        block_size = 256,
// CHECK-NEXT:   m_per_block = 128,
// CHECK-NEXT:   n_per_block = 128,
// CHECK-NEXT:   k_per_block = 8,
// CHECK-NEXT:   m_per_thread = 4,
// CHECK-NEXT:   n_per_thread = 4,
// CHECK-NEXT:   k_per_thread = 1,
// CHECK-NEXT:   m_level0_cluster = 4,
// CHECK-NEXT:   n_level0_cluster = 4,
// CHECK-NEXT:   m_level1_cluster = 4,
// CHECK-NEXT:   n_level1_cluster = 4,
// CHECK:        matrix_a_source_data_per_read = 4,
// CHECK-NEXT:   matrix_a_dest_data_per_write_dim_m = 1,
// CHECK-NEXT:   matrix_a_copy_cluster_lengths = [2, 128],
// CHECK:        matrix_b_copy_cluster_lengths = [2, 128],
// CHECK:      } : memref<72x128xf32>, memref<72x115200xf32>, memref<128x115200xf32>

// FAMILY: error: unknown family of tunings 'genral'
// FAMILY: did you mean 'general'?
