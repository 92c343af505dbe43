// What the operations of a grid, a workgroup and a work item must be: each piece breaks one rule.
// RUN: imbrex-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @word(%a: memref<?x?xf32>) {
  // CHECK:      error: unknown kernel_algorithm 'v4r3'; did you mean 'v4r4'?
  // CHECK-NEXT: kernel_algorithm = "v4r3"
  // CHECK-NEXT: ^^^^^^
  miopen.gridwise_gemm(%a, %a, %a) { kernel_algorithm = "v4r3" }
  func.return
}

// -----
func.func @store(%a: memref<?x?xf32>) {
  // CHECK: error: unknown store_method 'atomic'; did you mean 'atomic_add'?
  miopen.gridwise_gemm(%a, %a, %a) { store_method = "atomic" }
  func.return
}

// -----
func.func @ranks(%a: memref<?x?x?xf32>, %b: memref<?x?xf32>) {
  // CHECK: error: operands have ranks 3, 2, 2
  miopen.gridwise_gemm(%a, %b, %b)
  func.return
}

// -----
func.func @sizes(%a: memref<9x4xf32>, %b: memref<9x5xf32>, %c: memref<4x6xf32>) {
  // CHECK: error: n of b and c differ: 5 and 6
  miopen.gridwise_gemm(%a, %b, %c)
  func.return
}

// -----
func.func @tuning(%a: memref<?x?xf32>) {
  // CHECK:      error: 'm_per_block' is positive, got 0
  // CHECK-NEXT: m_per_block = 0,
  // CHECK-NEXT: ^
  miopen.gridwise_gemm_ex(%a, %a, %a) {
    block_size = 256,
    m_per_block = 0, n_per_block = 128, k_per_block = 16, m_per_thread = 4, n_per_thread = 4, k_per_thread = 1,
    m_level0_cluster = 4, n_level0_cluster = 4, m_level1_cluster = 4, n_level1_cluster = 4,
    matrix_a_source_vector_read_dim = 0, matrix_a_source_data_per_read = 4, matrix_a_dest_data_per_write_dim_m = 4,
    matrix_b_source_vector_read_dim = 1, matrix_b_source_data_per_read = 4, matrix_b_dest_data_per_write_dim_n = 4,
    matrix_c_source_dest_vector_read_write_dim = 3, matrix_c_dest_data_per_write = 1
  }
  func.return
}

// -----
func.func @launch() {
  // CHECK: error: 'block_size' is positive, got 0
  miopen.launch(%wg, %item) { grid_size = 4, block_size = 0 } do {
  }
  func.return
}

// -----
func.func @arguments() {
  // CHECK: error: 'miopen.launch' names two values, (%workgroup, %item)
  miopen.launch(%wg) { grid_size = 4, block_size = 64 } do {
  }
  func.return
}

// -----
func.func @keyword() {
  // CHECK: error: expected 'do' before the body of 'miopen.launch'
  miopen.launch(%wg, %item) { grid_size = 4, block_size = 64 } {
  }
  func.return
}

// -----
func.func @space(%size: index) {
  %c5 = arith.constant 5 : index
  // CHECK:      error: the address space is 5 here but #3 in the type
  // CHECK-NEXT: miopen.alloc(%size, %c5) : memref<?xi8, #3>
  // CHECK-NEXT: ^^^
  %0 = miopen.alloc(%size, %c5) : memref<?xi8, #3>
  func.return
}

// -----
func.func @unsized() {
  // CHECK: error: a buffer of size '?' needs its size as operand
  %0 = miopen.alloc() : memref<?xi8, #3>
  func.return
}

// -----
func.func @global() {
  // CHECK: error: a buffer is in LDS (#3) or private (#5), got 0
  %0 = miopen.alloc() : memref<16xi8>
  func.return
}

// -----
func.func @dimension(%lds: memref<64xi8, #3>, %c0: index, %m: index) {
  // CHECK:      error: size 8 of 'dimension' is 4 in the result type
  // CHECK-NEXT: dimension = [%m, 8]
  // CHECK-NEXT: ^
  %0 = miopen.subview(%lds, %c0) { dimension = [%m, 8] } : memref<64xi8, #3> to memref<?x4xf32, #3>
  func.return
}

