// Every operation once, with static sizes, groups, indices and notes.
// RUN: imbrex-opt %s | imbrex-opt | filecheck %s
// RUN: imbrex-opt %s --print-op-generic | imbrex-opt | filecheck %s
// RUN: imbrex-opt %s --compact | imbrex-opt | filecheck %s

func.func @problems(%filter: memref<2x8x4x3x3xf32>, %input: memref<1x10x10x2x4xf32>, %output: memref<1x2x8x5x5xf32>,
                    %a: memref<3x5x4xf16>, %b: memref<3x6x5xf16>, %c: memref<3x4x6xf16>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["g", "k", "c", "y", "x"], input_layout = ["n", "hi", "wi", "g", "c"],
    output_layout = ["n", "g", "k", "ho", "wo"], dilations = [1, 2], strides = [2, 2], padding = [[0, 1], [2, 1]]
  } attributes {note = "kept"} : memref<2x8x4x3x3xf32>, memref<1x10x10x2x4xf32>, memref<1x2x8x5x5xf32>
  miopen.conv2d_bwd_data(%filter, %input, %output) {
    algorithm = "v4r1",
    filter_layout = ["g", "k", "c", "y", "x"], input_layout = ["n", "hi", "wi", "g", "c"],
    output_layout = ["n", "g", "k", "ho", "wo"], dilations = [1, 2], strides = [2, 2], padding = [[0, 1], [2, 1]]
  } : memref<2x8x4x3x3xf32>, memref<1x10x10x2x4xf32>, memref<1x2x8x5x5xf32>
  miopen.conv2d_bwd_weight(%filter, %input, %output) {
    filter_layout = ["g", "k", "c", "y", "x"], input_layout = ["n", "hi", "wi", "g", "c"],
    output_layout = ["n", "g", "k", "ho", "wo"], dilations = [1, 2], strides = [2, 2], padding = [[0, 1], [2, 1]]
  } : memref<2x8x4x3x3xf32>, memref<1x10x10x2x4xf32>, memref<1x2x8x5x5xf32>
  miopen.gemm(%a, %b, %c) { a_transposed = true, b_transposed = true, alpha = 0.5, beta = 1.0e-10 }
    : memref<3x5x4xf16>, memref<3x6x5xf16>, memref<3x4x6xf16>
  func.return
}

// CHECK-LABEL: @problems
// CHECK:       miopen.conv2d(%filter, %input, %output) {
// CHECK:         padding = {{\[\[}}0, 1], [2, 1]]
// CHECK-NEXT:  } attributes {note = "kept"} : memref<2x8x4x3x3xf32>
// CHECK:       miopen.conv2d_bwd_data(%filter, %input, %output) {
// CHECK:         algorithm = "v4r1"
// CHECK:       miopen.conv2d_bwd_weight(%filter, %input, %output) {
// CHECK:       miopen.gemm(%a, %b, %c) { a_transposed = true, b_transposed = true, alpha = 0.5, beta = 1.0e-10 } : memref<3x5x4xf16>, memref<3x6x5xf16>, memref<3x4x6xf16>

func.func @views(%source: memref<4x6x8xf32>, %row: memref<5x8xf32>) {
  %every_kind = miopen.transform(%source) {
    layout = [
      0: slice(0: a, 1, 3), part
      [1, 2]: unmerge(1: b), [b0, b1]
      3: broadcast(), copies
      4: quotient(2: c, 2, 1), half
    ]
  } : memref<4x6x8xf32> to memref<2x2x3x7x4xf32>
  %swizzled = miopen.transform(%row) {
    layout = [
      [0, 1]: xor(0: r, 1: c), [r, c]
    ]
  } : memref<5x8xf32> to memref<5x8xf32>
  %held = miopen.transform(%row) {
    layout = [
      []: fixed(0: r, 3), []
      0: passthrough(1: c), c
    ]
  } : memref<5x8xf32> to memref<8xf32>
  %pieces = miopen.transform(%row) {
    layout = [
      [0, 1, 2]: sunder(0: r), [head, tail, piece]
      3: unfold(1: c), c
    ]
  } : memref<5x8xf32> to memref<2x3x2x8xf32>
  func.return
}

