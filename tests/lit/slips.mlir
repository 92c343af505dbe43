// The slips of the notes, one a piece: where, what, and what to write instead.
// RUN: imbrex-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK:      slips.mlir:{{[0-9]+}}:13: error: 'linalg.conv -> miopen.conv2d' is prose; remove the line, and run linalg-to-miopen
// CHECK-NEXT: linalg.conv -> miopen.conv2d
// CHECK-NEXT: ^^
linalg.conv -> miopen.conv2d

// -----
func.func @comment(%c0: index) {
  // CHECK:      slips.mlir:{{[0-9]+}}:3: error: a comment starts with '//', not with '#'; write '//'
  // CHECK-NEXT: # LDS memory address space is fixed at 3.
  // CHECK-NEXT: ^
  # LDS memory address space is fixed at 3.
  func.return
}

// -----
func.func @comma(%filter: memref<?x?x?x?xf32>) {
  // CHECK:      slips.mlir:{{[0-9]+}}:40: error: missing ',' after 'gridwise_gemm_argument_position = 0'
  // CHECK-NEXT: gridwise_gemm_argument_position = 0
  // CHECK-NEXT: ^
  %0 = miopen.transform(%filter) {
    gridwise_gemm_argument_position = 0
    layout = [
    ]
  } : memref<?x?x?x?xf32> to memref<?x?xf32>
  func.return
}

