// Products by warpgroups whose columns are a window's taps, written by hand: what they are not for.
// RUN: imbrex-opt %s -p gridwise-to-blockwise --split-input-file --verify-diagnostics | filecheck %s

func.func @shared(%a: memref<512x64xf16>, %b: memref<512x576xf16>, %c: memref<64x576xf32>) {
  // CHECK: error: miopen.warpgroup_gemm: a window's tiles are of single workgroups, which compute all of them
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    tuning = { kind = "halo_weight", images = 1, rows = 8, loaded = 12, width = 16, taps = 9, channels = 64, diagonal = 1, shares = 1, stages = 2, consumers = 3 },
    pipeline = "warpgroup", matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1,
    schedule = { mode = "split_k", workgroups = 2 }
  } : memref<512x64xf16>, memref<512x576xf16>, memref<64x576xf32>
  func.return
}

// -----

func.func @parts(%a: memref<512x64xf16>, %b: memref<512x1152xf16>, %c: memref<64x1152xf32>) {
  // CHECK: error: miopen.warpgroup_gemm: 9 taps of 64 channels are not all columns, whole parts of them for 3 consumers
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    tuning = { kind = "halo_weight", images = 1, rows = 8, loaded = 12, width = 16, taps = 9, channels = 64, diagonal = 1, shares = 1, stages = 2, consumers = 3 },
    pipeline = "warpgroup", matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1
  } : memref<512x64xf16>, memref<512x1152xf16>, memref<64x1152xf32>
  func.return
}

// -----

func.func @consumers(%a: memref<512x64xf16>, %b: memref<512x576xf16>, %c: memref<64x576xf32>) {
  // CHECK: error: miopen.warpgroup_gemm: 9 taps of 64 channels are not all columns, whole parts of them for 5 consumers
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    tuning = { kind = "halo_weight", images = 1, rows = 8, loaded = 12, width = 16, taps = 9, channels = 64, diagonal = 1, shares = 1, stages = 2, consumers = 5 },
    pipeline = "warpgroup", matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1
  } : memref<512x64xf16>, memref<512x576xf16>, memref<64x576xf32>
  func.return
}
