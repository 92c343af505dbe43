// What was chosen is checked where it is read: a tuning, a schedule, phases; carets are under the literal that is wrong.
// RUN: imbrex-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @kind(%a: memref<?x?xf16>) {
  // CHECK:      error: unknown kind 'hallo'; did you mean 'halo'?
  // CHECK-NEXT: miopen.gridwise_gemm(%a, %a, %a) { tuning = { kind = "hallo" } }
  // CHECK-NEXT:                                                      ^^^^^^^
  miopen.gridwise_gemm(%a, %a, %a) { tuning = { kind = "hallo" } }
  func.return
}

// -----
func.func @text(%a: memref<?x?xf16>) {
  // CHECK: error: expected a tuning as a '{ key = value }' dictionary
  miopen.gridwise_gemm(%a, %a, %a) { tuning = "v1:general:64,32,32,4,2,2" }
  func.return
}

// -----
func.func @field(%a: memref<?x?xf16>) {
  // CHECK:      error: unknown key 'm_per_thred'; did you mean 'm_per_thread'?
  // CHECK-NEXT: m_per_thred = 2, n_per_thread = 2
  // CHECK-NEXT: ^^^^^^^^^^^
  miopen.gridwise_gemm(%a, %a, %a) {
    tuning = {
      kind = "general", block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 4,
      m_per_thred = 2, n_per_thread = 2
    }
  }
  func.return
}

// -----
func.func @missing(%a: memref<?x?xf16>) {
  // CHECK: error: a general tuning lacks 'n_per_thread'
  miopen.gridwise_gemm(%a, %a, %a) {
    tuning = { kind = "general", block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 4, m_per_thread = 2 }
  }
  func.return
}

// -----
func.func @value(%a: memref<?x?xf16>) {
  // CHECK:      error: m_per_thread is 0, expected a whole number from 1
  // CHECK-NEXT: m_per_thread = 0,
  // CHECK-NEXT:                ^
  miopen.gridwise_gemm(%a, %a, %a) {
    tuning = {
      kind = "general", block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 4,
      m_per_thread = 0, n_per_thread = 2
    }
  }
  func.return
}

// -----
func.func @boolean(%a: memref<?x?xf16>) {
  // CHECK: error: pingpong is 1, expected one of [False, True]
  miopen.gridwise_gemm(%a, %a, %a) {
    tuning = {
      kind = "halo", images = 1, rows = 4, loaded = 6, width = 16, taps = 9, channels = 32, n_per_block = 32,
      diagonal = 1, stages = 2, consumers = 1, pingpong = 1
    }
  }
  func.return
}

// -----
func.func @instruction(%a: memref<?x?xf16>) {
  // CHECK: error: {{.*}}mfma_f32_16x16x16_f17
  miopen.gridwise_gemm(%a, %a, %a) {
    tuning = {
      kind = "xdlops", m_per_block = 64, n_per_block = 64, k_per_block = 4, m_per_wave = 32, n_per_wave = 32, kpack = 8,
      instruction = "mfma_f32_16x16x16_f17", lds = "xor", copy = "staged", swapped = false, interleave = 1, buffers = 2,
      taps = 1
    }
  }
  func.return
}

// -----
func.func @mode(%place: memref<64x64xf16>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 256 } do {
    // CHECK:      error: unknown mode 'streamk'; did you mean 'stream_k'?
    // CHECK-NEXT: schedule = { mode = "streamk" }
    // CHECK-NEXT:                     ^^^^^^^^^
    miopen.warpgroup_gemm(%place, %place, %place, %wg) {
      pipeline = "warpgroup", tuning = { kind = "warpgroup", m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster_m = 1, cluster_n = 1, pingpong = false, swapped = false, group = 1 },
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1,
      schedule = { mode = "streamk" }
    }
  }
  func.return
}

// -----
func.func @kind_of_pipeline(%place: memref<64x64xf16>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 256 } do {
    // CHECK:      error: warpgroups have no general tuning
    // CHECK-NEXT: tuning = { kind = "general"
    // CHECK-NEXT:            ^^^^^^^^^
    miopen.warpgroup_gemm(%place, %place, %place, %wg) {
      pipeline = "warpgroup", tuning = { kind = "general", block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 4, m_per_thread = 2, n_per_thread = 2 },
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, clusters = 1
    }
  }
  func.return
}

// -----
func.func @group(%place: memref<64x64xf16>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 256 } do {
    // CHECK:      error: 'wgm' is a number from 1 to 65536, got 0
    // CHECK-NEXT: schedule = { mode = "data_parallel", wgm = 0 }
    // CHECK-NEXT:                                            ^
    miopen.warpgroup_gemm(%place, %place, %place, %wg) {
      pipeline = "warpgroup", tuning = { kind = "warpgroup", m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster_m = 1, cluster_n = 1, pingpong = false, swapped = false, group = 1 },
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1,
      schedule = { mode = "data_parallel", wgm = 0 }
    }
  }
  func.return
}

// -----
func.func @phases(%a: memref<?x?xf16>) {
  // CHECK:      error: phases of the parts of K are from 0 to 1, got [0, 2]
  // CHECK-NEXT: miopen.gridwise_gemm(%a, %a, %a) { phases = { of = [0, 2], rows = 1, run = 1, residues = 2, lengths = [8] } }
  // CHECK-NEXT:                                                    ^^^^^^
  miopen.gridwise_gemm(%a, %a, %a) { phases = { of = [0, 2], rows = 1, run = 1, residues = 2, lengths = [8] } }
  func.return
}

// -----
func.func @lengths(%a: memref<48x4xf16>, %b: memref<48x32xf16>, %c: memref<4x64xf16>) {
  // CHECK:      error: lengths of parts of K are from 1 to 24, got [25]
  // CHECK-NEXT: lengths = [25]
  // CHECK-NEXT:           ^^^^
  miopen.gridwise_gemm(%a, %b, %c) {
    phases = { of = [0, 1], rows = 1, run = 1, residues = 2,
      lengths = [25] }
  } : memref<48x4xf16>, memref<48x32xf16>, memref<4x64xf16>
  func.return
}

// -----
func.func @tuning_of_a_halo(%filter: memref<32x3x3x32xf16>, %input: memref<1x14x14x32xf16>, %output: memref<1x14x14x32xf16>) {
  // CHECK: error: 'tuning' is of a 'halo'; products get theirs when they exist
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "y", "x", "c"], input_layout = ["n", "hi", "wi", "c"],
    output_layout = ["n", "ho", "wo", "k"], dilations = [1, 1], strides = [1, 1], padding = [1, 1],
    tuning = { kind = "general", block_size = 64, m_per_block = 32, n_per_block = 32, k_per_block = 4, m_per_thread = 2, n_per_thread = 2 }
  } : memref<32x3x3x32xf16>, memref<1x14x14x32xf16>, memref<1x14x14x32xf16>
  func.return
}