// -----
func.func @comma_after_list(%v: memref<?xf32>) {
  // CHECK:      slips.mlir:{{[0-9]+}}:84: error: missing ',' after 'layout = [0: passthrough(0: a), b]'
  // CHECK-NEXT: layout = [0: passthrough(0: a), b] output_layout
  %0 = miopen.transform(%v) { gridwise_gemm_argument_position = 0, source_layout = ["a"],
                                                 layout = [0: passthrough(0: a), b] output_layout = ["b"]
  } : memref<?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @doubled(%v: memref<?x?x?x?xf32>) {
  // CHECK:      slips.mlir:{{[0-9]+}}:5: error: 'layout =' is opened a second time; remove this line
  // CHECK-NEXT: layout = [
  // CHECK-NEXT: ^^^^^^
  %0 = miopen.transform(%v) {
  layout = [
    layout = [
      {
        dimensions = [0]
      }
  ],
  output_layout = ["n"]
  } : memref<?x?x?x?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @kind(%v: memref<?xf32>) {
  // CHECK:      slips.mlir:{{[0-9]+}}:24: error: unknown transformation 'passthorugh'; did you mean 'passthrough'?
  // CHECK-NEXT: transformation = "passthorugh",
  // CHECK-NEXT: ^^^^^^^^^^^^^
  %0 = miopen.transform(%v) {
    layout = [
      {
      dimensions = [0],
      names = ["n"],
      transformation = "passthorugh",
      source_dimensions = [0],
      source_names = ["n"]
      }
    ],
    output_layout = ["n"],
    source_layout = ["n"]
  } : memref<?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @compact_kind(%v: memref<?x?xf32>) {
  // CHECK:      slips.mlir:{{[0-9]+}}:8: error: unknown transformation 'merg'; did you mean 'merge'?
  // CHECK-NEXT: 0: merg(0: a, 1: b), m
  // CHECK-NEXT: ^^^^
  %0 = miopen.transform(%v) {
    layout = [
    0: merg(0: a, 1: b), m
    ]
  } : memref<?x?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @name(%filter: memref<?x?x?x?xf32>) {
  // CHECK:      slips.mlir:{{[0-9]+}}:23: error: source dimension 0 is 'k', not 'n'; write 'k'
  // CHECK-NEXT: source_names = ["n"]
  // CHECK-NEXT: ^^^
  %0 = miopen.transform(%filter) {
    layout = [
      {
      dimensions = [0],
      names = ["gemmK"],
      transformation = "merge",
      source_dimensions = [1, 2, 3],
      source_names = ["c", "y", "x"]
      },
      {
      dimensions = [1],
      names = ["gemmM"],
      transformation = "passthrough",
      source_dimensions = [0],
      source_names = ["n"]
      }
    ],
    output_layout = ["gemmK", "gemmM"],
    source_layout = ["k", "c", "y", "x"]
  } : memref<?x?x?x?xf32> to memref<?x?xf32>
  func.return
}

// -----
func.func @layout_name(%input: memref<?x?xf32>) {
  // CHECK:      slips.mlir:{{[0-9]+}}:27: error: 'source_layout' calls source dimension 1 'h'; write 'hi'
  // CHECK-NEXT: source_layout = ["n", "h"]
  // CHECK-NEXT: ^^^
  %0 = miopen.transform(%input) {
    layout = [
      {
        dimensions = [0], names = ["n"], transformation = "passthrough",
        source_dimensions = [0], source_names = ["n"]
      },
      {
        dimensions = [1], names = ["hipad"], transformation = "pad", parameters = [0, 0],
        source_dimensions = [1], source_names = ["hi"]
      }
    ],
    output_layout = ["n", "hipad"],
    source_layout = ["n", "h"]
  } : memref<?x?xf32> to memref<?x?xf32>
  func.return
}

// -----
func.func @number(%v: memref<?x?xf32>) {
  // CHECK:      slips.mlir:{{[0-9]+}}:12: error: 'w' is source dimension 1, not 0; write 1
  // CHECK-NEXT: 1: pad(0: w, 1, 1), wpad
  // CHECK-NEXT: ^
  %hw = miopen.transform(%v) {
    layout = [
      0: passthrough(0: a), h
      1: passthrough(1: b), w
    ]
  } : memref<?x?xf32> to memref<?x?xf32>
  %0 = miopen.transform(%hw) {
    layout = [
      0: pad(0: h, 1, 1), hpad
    1: pad(0: w, 1, 1), wpad
    ]
  } : memref<?x?xf32> to memref<?x?xf32>
  func.return
}

// -----
func.func @rank(%v: memref<?x?xf32>) {
  // CHECK:      slips.mlir:{{[0-9]+}}:25: error: the result type has rank 7 but 6 dimensions are named: n, c, y, ho, x, wo; write memref<?x?x?x?x?x?xf32>
  // CHECK-NEXT: } : memref<?x?xf32> to memref<?x?x?x?x?x?x?xf32>
  // CHECK-NEXT: ^^^^^^^^^^^^^^^^^^^^^^^^^
  %0 = miopen.transform(%v) {
    layout = [
      [0, 1, 2]: unmerge(0: a), [n, c, y]
      [3, 4, 5]: unmerge(1: b), [ho, x, wo]
    ]
 } : memref<?x?xf32> to memref<?x?x?x?x?x?x?xf32>
  func.return
}

// -----
// CHECK:      slips.mlir:{{[0-9]+}}:36: error: missing 'x' between the last size and 'f32'; write 'xf32'
// CHECK-NEXT: func.func @cross(%v: memref<?x?x?x?f32>) {
// CHECK-NEXT: ^^^
func.func @cross(%v: memref<?x?x?x?f32>) {
  func.return
}

// -----
// CHECK:      slips.mlir:{{[0-9]+}}:29: error: 'kxmxf32' is not a shape; a size is a number or '?', as in 'memref<?x?xf32>'
// CHECK-NEXT: func.func @shape(%v: memref<kxmxf32>) {
// CHECK-NEXT: ^^^^^^^
func.func @shape(%v: memref<kxmxf32>) {
  func.return
}

// -----
func.func @undefined(%matrix_a: memref<?x?xf32>, %matrix_b: memref<?x?xf32>, %matrix_c: memref<?x?xf32>) {
  // CHECK:      slips.mlir:{{[0-9]+}}:46: error: '%matric_c' is used but not defined; did you mean '%matrix_c'?
  // CHECK-NEXT: miopen.gridwise_gemm(%matrix_a, %matrix_b, %matric_c) :
  // CHECK-NEXT: ^^^^^^^^^
  miopen.gridwise_gemm(%matrix_a, %matrix_b, %matric_c) : memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>
  func.return
}

// -----
func.func @word(%a: memref<?x?xf32>, %b: memref<?xi8, #5>) {
  // CHECK:      slips.mlir:{{[0-9]+}}:56: error: expected a value, got the word 'k_per_block'; write its number
  // CHECK-NEXT: { move_source_offset = k_per_block }
  // CHECK-NEXT: ^^^^^^^^^^^
  miopen.blockwise_copy(%a, %b) { move_source_offset = k_per_block } : memref<?x?xf32>, memref<?xi8, #5>
  func.return
}

// -----
func.func @open(%a: memref<?x?xf32, #3>, %b: memref<?xi8, #5>) {
  // CHECK:      slips.mlir:{{[0-9]+}}:52: error: 'TBD' marks a value that the notes leave open; write a number
  // CHECK-NEXT: { offset_source = TBD }
  // CHECK-NEXT: ^^^
  miopen.threadwise_copy(%a, %b) { offset_source = TBD }
  func.return
}

// -----
func.func @loop(%c0: index, %total_iteration: index) {
  // CHECK:      slips.mlir:{{[0-9]+}}:3: error: 'loop.for' is written 'scf.for %i = %from to %to step %step { ... }'
  // CHECK-NEXT: loop.for %iter = %c0 to %total_iteration {
  // CHECK-NEXT: ^^^^^^^^
  loop.for %iter = %c0 to %total_iteration {
  }
  func.return
}

// -----
func.func @condition(%has_one_iteration_left: i1) {
  // CHECK:      slips.mlir:{{[0-9]+}}:3: error: 'loop.if' is written 'scf.if %condition { ... } else { ... }'
  loop.if %has_one_iteration_left {
  }
  func.return
}

// -----
func.func @arithmetic(%K: index, %k_per_thread_loop: index) {
  // CHECK:      slips.mlir:{{[0-9]+}}:22: error: expected an operation after '='; arithmetic on SSA values is written with operations such as arith.muli and arith.divui
  // CHECK-NEXT: %total_iteration = %K / %k_per_thread_loop
  // CHECK-NEXT: ^^
  %total_iteration = %K / %k_per_thread_loop
  func.return
}

// -----
func.func @filled(%size: index, %c0: f32) {
  // CHECK:      slips.mlir:{{[0-9]+}}:15: error: '%thread_c' has type memref<?xi8, #5>; write that instead of memref<?xf32, #5>
  // CHECK-NEXT: miopen.fill(%thread_c, %c0) : memref<?xf32, #5>
  // CHECK-NEXT: ^^^^^^^^^
  %thread_c = miopen.alloc(%size) : memref<?xi8, #5>
  miopen.fill(%thread_c, %c0) : memref<?xf32, #5>
  func.return
}

// -----
func.func @twice_static() {
  %size = arith.constant 4096 : index
  %block_a = miopen.alloc() : memref<8192xi8, #3>
  %block_a_odd = miopen.subview(%block_a, %size) : memref<8192xi8, #3> to memref<4096xi8, #3>
  // CHECK:      slips.mlir:{{[0-9]+}}:54: error: bytes 4096 to 8192 lie outside the source's 4096 bytes; the source already starts at this offset: write an offset of 0
  // CHECK-NEXT: %matrix_block_a_odd = miopen.subview(%block_a_odd, %size)
  // CHECK-NEXT: ^^^^^
  %matrix_block_a_odd = miopen.subview(%block_a_odd, %size) : memref<4096xi8, #3> to memref<8x128xf32, #3>
  func.return
}

// -----
func.func @key(%f: memref<1x1x1x1xf32>, %i: memref<1x1x1x1xf32>, %o: memref<1x1x1x1xf32>) {
  // CHECK:      slips.mlir:{{[0-9]+}}:22: error: unknown key 'stride'; did you mean 'strides'?
  // CHECK-NEXT: dilations = [1, 1], stride = [1, 1], padding = [0, 0]
  // CHECK-NEXT: ^^^^^^
  miopen.conv2d(%f, %i, %o) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"], output_layout = ["n", "k", "ho", "wo"],
 dilations = [1, 1], stride = [1, 1], padding = [0, 0]
  }
  func.return
}

// -----
func.func @operation(%f: memref<1x1x1x1xf32>) {
  // CHECK:      slips.mlir:{{[0-9]+}}:3: error: unknown operation 'miopen.blockwise_gem'; did you mean 'miopen.blockwise_gemm'?
  // CHECK-NEXT: miopen.blockwise_gem(%f, %f, %f)
  // CHECK-NEXT: ^^^^^^^^^^^^^^^^^^^^
  miopen.blockwise_gem(%f, %f, %f)
  func.return
}
