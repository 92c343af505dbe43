// Mistakes in data-tiled products and in workspaces: each piece breaks one rule.
// RUN: imbrex-opt %s -p conv-to-gemm --split-input-file --verify-diagnostics | filecheck %s

func.func @name(%a: memref<5x3xf32>, %b: memref<3x7xf32>, %c: memref<5x7xf32>) {
  // CHECK:      error: there is no tile kernel 'f32_16x16x5': no MFMA of one block is f32_16x16x5; of f32 there are 32x32x2, 16x16x4
  // CHECK-NEXT: data_tiled = "f32_16x16x5"
  // CHECK-NEXT: ^
  miopen.gemm(%a, %b, %c) { data_tiled = "f32_16x16x5" }
  func.return
}

// -----
func.func @blocks(%a: memref<5x3xf32>, %b: memref<3x7xf32>, %c: memref<5x7xf32>) {
  // CHECK: error: a data-tiled product takes instructions of one block; mfma_f32_16x16x1_4b_f32 has several
  miopen.gemm(%a, %b, %c) { data_tiled = "mfma_f32_16x16x1_4b_f32" }
  func.return
}

// -----
func.func @space() {
  // CHECK: error: a workspace is in global memory, got #3
  %0 = miopen.workspace() : memref<16xf32, #3>
  func.return
}

// -----
func.func @unsized() {
  // CHECK: error: the sizes of a workspace are numbers
  %0 = miopen.workspace() : memref<?xf32>
  func.return
}

// -----
func.func @inside() {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 64 } do {
    // CHECK: error: a workspace belongs to a function; a launch has 'miopen.alloc'
    %0 = miopen.workspace() : memref<16xf32>
  }
  func.return
}
