// Numbers of a product by warpgroups that were written by hand: what they lack is said at the number.
// RUN: imbrex-opt %s -p gridwise-to-blockwise --split-input-file --verify-diagnostics | filecheck %s

func.func @keys(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %c: memref<64x64xf16>) {
  // CHECK: error: 'tuning' is needed by the pipeline 'warpgroup'
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    pipeline = "warpgroup", matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1
  } : memref<64x64xf16>, memref<64x64xf16>, memref<64x64xf16>
  func.return
}

// -----
func.func @threads(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %c: memref<64x64xf16>) {
  // CHECK:      error: 'block_size' is for 'naive', '2x2', 'ahead', 'xdlops'; the pipeline 'warpgroup' does not read it
  // CHECK-NEXT: block_size = 384
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    block_size = 384,
    tuning = { kind = "warpgroup", m_per_block = 128, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 2, cluster_m = 1, cluster_n = 1, pingpong = false, swapped = false, group = 1 },
    pipeline = "warpgroup", matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1
  } : memref<64x64xf16>, memref<64x64xf16>, memref<64x64xf16>
  func.return
}

// -----
func.func @pingpong(%a: memref<640x64xf16>, %b: memref<640x64xf16>, %c: memref<64x64xf16>) {
  // CHECK:      error: pingpong consumers have whole tiles; only data_parallel serves them
  // CHECK-NEXT: schedule = { mode = "stream_k"
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    tuning = { kind = "warpgroup", m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 2, cluster_m = 1, cluster_n = 1, pingpong = true, swapped = false, group = 1 },
    pipeline = "warpgroup", matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1,
    schedule = { mode = "stream_k", workgroups = 4 }
  } : memref<640x64xf16>, memref<640x64xf16>, memref<64x64xf16>
  func.return
}

// -----
func.func @count(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %c: memref<64x64xf16>) {
  // CHECK: error: 'workgroups' is needed where clusters share units
  miopen.gridwise_gemm_ex(%a, %b, %c) {
    tuning = { kind = "warpgroup", m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster_m = 1, cluster_n = 1, pingpong = false, swapped = false, group = 1 },
    pipeline = "warpgroup", matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, schedule = { mode = "split_k" }
  } : memref<64x64xf16>, memref<64x64xf16>, memref<64x64xf16>
  func.return
}

// -----
func.func @cluster(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %c: memref<64x64xf16>) {
  miopen.launch(%wg, %item) { grid_size = 3, block_size = 256 } do {
    // CHECK:      error: 3 workgroups are launched, not 1 clusters of 2 x 1
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      pipeline = "warpgroup", tuning = { kind = "warpgroup", m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster_m = 2, cluster_n = 1, pingpong = false, swapped = false, group = 1 },
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, clusters = 1
    } : memref<64x64xf16>, memref<64x64xf16>, memref<64x64xf16>
  }
  func.return
}

// -----
func.func @sizes(%a: memref<64x64xf16>, %b: memref<32x64xf16>, %c: memref<64x64xf16>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 256 } do {
    // CHECK: error: k of a and b differ: 64 and 32
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      pipeline = "warpgroup", tuning = { kind = "warpgroup", m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster_m = 1, cluster_n = 1, pingpong = false, swapped = false, group = 1 },
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, clusters = 1
    } : memref<64x64xf16>, memref<32x64xf16>, memref<64x64xf16>
  }
  func.return
}

// -----
func.func @workspace(%a: memref<640x64xf16>, %b: memref<640x64xf16>, %c: memref<64x64xf16>) {
  miopen.launch(%wg, %item) { grid_size = 3, block_size = 256 } do {
    // CHECK: error: 'partials' and 'flags' are given where, and only where, workgroups share tiles
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      pipeline = "warpgroup", tuning = { kind = "warpgroup", m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster_m = 1, cluster_n = 1, pingpong = false, swapped = false, group = 1 },
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, schedule = { mode = "stream_k", workgroups = 3 }
    } : memref<640x64xf16>, memref<640x64xf16>, memref<64x64xf16>
  }
  func.return
}

// -----
func.func @sums(%a: memref<640x64xf16>, %b: memref<640x64xf16>, %c: memref<64x64xf16>, %p: memref<3x4096xf16>, %f: memref<3xi32>) {
  miopen.launch(%wg, %item) { grid_size = 3, block_size = 256 } do {
    // CHECK: error: 'partials' is a memref<3x4096xf32> in global memory
    miopen.warpgroup_gemm(%a, %b, %c, %wg, %p, %f) {
      pipeline = "warpgroup", tuning = { kind = "warpgroup", m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster_m = 1, cluster_n = 1, pingpong = false, swapped = false, group = 1 },
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, schedule = { mode = "stream_k", workgroups = 3 }
    } : memref<640x64xf16>, memref<640x64xf16>, memref<64x64xf16>, memref<3x4096xf16>, memref<3xi32>
  }
  func.return
}

