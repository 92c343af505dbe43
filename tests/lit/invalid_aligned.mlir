// Products that cannot be aligned.
// RUN: imbrex-opt %s -p aligned-rows --split-input-file --verify-diagnostics | filecheck %s

func.func @already(%a: memref<100x80xf16>, %b: memref<80x64xf16>, %c: memref<100x64xf16>) {
  // CHECK: error: there is nothing to align: rows of both operands are multiples of 16 bytes; leave the key out
  miopen.gemm(%a, %b, %c) { aligned = true }
  func.return
}

// -----
func.func @unsized(%a: memref<100x?xf16>, %b: memref<?x64xf16>, %c: memref<100x64xf16>) {
  // CHECK: error: sizes are not known here; run 'specialise' first
  miopen.gemm(%a, %b, %c) { aligned = true }
  func.return
}

// -----
func.func @tiled(%a: memref<100x77xf16>, %b: memref<77x64xf16>, %c: memref<100x64xf16>) {
  // CHECK: error: 'data_tiled' packs both operands; leave it or 'aligned' out
  miopen.gemm(%a, %b, %c) { aligned = true, data_tiled = "f16_16x16x16_Kx2" }
  func.return
}
