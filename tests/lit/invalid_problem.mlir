// What a convolution or a product must be: each piece breaks one rule.
// RUN: imbrex-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @name(%f: memref<?x?x?x?xf32>) {
  // CHECK:      invalid_problem.mlir:{{[0-9]+}}:43: error: the input has no dimension 'h'; write 'hi'
  // CHECK-NEXT: input_layout = ["n", "c", "h", "wi"]
  // CHECK-NEXT: ^^^
  miopen.conv2d(%f, %f, %f) {
    filter_layout = ["k", "c", "y", "x"],
                input_layout = ["n", "c", "h", "wi"], output_layout = ["n", "k", "ho", "wo"],
    dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  }
  func.return
}

// -----
func.func @twice(%f: memref<?x?x?x?xf32>) {
  // CHECK:      invalid_problem.mlir:{{[0-9]+}}:32: error: 'c' is named twice in the filter's layout
  miopen.conv2d(%f, %f, %f) {
    filter_layout = ["k", "c", "c", "x"], input_layout = ["n", "c", "hi", "wi"], output_layout = ["n", "k", "ho", "wo"],
    dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  }
  func.return
}

// -----
func.func @lacks(%f: memref<?x?x?x?xf32>) {
  // CHECK:      invalid_problem.mlir:{{[0-9]+}}:21: error: the filter's layout lacks 'x'
  miopen.conv2d(%f, %f, %f) {
    filter_layout = ["k", "c", "y"], input_layout = ["n", "c", "hi", "wi"], output_layout = ["n", "k", "ho", "wo"],
    dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  }
  func.return
}

// -----
func.func @rank(%f: memref<?x?x?xf32>, %i: memref<?x?x?x?xf32>) {
  // CHECK:      invalid_problem.mlir:{{[0-9]+}}:7: error: the filter has rank 3 but its layout names 4 dimensions: k, c, y, x
  // CHECK-NEXT: } : memref<?x?x?xf32>, memref
  // CHECK-NEXT: ^^^^^^^^^^^^^^^^^
  miopen.conv2d(%f, %i, %i) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"], output_layout = ["n", "k", "ho", "wo"],
    dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  } : memref<?x?x?xf32>, memref<?x?x?x?xf32>, memref<?x?x?x?xf32>
  func.return
}

// -----
func.func @groups(%f: memref<?x?x?x?x?xf32>, %i: memref<?x?x?x?xf32>) {
  // CHECK:      error: the input's layout lacks 'g'
  miopen.conv2d(%f, %i, %i) {
    filter_layout = ["g", "k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"], output_layout = ["n", "k", "ho", "wo"],
    dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  }
  func.return
}

// -----
func.func @numbers(%f: memref<?x?x?x?xf32>) {
  // CHECK:      invalid_problem.mlir:{{[0-9]+}}:18: error: 'dilations' are positive, got 0
  // CHECK-NEXT: dilations = [1, 0]
  // CHECK-NEXT: ^
  miopen.conv2d(%f, %f, %f) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"], output_layout = ["n", "k", "ho", "wo"],
 dilations = [1, 0], strides = [1, 1], padding = [0, 0]
  }
  func.return
}

// -----
func.func @pairs(%f: memref<?x?x?x?xf32>) {
  // CHECK:      error: expected [before, after], got 3 numbers
  // CHECK-NEXT: padding = {{\[\[}}0, 1, 2], 0]
  // CHECK-NEXT: ^^^^^^^^^
  miopen.conv2d(%f, %f, %f) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"], output_layout = ["n", "k", "ho", "wo"],
    dilations = [1, 1], strides = [1, 1], padding = [[0, 1, 2], 0]
  }
  func.return
}

// -----
func.func @window(%f: memref<4x8x5x5xf32>, %i: memref<1x8x3x9xf32>, %o: memref<1x4x1x5xf32>) {
  // CHECK: error: window y = 5 is larger than the padded input: hi = 3 + pads 0 + 0 = 3
  miopen.conv2d(%f, %i, %o) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"], output_layout = ["n", "k", "ho", "wo"],
    dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  } : memref<4x8x5x5xf32>, memref<1x8x3x9xf32>, memref<1x4x1x5xf32>
  func.return
}