// -----
func.func @parts(%a: memref<640x64xf16>, %b: memref<640x80xf16>, %c: memref<64x80xf16>) {
  miopen.launch(%wg, %item) { grid_size = 3, block_size = 256 } do {
    // CHECK: error: the schedule 'cluster_k' takes the number of workgroups that share a tile: 2, 4 or 8, got 3
    // CHECK-NEXT: schedule = { mode = "cluster_k", workgroups = 3 }
    // CHECK-NEXT:            ^
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      pipeline = "warpgroup", tuning = { kind = "warpgroup", m_per_block = 64, n_per_block = 80, k_per_block = 64, stages = 2, consumers = 1, cluster_m = 1, cluster_n = 1, pingpong = false, swapped = false, group = 1 },
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, schedule = { mode = "cluster_k", workgroups = 3 }
    } : memref<640x64xf16>, memref<640x80xf16>, memref<64x80xf16>
  }
  func.return
}

// -----
func.func @columns(%a: memref<640x64xf16>, %b: memref<640x80xf16>, %c: memref<64x80xf16>) {
  miopen.launch(%wg, %item) { grid_size = 4, block_size = 256 } do {
    // CHECK: error: 80 columns are not 4 parts of whole 8
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      pipeline = "warpgroup", tuning = { kind = "warpgroup", m_per_block = 64, n_per_block = 80, k_per_block = 64, stages = 2, consumers = 1, cluster_m = 1, cluster_n = 1, pingpong = false, swapped = false, group = 1 },
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, schedule = { mode = "cluster_k", workgroups = 4 }
    } : memref<640x64xf16>, memref<640x80xf16>, memref<64x80xf16>
  }
  func.return
}

// -----
func.func @clusters(%a: memref<640x64xf16>, %b: memref<640x64xf16>, %c: memref<64x64xf16>) {
  miopen.launch(%wg, %item) { grid_size = 3, block_size = 256 } do {
    // CHECK:      error: 3 workgroups are launched, not 4 clusters of 1 x 1
    // CHECK-NEXT: schedule = { mode = "stream_k", workgroups = 4 }
    // CHECK-NEXT: ^
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      pipeline = "warpgroup", tuning = { kind = "warpgroup", m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster_m = 1, cluster_n = 1, pingpong = false, swapped = false, group = 1 },
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, schedule = { mode = "stream_k", workgroups = 4 }
    } : memref<640x64xf16>, memref<640x64xf16>, memref<64x64xf16>
  }
  func.return
}

// -----
func.func @order(%a: memref<640x64xf16>, %b: memref<640x64xf16>, %c: memref<64x64xf16>) {
  miopen.launch(%wg, %item) { grid_size = 3, block_size = 256 } do {
    // CHECK:      error: a tuning of warpgroups has an order of tiles of its own
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      pipeline = "warpgroup", tuning = { kind = "warpgroup", m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster_m = 1, cluster_n = 1, pingpong = false, swapped = false, group = 1 },
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1,
      schedule = { mode = "stream_k", workgroups = 3, wgm = 2 }
    } : memref<640x64xf16>, memref<640x64xf16>, memref<64x64xf16>
  }
  func.return
}

// -----
func.func @window(%a: memref<640x64xf16>, %b: memref<640x32xf16>, %c: memref<64x32xf16>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 256 } do {
    // CHECK: error: 288 elements of a window are not all of K
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      pipeline = "warpgroup", tuning = { kind = "halo", images = 1, rows = 4, loaded = 6, width = 16, taps = 9, channels = 32, n_per_block = 32, diagonal = 1, stages = 2, consumers = 1, pingpong = false },
      matrix_a_source_vector_read_dim = 0, matrix_b_source_vector_read_dim = 0, clusters = 1
    } : memref<640x64xf16>, memref<640x32xf16>, memref<64x32xf16>
  }
  func.return
}

// -----
func.func @pipeline(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %c: memref<64x64xf16>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 256 } do {
    // CHECK:      error: warpgroups have the pipeline 'warpgroup', not 'cpu'
    // CHECK-NEXT: pipeline = "cpu"
    // CHECK-NEXT:            ^
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      pipeline = "cpu", m_per_block = 64, n_per_block = 64, k_per_block = 64, m_per_thread = 4, n_per_thread = 16
    } : memref<64x64xf16>, memref<64x64xf16>, memref<64x64xf16>
  }
  func.return
}

// -----
func.func @whole(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %c: memref<64x64xf16>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 256 } do {
    // CHECK:      error: 'data_parallel' is said by leaving 'schedule' out: clusters share no units
    // CHECK-NEXT: schedule = { mode = "data_parallel" }
    // CHECK-NEXT:                     ^
    miopen.warpgroup_gemm(%a, %b, %c, %wg) {
      pipeline = "warpgroup", tuning = { kind = "warpgroup", m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster_m = 1, cluster_n = 1, pingpong = false, swapped = false, group = 1 },
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, schedule = { mode = "data_parallel" }
    } : memref<64x64xf16>, memref<64x64xf16>, memref<64x64xf16>
  }
  func.return
}