// -----
func.func @moved(%lds: memref<64xi8, #3>, %c0: index) {
  // CHECK: error: a view keeps its memory space
  %0 = miopen.subview(%lds, %c0) : memref<64xi8, #3> to memref<16xf32, #5>
  func.return
}

// -----
func.func @outside(%lds: memref<64xi8, #3>) {
  %c4 = arith.constant 4 : index
  // CHECK: error: bytes 4 to 68 lie outside the source's 64 bytes
  %0 = miopen.subview(%lds, %c4) : memref<64xi8, #3> to memref<16xf32, #3>
  func.return
}

// -----
func.func @reference(%a: memref<?x?xf32>, %b: memref<?xf32, #5>, %k: index) {
  // CHECK: error: 'miopen.blockwise_copy' takes no SSA value in its configuration
  miopen.blockwise_copy(%a, %b) { move_source_offset = %k }
  func.return
}

// -----
func.func @value(%items: memref<4xf32, #5>, %zero: f64) {
  // CHECK: error: the value has type f64, the elements f32
  miopen.fill(%items, %zero) : memref<4xf32, #5>
  func.return
}

// -----
func.func @elements(%a: memref<4xf64>, %b: memref<4xf32, #5>) {
  // CHECK: error: {{.*}}f32{{.*}}f64
  miopen.threadwise_copy(%a, %b)
  func.return
}

// -----
func.func @indices(%a: memref<4xf32>, %b: memref<4xf32, #5>, %i: index) {
  // CHECK: error: 2 indices are given for a view of rank 1
  miopen.threadwise_copy(%a[%i, %i], %b)
  func.return
}

// -----
func.func @index(%lds: memref<64xi8, #3>, %i: index) {
  // CHECK: error: 'source' of 'miopen.subview' takes no index
  %0 = miopen.subview(%lds[%i], %i) : memref<64xi8, #3> to memref<16xf32, #3>
  func.return
}

// -----
func.func @unknown() {
  // CHECK: error: '%later' is not defined above; write the types after ':'
  miopen.threadwise_copy(%later, %later)
  func.return
}

// -----
func.func @global_a(%a: memref<8x4xf32>, %c: memref<4x4xf32, #5>) {
  // CHECK: error: 'a' is in LDS memory (#3), got #0
  miopen.blockwise_gemm(%a, %a, %c) {
    m_per_thread = 4, n_per_thread = 4, k_per_thread = 1,
    m_level0_cluster = 4, n_level0_cluster = 4, m_level1_cluster = 4, n_level1_cluster = 4,
    matrix_a_source_data_per_read = 4, matrix_b_source_data_per_read = 4
  }
  func.return
}

// -----
func.func @reduction(%a: memref<8x4xf32, #5>, %b: memref<7x4xf32, #5>, %c: memref<4x4xf32, #5>) {
  // CHECK: error: k of a and b differ: 8 and 7
  miopen.threadwise_gemm(%a, %b, %c)
  func.return
}

// -----
func.func @twice(%a: memref<8xf32>) {
  %0 = arith.constant 0 : index
  // CHECK: error: SSA value %0 is already defined
  %0 = arith.constant 0 : index
  func.return
}

// -----
func.func @order(%place: index) {
  // CHECK: error: unknown along 'k'
  %0 = miopen.tile(%place) { batches = 1, m_tiles = 2, n_tiles = 2, group = 2, along = "k", ways = 1 } : index
  func.return
}

// -----
func.func @tiles(%place: index) {
  // CHECK: error: 'm_tiles' is positive, got 0
  %0 = miopen.tile(%place) { batches = 1, m_tiles = 0, n_tiles = 2, group = 2, along = "m", ways = 1 } : index
  func.return
}

// -----
func.func @group(%a: memref<4xf32>) {
  // CHECK: error: a group is one i32 in global memory
  %0 = miopen.group(%a) { usual = 2, most = 9 } : memref<4xf32> to index
  func.return
}

// -----
func.func @bound(%first: index) {
  // CHECK: error: unknown bound 'pair'; did you mean 'pairs'?
  %0 = miopen.bound(%first, %first) { bound = "pair", k_tiles = 5 } : index
  func.return
}

// -----
func.func @within(%number: index) {
  // CHECK: error: 'count' is positive, got 0
  %0 = miopen.within(%number) { first = 1, count = 0 } : index
  func.return
}