// -----
func.func @channels(%f: memref<4x8x1x1xf32>, %i: memref<1x7x3x3xf32>, %o: memref<1x4x3x3xf32>) {
  // CHECK: error: 'c' is 7 in the input but 8 in the filter
  miopen.conv2d(%f, %i, %o) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"], output_layout = ["n", "k", "ho", "wo"],
    dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  } : memref<4x8x1x1xf32>, memref<1x7x3x3xf32>, memref<1x4x3x3xf32>
  func.return
}

// -----
func.func @elements(%f: memref<4x8x1x1xf16>, %i: memref<1x8x3x3xf32>, %o: memref<1x4x3x3xf32>) {
  // CHECK: error: the element type is f32 here but f16 in the other operand that is read
  miopen.conv2d(%f, %i, %o) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"], output_layout = ["n", "k", "ho", "wo"],
    dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  } : memref<4x8x1x1xf16>, memref<1x8x3x3xf32>, memref<1x4x3x3xf32>
  func.return
}

// -----
func.func @algorithm(%f: memref<?x?x?x?xf32>) {
  // CHECK: error: unknown algorithm 'v4r2'; did you mean 'v4r1'?
  miopen.conv2d_bwd_data(%f, %f, %f) { algorithm = "v4r2",
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"], output_layout = ["n", "k", "ho", "wo"],
    dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  }
  func.return
}

// -----
func.func @product(%a: memref<4x5xf32>, %b: memref<6x7xf32>, %c: memref<4x7xf32>) {
  // CHECK:      invalid_problem.mlir:{{[0-9]+}}:46: error: k of a and b differ: 5 and 6
  // CHECK-NEXT: miopen.gemm(%a, %b, %c) : memref<4x5xf32>, memref<6x7xf32>, memref<4x7xf32>
  // CHECK-NEXT: ^^^^^^^^^^^^^^^
  miopen.gemm(%a, %b, %c) : memref<4x5xf32>, memref<6x7xf32>, memref<4x7xf32>
  func.return
}

// -----
func.func @operands(%a: memref<4x5xf32>, %b: memref<5x7xf32>) {
  // CHECK: error: 'miopen.gemm' takes 3 operands (a, b, c) and any number of scales, got 2
  miopen.gemm(%a, %b)
  func.return
}

// -----
func.func @types(%a: memref<4x5xf32>, %b: memref<5x7xf32>, %c: memref<4x7xf32>) {
  // CHECK: error: 'miopen.gemm' has 3 memref operands, got 2 types
  miopen.gemm(%a, %b, %c) : memref<4x5xf32>, memref<5x7xf32>
  func.return
}

// -----
func.func @bare(%f: memref<?x?x?x?xf32>) {
  // CHECK: error: 'miopen.conv2d' lacks its configuration '{ filter_layout = ... }'
  miopen.conv2d(%f, %f, %f)
  func.return
}

// -----
func.func @missing(%f: memref<?x?x?x?xf32>) {
  // CHECK: error: 'miopen.conv2d' lacks 'input_layout'
  miopen.conv2d(%f, %f, %f) { filter_layout = ["k", "c", "y", "x"] }
  func.return
}

// -----
func.func @unquoted(%f: memref<?x?x?x?xf32>) {
  // CHECK: error: expected a value, got the word 'k'; write its number, or "k" for a name
  miopen.conv2d(%f, %f, %f) { filter_layout = [k, c, y, x] }
  func.return
}

// -----
func.func @unnumbered(%f: memref<?x?x?x?xf32>) {
  // CHECK: error: 'y' is entry 2 of this list; write 2:
  miopen.conv2d(%f, %f, %f) { filter_layout = [0: k, 1: c, 3: y, 3: x] }
  func.return
}

// -----
func.func @again(%f: memref<?x?x?x?xf32>) {
  // CHECK: error: 'strides' is given twice
  miopen.conv2d(%f, %f, %f) { strides = [1, 1], strides = [1, 1] }
  func.return
}

// -----
func.func @open(%f: memref<?x?x?x?xf32>) {
  // CHECK: error: expected ',' or the ']' of the '[' on line {{[0-9]+}}, got '}'
  miopen.conv2d(%f, %f, %f) { strides = [1, 1 }
  func.return
}

// -----
func.func @trailing(%f: memref<?x?x?x?xf32>) {
  // CHECK: error: nothing follows this ','; remove it
  miopen.conv2d(%f, %f, %f) { strides = [1, 1,] }
  func.return
}