// CHECK-LABEL: @views
// CHECK:         transformation = "slice",
// CHECK-NEXT:    parameters = [1, 3],
// CHECK:         transformation = "broadcast",
// CHECK-NEXT:    source_dimensions = [],
// CHECK:         transformation = "quotient",
// CHECK:         dimensions = [],
// CHECK-NEXT:    names = [],
// CHECK-NEXT:    transformation = "fixed",
// CHECK-NEXT:    parameters = [3],

func.func @workgroup(%a: memref<4x3x8x16xf32>, %b: memref<8x16xf32>, %value: f32) {
  miopen.launch(%wg, %item) { grid_size = 4, block_size = 64 } do {
    %c0 = arith.constant 0 : index
    %lds = miopen.alloc() : memref<1024xi8, #3>
    %tile = miopen.subview(%lds, %c0) { dimension = [8, 16] } : memref<1024xi8, #3> to memref<8x16xf32, #3>
    %items = miopen.alloc() : memref<8x16xf32, #5>
    miopen.fill(%items, %value) : memref<8x16xf32, #5>
    miopen.blockwise_copy(%a[%wg, %c0], %tile) : memref<4x3x8x16xf32>, memref<8x16xf32, #3>
    miopen.lds_barrier()
    miopen.threadwise_copy(%a[%wg, %c0], %items) { vector = 4 } : memref<4x3x8x16xf32>, memref<8x16xf32, #5>
    miopen.threadwise_copy(%items, %b) {
      store_method = "atomic_add", alpha = 2.0, beta = 0.0
    } : memref<8x16xf32, #5>, memref<8x16xf32>
  }
  func.return
}

// CHECK-LABEL: @workgroup
// CHECK:       miopen.launch(%wg, %item) { grid_size = 4, block_size = 64 } do {
// CHECK:         %tile = miopen.subview(%lds, %c0) { dimension = [8, 16] } : memref<1024xi8, #3> to memref<8x16xf32, #3>
// CHECK:         miopen.fill(%items, %value) : memref<8x16xf32, #5>
// CHECK-NEXT:    miopen.blockwise_copy(%a[%wg, %c0], %tile) : memref<4x3x8x16xf32>, memref<8x16xf32, #3>
// CHECK-NEXT:    miopen.lds_barrier()
// CHECK-NEXT:    miopen.threadwise_copy(%a[%wg, %c0], %items) { vector = 4 } : memref<4x3x8x16xf32>, memref<8x16xf32, #5>
// CHECK:           store_method = "atomic_add"

func.func @wave(%c: memref<4x32x32xf32>) {
  miopen.launch(%wg, %item) { grid_size = 4, block_size = 64 } do {
    %c0 = arith.constant 0 : index
    %thread_a = miopen.alloc() : memref<1x8xf16, #5>
    %thread_b = miopen.alloc() : memref<1x2x4xf16, #5>
    %thread_c = miopen.alloc() : memref<1x1x16xf32, #5>
    %slots = miopen.transform(%thread_a) {
      layout = [0: passthrough(0: tile), tile, [1, 2]: unmerge(1: pack), [slot, register]]
    } : memref<1x8xf16, #5> to memref<1x2x4xf16, #5>
    miopen.mfma(%slots[%c0, %c0], %thread_b[%c0, %c0], %thread_c[%c0, %c0]) { instruction = "mfma_f32_32x32x8_f16" }
  }
  func.return
}

// CHECK-LABEL: @wave
// CHECK:         miopen.mfma(%slots[%c0, %c0], %thread_b[%c0, %c0], %thread_c[%c0, %c0]) { instruction = "mfma_f32_32x32x8_f16" } : memref<1x2x4xf16, #5>, memref<1x2x4xf16, #5>, memref<1x1x16xf32, #5>

