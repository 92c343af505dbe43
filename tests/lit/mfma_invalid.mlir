// A matrix instruction must be in the table, and its operands must be what a work item holds of it.
// RUN: imbrex-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @unknown(%c: memref<64x16xf32>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 64 } do {
    %a = miopen.alloc() : memref<4xf16, #5>
    %acc = miopen.alloc() : memref<16xf32, #5>
    // CHECK:      error: there is no matrix instruction 'mfma_f32_32x32x9_f16'; did you mean 'mfma_f32_32x32x8_f16'?
    // CHECK-NEXT:     miopen.mfma(%a, %a, %acc) { instruction = "mfma_f32_32x32x9_f16" }
    // CHECK-NEXT: {{^ +}}^^^^^^^^^^^^^^^^^^^^^^{{$}}
    miopen.mfma(%a, %a, %acc) { instruction = "mfma_f32_32x32x9_f16" } : memref<4xf16, #5>, memref<4xf16, #5>, memref<16xf32, #5>
  }
  func.return
}

// -----
func.func @elements(%c: memref<64x16xf32>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 64 } do {
    %a = miopen.alloc() : memref<8xf16, #5>
    %b = miopen.alloc() : memref<4xf16, #5>
    %acc = miopen.alloc() : memref<16xf32, #5>
    // CHECK: error: mfma_f32_32x32x8_f16 takes 4 elements of 'a' a work item, the index leaves 8
    miopen.mfma(%a, %b, %acc) { instruction = "mfma_f32_32x32x8_f16" } : memref<8xf16, #5>, memref<4xf16, #5>, memref<16xf32, #5>
  }
  func.return
}

// -----
func.func @lds(%c: memref<64x16xf32>) {
  miopen.launch(%wg, %item) { grid_size = 1, block_size = 64 } do {
    %a = miopen.alloc() : memref<4xf16, #3>
    %b = miopen.alloc() : memref<4xf16, #5>
    %acc = miopen.alloc() : memref<16xf32, #5>
    // CHECK: error: 'a' is in private memory (#5), got #3
    miopen.mfma(%a, %b, %acc) { instruction = "mfma_f32_32x32x8_f16" } : memref<4xf16, #3>, memref<4xf16, #5>, memref<16xf32, #5>
  }
  func.return
}
