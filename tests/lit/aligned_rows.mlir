// A product that asks for it: copies of the operands whose rows are no multiple of 16 bytes, and the product of those.
// RUN: imbrex-opt %s -p aligned-rows --compact --split-input-file | filecheck %s
// RUN: imbrex-opt %s -p aligned-rows --split-input-file | imbrex-opt - -p conv-to-gemm,unfold --compact --split-input-file | filecheck %s --check-prefix=LOWER

// 77 of f16 become 80, with zeros.  B's rows are k: it has three more of them that do not exist.
// CHECK-LABEL: func.func @depth
// CHECK-NEXT:  %packed_a = miopen.workspace() : memref<100x80xf16>
// CHECK:       1: pad(1: k, 0, 3), k
// CHECK:       0: merge(0: m, 1: chunk), item,
// CHECK:       [0, 2, 1]: unmerge(0: item), [workgroup, other, workitem],
// CHECK:       miopen.launch(%wg, %item) { grid_size = 1, block_size = 256 } do {
// CHECK-NEXT:    %thread_a = miopen.alloc() : memref<4x8xf16, #5>
// CHECK-NEXT:    miopen.threadwise_copy(%a_workgroup_workitem_other_slot[%wg, %item], %thread_a) { vector = 8 }
// CHECK-NEXT:    miopen.threadwise_copy(%thread_a, %packed_a_workgroup_workitem_other_slot[%wg, %item]) { vector = 8 }
// CHECK:       %b_k_n = miopen.transform(%b) {
// CHECK:         0: pad(0: k, 0, 3), k,
// CHECK:       miopen.gemm(%packed_a, %b_k_n, %c) : memref<100x80xf16>, memref<80x64xf16>, memref<100x64xf16>
// LOWER-LABEL: func.func @depth
// LOWER:       miopen.gridwise_gemm(%a_gemmK_gemmM, %b_gemmK_gemmN, %c_gemmM_gemmN) : memref<80x100xf16>, memref<80x64xf16>, memref<100x64xf16>
func.func @depth(%a: memref<100x77xf16>, %b: memref<77x64xf16>, %c: memref<100x64xf16>) {
  miopen.gemm(%a, %b, %c) { aligned = true }
  func.return
}

// -----
// Both are copied, by one launch, each workgroup for one of them; C has columns that are not stored.
// CHECK-LABEL: func.func @both
// CHECK-NEXT:  %packed_a = miopen.workspace() : memref<2x40x16xf16>
// CHECK-NEXT:  %packed_b = miopen.workspace() : memref<2x9x32xf16>
// CHECK:       0: pad(0: workgroup, 0, 1), workgroup,
// CHECK:       0: pad(0: workgroup, 1, 0), workgroup,
// CHECK:       miopen.launch(%wg, %item) { grid_size = 2, block_size = 256 } do {
// CHECK-NOT:   miopen.launch
// CHECK:       1: pad(1: k, 0, 7), k,
// CHECK:       2: pad(2: n, 0, 5), n
// CHECK:       miopen.gemm(%packed_a, %b_g_k_n_1, %c_g_m_n) { alpha = 2.0 } : memref<2x40x16xf16>, memref<2x16x32xf16>, memref<2x40x32xf16>
func.func @both(%a: memref<2x40x9xf16>, %b: memref<2x9x27xf16>, %c: memref<2x40x27xf16>) {
  miopen.gemm(%a, %b, %c) { aligned = true, alpha = 2.0 }
  func.return
}

// -----
// Of 8 bits, k has to be together: B is turned, though its rows are whole, and A was transposed.
// CHECK-LABEL: func.func @turned
// CHECK-NEXT:  %packed_a = miopen.workspace() : memref<32x48xi8>
// CHECK-NEXT:  %packed_b = miopen.workspace() : memref<64x48xi8>
// CHECK:       %thread_b_turned
// CHECK:       miopen.gemm(%packed_a, %packed_b, %c) { b_transposed = true } : memref<32x48xi8>, memref<64x48xi8>, memref<32x64xi32>
func.func @turned(%a: memref<48x32xi8>, %b: memref<48x64xi8>, %c: memref<32x64xi32>) {
  miopen.gemm(%a, %b, %c) { aligned = true, a_transposed = true }
  func.return
}

// -----
// Who does not ask gets no copy.
// CHECK-LABEL: func.func @as_it_is
// CHECK-NEXT:  miopen.gemm(%a, %b, %c)
func.func @as_it_is(%a: memref<100x77xf16>, %b: memref<77x64xf16>, %c: memref<100x64xf16>) {
  miopen.gemm(%a, %b, %c)
  func.return
}
