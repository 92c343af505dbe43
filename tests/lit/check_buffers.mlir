// Slips that types cannot show: a register stored in place of another, an offset added twice, B laid on A.
// RUN: imbrex-opt %s -p check-buffers --split-input-file --verify-diagnostics | filecheck %s

func.func @wrong_half(%matrix_a: memref<?x?xf32>, %block_a_even: memref<?xi8, #3>, %block_a_odd: memref<?xi8, #3>,
                      %size: index) {
  %thread_a_even = miopen.alloc(%size) : memref<?xi8, #5>
  %thread_a_odd = miopen.alloc(%size) : memref<?xi8, #5>
  miopen.blockwise_copy(%matrix_a, %thread_a_even) : memref<?x?xf32>, memref<?xi8, #5>
  miopen.blockwise_copy(%thread_a_even, %block_a_odd) : memref<?xi8, #5>, memref<?xi8, #3>
  miopen.blockwise_copy(%matrix_a, %thread_a_odd) : memref<?x?xf32>, memref<?xi8, #5>
  // CHECK:      check_buffers.mlir:{{[0-9]+}}:25: error: '%thread_a_odd', written on line 10, is never read; write '%thread_a_odd' here
  // CHECK-NEXT: miopen.blockwise_copy(%thread_a_even, %block_a_even)
  // CHECK-NEXT: ^^^^^^^^^^^^^^
  miopen.blockwise_copy(%thread_a_even, %block_a_even) : memref<?xi8, #5>, memref<?xi8, #3>
  func.return
}

// -----
func.func @forgotten(%a: memref<?xf32>, %size: index) {
  %items = miopen.alloc(%size) : memref<?xf32, #5>
  // CHECK:      check_buffers.mlir:{{[0-9]+}}:30: error: '%items' is written here but never read
  // CHECK-NEXT: miopen.threadwise_copy(%a, %items)
  // CHECK-NEXT: ^^^^^^
  miopen.threadwise_copy(%a, %items) : memref<?xf32>, memref<?xf32, #5>
  func.return
}

// -----
func.func @twice(%block_a: memref<?xi8, #3>, %block_a_size: index, %k: index, %m: index) {
  %block_a_odd = miopen.subview(%block_a, %block_a_size) : memref<?xi8, #3> to memref<?xi8, #3>
  // CHECK:      check_buffers.mlir:{{[0-9]+}}:54: error: '%block_a_size' is added twice: '%block_a_odd' already starts there; write 0
  // CHECK-NEXT: %matrix_block_a_odd = miopen.subview(%block_a_odd, %block_a_size)
  // CHECK-NEXT: ^^^^^^^^^^^^^
  %matrix_block_a_odd = miopen.subview(%block_a_odd, %block_a_size) { dimension = [%k, %m] } : memref<?xi8, #3> to memref<?x?xf32, #3>
  func.return
}

// -----
func.func @overlap(%block_shared: memref<?xi8, #3>) {
  %c0 = arith.constant 0 : index
  %block_a = miopen.subview(%block_shared, %c0) : memref<?xi8, #3> to memref<?xi8, #3>
  // CHECK:      check_buffers.mlir:{{[0-9]+}}:44: error: '%block_b' lies on '%block_a': both start at '%c0'; write the size of '%block_a'
  // CHECK-NEXT: %block_b = miopen.subview(%block_shared, %c0)
  // CHECK-NEXT: ^^^
  %block_b = miopen.subview(%block_shared, %c0) : memref<?xi8, #3> to memref<?xi8, #3>
  func.return
}
