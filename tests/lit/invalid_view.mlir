// What a transform must be: each piece breaks one rule.
// RUN: imbrex-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @arity(%v: memref<?x?xf32>) {
  // CHECK: error: 'passthrough' takes 1 entry in 'source_dimensions', got 2
  %0 = miopen.transform(%v) {
    layout = [
      0: passthrough(0: a, 1: b), c
    ]
  } : memref<?x?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @parameters(%v: memref<?xf32>) {
  // CHECK:      error: 'pad' takes parameters [before, after], got [1]
  // CHECK-NEXT: 0: pad(0: a, 1), b
  // CHECK-NEXT: ^^^^^^^^^
  %0 = miopen.transform(%v) {
    layout = [
      0: pad(0: a, 1), b
    ]
  } : memref<?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @count(%v: memref<?xf32>) {
  // CHECK: error: 'embed' takes parameters [n, [c1, ..., cn, offset]], got [2, [1, 0]]
  %0 = miopen.transform(%v) {
    layout = [
      [0, 1]: embed(0: a, 2, [1, 0]), [b, c]
    ]
  } : memref<?xf32> to memref<?x?xf32>
  func.return
}

// -----
func.func @sized(%v: memref<3x4xf32>) {
  // CHECK:      invalid_view.mlir:{{[0-9]+}}:26: error: 'c' has size 13, but 'merge' of size 3*4 makes 12
  // CHECK-NEXT: } : memref<3x4xf32> to memref<13xf32>
  // CHECK-NEXT: ^^^^^^^^^^^^^
  %0 = miopen.transform(%v) {
    layout = [
      0: merge(0: a, 1: b), c
    ]
  } : memref<3x4xf32> to memref<13xf32>
  func.return
}

// -----
func.func @reach(%v: memref<6xf32>) {
  // CHECK: error: 'embed' reaches [0, 6] of a dimension of size 6
  %0 = miopen.transform(%v) {
    layout = [
      [0, 1]: embed(0: a, 2, [1, 1, 0]), [b, c]
    ]
  } : memref<6xf32> to memref<3x5xf32>
  func.return
}

// -----
func.func @begin(%v: memref<6xf32>) {
  // CHECK: error: 'slice' takes [4, 7) of a dimension of size 6
  %0 = miopen.transform(%v) {
    layout = [
      0: slice(0: a, 4, 7), b
    ]
  } : memref<6xf32> to memref<3xf32>
  func.return
}

// -----
func.func @left(%v: memref<?x?xf32>) {
  // CHECK: error: source dimension 'b' is in no transformation
  %0 = miopen.transform(%v) {
    layout = [
      {
        dimensions = [0], names = ["c"], transformation = "passthrough",
        source_dimensions = [0], source_names = ["a"]
      }
    ],
    output_layout = ["c"], source_layout = ["a", "b"]
  } : memref<?x?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @twice(%v: memref<?x?xf32>) {
  // CHECK: error: source dimension 0, 'a', is in two transformations
  %0 = miopen.transform(%v) {
    layout = [
      0: passthrough(0: a), c
      1: passthrough(0: a), d
    ]
  } : memref<?x?xf32> to memref<?x?xf32>
  func.return
}

// -----
func.func @beyond(%v: memref<?xf32>) {
  // CHECK: error: result dimension 3 does not exist: output_layout names 1
  %0 = miopen.transform(%v) {
    layout = [
      {
        dimensions = [3], names = ["q"], transformation = "passthrough",
        source_dimensions = [0], source_names = ["a"]
      }
    ],
    output_layout = ["b"], source_layout = ["a"]
  } : memref<?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @chain(%v: memref<?xf32>) {
  %b = miopen.transform(%v) {
    layout = [
      0: passthrough(0: a), b
    ]
  } : memref<?xf32> to memref<?xf32>
  // CHECK:      error: the source's dimensions are b, not a
  // CHECK-NEXT: intermediate_layout = ["a"]
  %0 = miopen.transform(%b) {
    layout = [
      0: passthrough(0: a), c
    ],
    output_layout = ["c"],
    intermediate_layout = ["a"]
  } : memref<?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @both(%v: memref<?xf32>) {
  // CHECK: error: miopen.transform: give one of 'source_layout' and 'intermediate_layout'
  %0 = miopen.transform(%v) {
    layout = [
      0: passthrough(0: a), c
    ],
    source_layout = ["a"], intermediate_layout = ["a"]
  } : memref<?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @element(%v: memref<?xf32>) {
  // CHECK: error: a view keeps its element type f32
  %0 = miopen.transform(%v) {
    layout = [
      0: passthrough(0: a), c
    ]
  } : memref<?xf32> to memref<?xf16>
  func.return
}

// -----
func.func @result(%v: memref<?xf32>) {
  // CHECK: error: 'miopen.transform' has a result; write 'to' and its type after the operand's type
  %0 = miopen.transform(%v) {
    layout = [
      0: passthrough(0: a), c
    ]
  } : memref<?xf32>
  func.return
}

// -----
func.func @names(%v: memref<?xf32>) {
  // CHECK: error: missing ', <name>' after 'passthrough(...)'
  %0 = miopen.transform(%v) {
    layout = [
      0: passthrough(0: a)
    ]
  } : memref<?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @order(%v: memref<?xf32>) {
  // CHECK:      error: parameters come after the source dimensions
  // CHECK-NEXT: 0: pad(1, 0: a, 1), c
  // CHECK-NEXT: ^
  %0 = miopen.transform(%v) {
    layout = [
      0: pad(1, 0: a, 1), c
    ]
  } : memref<?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @lacks(%v: memref<?xf32>) {
  // CHECK: error: a transformation lacks 'names'
  %0 = miopen.transform(%v) {
    layout = [{ dimensions = [0], transformation = "passthrough", source_dimensions = [0], source_names = ["a"] }]
  } : memref<?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @unequal(%v: memref<?x?xf32>) {
  // CHECK: error: 'source_names' has 1 entry, 'source_dimensions' has 2
  %0 = miopen.transform(%v) {
    layout = [{
      dimensions = [0], names = ["c"], transformation = "merge", source_dimensions = [0, 1], source_names = ["a"]
    }]
  } : memref<?x?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @prefix_of_a_number(%v: memref<8xf32>) {
  // CHECK: error: 'prefix' is of a size '?', and 'a' has size 8; write 'passthrough'
  %0 = miopen.transform(%v) {
    layout = [
      0: prefix(0: a, 1), b
    ]
  } : memref<8xf32> to memref<8xf32>
  func.return
}

// -----
func.func @prefix_of_any_number(%v: memref<?xf32>) {
  // CHECK: error: 'b' is the greatest size of a prefix: write a number
  %0 = miopen.transform(%v) {
    layout = [
      0: prefix(0: a, 1), b
    ]
  } : memref<?xf32> to memref<?xf32>
  func.return
}

// -----
func.func @prefix_of_too_few(%v: memref<?xf32>) {
  // CHECK: error: 'prefix' needs at least one coordinate and at most 8, got 9
  %0 = miopen.transform(%v) {
    layout = [
      0: prefix(0: a, 9), b
    ]
  } : memref<?xf32> to memref<8xf32>
  func.return
}