func.func @scratch() {
  %packed = miopen.workspace() : memref<64x8xf16>
  func.return
}

// CHECK-LABEL: @scratch
// CHECK:       %packed = miopen.workspace() : memref<64x8xf16>

func.func @shared() {
  %wgm = miopen.workspace() { zeroed = true } : memref<1xi32>
  %flags = miopen.workspace() { zeroed = true } : memref<3xi32>
  miopen.launch(%wg, %item) { grid_size = 3, block_size = 64 } do {
    %c0 = arith.constant 0 : index
    %slot = miopen.segment(%wg, %c0) { quantity = "slot", schedule = "stream_k", workgroups = 3, outputs = 4, k_tiles = 5, section = 0 } : index
    %pairs = miopen.bound(%slot, %c0) { bound = "pairs", k_tiles = 5 } : index
    %rows = miopen.group(%wgm) { usual = 2, most = 9 } : memref<1xi32> to index
    %tile = miopen.tile(%slot, %rows) { batches = 1, m_tiles = 2, n_tiles = 2, group = 2, along = "n", ways = 8 } : index
    %other = miopen.tile(%slot) { batches = 1, m_tiles = 2, n_tiles = 2, group = 2, along = "n", ways = 8 } : index
    %within = miopen.within(%wg) { first = 1, count = 2 } : index
    miopen.signal(%flags[%slot])
    miopen.await(%flags[%slot])
    miopen.join(%flags[%slot]) { count = 3 }
  }
  func.return
}

// CHECK-LABEL: @shared
// CHECK:         %slot = miopen.segment(%wg, %c0) {
// CHECK:         %pairs = miopen.bound(%slot, %c0) { bound = "pairs", k_tiles = 5 } : index
// CHECK:         %rows = miopen.group(%wgm) { usual = 2, most = 9 } : memref<1xi32> to index
// CHECK:         %tile = miopen.tile(%slot, %rows) {
// CHECK:         %other = miopen.tile(%slot) {
// CHECK:         %within = miopen.within(%wg) { first = 1, count = 2 } : index
// CHECK:         miopen.signal(%flags[%slot]) : memref<3xi32>
// CHECK-NEXT:    miopen.await(%flags[%slot]) : memref<3xi32>
// CHECK-NEXT:    miopen.join(%flags[%slot]) { count = 3 } : memref<3xi32>

func.func @warpgroups(%a: memref<640x64xf16>, %b: memref<640x64xf16>, %c: memref<64x64xf16>) {
  %sums = miopen.workspace() : memref<3x4096xf32>
  %flags = miopen.workspace() { zeroed = true } : memref<3xi32>
  miopen.launch(%wg, %item) { grid_size = 3, block_size = 256 } do {
    miopen.warpgroup_gemm(%a, %b, %c, %wg, %sums, %flags) {
      pipeline = "warpgroup", tuning = { kind = "warpgroup", m_per_block = 64, n_per_block = 64, k_per_block = 64, stages = 2, consumers = 1, cluster_m = 1, cluster_n = 1, pingpong = false, swapped = false, group = 1 },
      matrix_a_source_vector_read_dim = 1, matrix_b_source_vector_read_dim = 1, schedule = { mode = "stream_k", workgroups = 3 }
    }
  }
  func.return
}

// CHECK-LABEL: @warpgroups
// CHECK:         miopen.warpgroup_gemm(%a, %b, %c, %wg, %sums, %flags) {
// CHECK-NEXT:      pipeline = "warpgroup",
// CHECK-NEXT:      tuning = {
// CHECK-NEXT:        kind = "warpgroup",
// CHECK:           schedule = { mode = "stream_k", workgroups = 3 }
// CHECK-NEXT:    } : memref<640x64xf16>, memref<640x64xf16>, memref<64x64xf16>, memref<3x4096xf32>, memref<3xi32>
