// Mistakes in epilogues: each piece breaks one rule.
// RUN: imbrex-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @expression(%c: memref<4x8xf16>) {
  // CHECK:      error: an epilogue has no function 'rely'
  // CHECK-NEXT: expression = "rely(x)"
  // CHECK-NEXT: ^
  %0 = miopen.finish(%c) { expression = "rely(x)" } : memref<4x8xf16> to memref<4x8xf32>
  func.return
}

// -----
func.func @arrays(%c: memref<4x8xf16>) {
  // CHECK: error: 'x + bias' reads 1 further arrays (bias), got 0
  %0 = miopen.finish(%c) { expression = "x + bias" } : memref<4x8xf16> to memref<4x8xf32>
  func.return
}

// -----
func.func @sizes(%c: memref<4x8xf16>, %r: memref<8x4xf16>) {
  // CHECK: error: the source has sizes 4x8, this has 8x4
  %0 = miopen.finish(%c, %r) { expression = "x + residual" } : memref<4x8xf16>, memref<8x4xf16> to memref<4x8xf32>
  func.return
}

// -----
func.func @sums(%c: memref<4x8xf16>) {
  // CHECK: error: sums are f32 or f64 or i32, not f16
  %0 = miopen.finish(%c) { expression = "relu(x)" } : memref<4x8xf16> to memref<4x8xf16>
  func.return
}

// -----
func.func @typed(%c: memref<4x8xf16>) {
  // CHECK: error: the type of the result is that of the source
  %0 = miopen.finish(%c) { expression = "f16(relu(x))" } : memref<4x8xf16> to memref<4x8xf32>
  func.return
}

// -----

// CHECK: error: 'relu(pre_activation(x))' has 1 further arrays (pre_activation), got 0
func.func @no_array(%c: memref<4x8xf16>) {
  %0 = miopen.finish(%c) { expression = "relu(pre_activation(x))" } : memref<4x8xf16> to memref<4x8xf32>
  func.return
}

// -----

// CHECK: error: 'pre_activation' is stored as the source is, of f16, not of f32
func.func @another_type(%c: memref<4x8xf16>, %p: memref<4x8xf32>) {
  %0 = miopen.finish(%c, %p) { expression = "relu(pre_activation(x))" } : memref<4x8xf16>, memref<4x8xf32> to memref<4x8xf32>
  func.return
}

// -----

// CHECK: error: an epilogue has one 'pre_activation', and this is another
func.func @two(%c: memref<4x8xf16>, %p: memref<4x8xf16>) {
  %0 = miopen.finish(%c, %p) { expression = "pre_activation(pre_activation(x))" } : memref<4x8xf16>, memref<4x8xf16> to memref<4x8xf32>
  func.return
}
