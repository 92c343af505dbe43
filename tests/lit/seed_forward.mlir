// Forward convolution as views and a gridwise product: the second draft's text, repaired.
// RUN: imbrex-opt %s | imbrex-opt | filecheck %s
// RUN: imbrex-opt %s --print-op-generic | imbrex-opt | filecheck %s
// RUN: imbrex-opt %s --compact | imbrex-opt | filecheck %s

func.func @fwd(%filter: memref<?x?x?x?xf32>, %input: memref<?x?x?x?xf32>, %output: memref<?x?x?x?xf32>) {
  miopen.conv2d(%filter, %input, %output) {
      filter_layout = ["k", "c", "y", "x"],
      input_layout = ["n", "c", "hi", "wi"],
      output_layout = ["n", "k", "ho", "wo"],
      dilations = [1, 1],
      strides = [1, 1],
      padding = [0, 0]
  } : memref<?x?x?x?xf32>,
      memref<?x?x?x?xf32>,
      memref<?x?x?x?xf32>
  %filter_gemmK_gemmM = miopen.transform(%filter) {
    gridwise_gemm_argument_position = 0,
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
        source_names = ["k"]
      }
    ],
    output_layout = ["gemmK", "gemmM"],
    source_layout = ["k", "c", "y", "x"]
  } : memref<?x?x?x?xf32> to memref<?x?xf32>
  %input_n_c_hipad_wipad = miopen.transform(%input) {
    layout = [
      {
        dimensions = [0],
        names = ["n"],
        transformation = "passthrough",
        source_dimensions = [0],
        source_names = ["n"]
      },
      {
        dimensions = [1],
        names = ["c"],
        transformation = "passthrough",
        source_dimensions = [1],
        source_names = ["c"]
      },
      {
        dimensions = [2],
        names = ["hipad"],
        transformation = "pad",
        parameters = [0, 0],
        source_dimensions = [2],
        source_names = ["hi"]
      },
      {
        dimensions = [3],
        names = ["wipad"],
        transformation = "pad",
        parameters = [0, 0],
        source_dimensions = [3],
        source_names = ["wi"]
      }
    ],
    output_layout = ["n", "c", "hipad", "wipad"],
    source_layout = ["n", "c", "hi", "wi"]
  } : memref<?x?x?x?xf32> to memref<?x?x?x?xf32>
  %input_n_c_y_ho_x_wo = miopen.transform(%input_n_c_hipad_wipad) {
    layout = [
        {
          dimensions = [0],
          names = ["n"],
          transformation = "passthrough",
          source_dimensions = [0],
          source_names = ["n"]
        },
        {
          dimensions = [1],
          names = ["c"],
          transformation = "passthrough",
          source_dimensions = [1],
          source_names = ["c"]
        },
        {
          dimensions = [2, 3],
          names = ["y", "ho"],
          transformation = "embed",
          parameters = [2, [1, 1, 0]],
          source_dimensions = [2],
          source_names = ["hipad"]
        },
        {
          dimensions = [4, 5],
          names = ["x", "wo"],
          transformation = "embed",
          parameters = [2, [1, 1, 0]],
          source_dimensions = [3],
          source_names = ["wipad"]
        }
    ],
    intermediate_layout = ["n", "c", "hipad", "wipad"],
    output_layout = ["n", "c", "y", "ho", "x", "wo"]
  } : memref<?x?x?x?xf32> to memref<?x?x?x?x?x?xf32>
  %input_gemmK_gemmN = miopen.transform(%input_n_c_y_ho_x_wo) {
    gridwise_gemm_argument_position = 1,
    layout = [
      {
        dimensions = [0],
        names = ["gemmK"],
        transformation = "merge",
        source_dimensions = [1, 2, 4],
        source_names = ["c", "y", "x"]
      },
      {
        dimensions = [1],
        names = ["gemmN"],
        transformation = "merge",
        source_dimensions = [0, 3, 5],
        source_names = ["n", "ho", "wo"]
      }
    ],
    intermediate_layout = ["n", "c", "y", "ho", "x", "wo"],
    output_layout = ["gemmK", "gemmN"]
  } : memref<?x?x?x?x?x?xf32> to memref<?x?xf32>
  %output_gemmM_gemmN = miopen.transform(%output) {
    gridwise_gemm_argument_position = 2,
    layout = [
      {
        dimensions = [0],
        names = ["gemmM"],
        transformation = "passthrough",
        source_dimensions = [1],
        source_names = ["k"]
      },
      {
        dimensions = [1],
        names = ["gemmN"],
        transformation = "merge",
        source_dimensions = [0, 2, 3],
        source_names = ["n", "ho", "wo"]
      }
    ],
    output_layout = ["gemmM", "gemmN"],
    source_layout = ["n", "k", "ho", "wo"]
  } : memref<?x?x?x?xf32> to memref<?x?xf32>
  miopen.gridwise_gemm(%filter_gemmK_gemmM, %input_gemmK_gemmN, %output_gemmM_gemmN) {
    kernel_algorithm = "v4r4",
    filter_dimension = [?, ?, ?, ?],
    filter_layout = ["k", "c", "y", "x"],
    input_dimension = [?, ?, ?, ?],
    input_layout = ["n", "c", "hi", "wi"],
    output_dimension = [?, ?, ?, ?],
    output_layout = ["n", "k", "ho", "wo"],
    dilations = [1, 1],
    strides = [1, 1],
    padding = [[0, 0], [0, 0]]
  } : memref<?x?xf32>,
      memref<?x?xf32>,
      memref<?x?xf32>
  func.return
}

// CHECK:      func.func @fwd(%filter: memref<?x?x?x?xf32>
// CHECK-NEXT:   miopen.conv2d(%filter, %input, %output) {
// CHECK-NEXT:     filter_layout = ["k", "c", "y", "x"],
// CHECK-NEXT:     input_layout = ["n", "c", "hi", "wi"],
// CHECK-NEXT:     output_layout = ["n", "k", "ho", "wo"],
// CHECK-NEXT:     dilations = [1, 1],
// CHECK-NEXT:     strides = [1, 1],
// CHECK-NEXT:     padding = [0, 0]
// CHECK-NEXT:   } : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>, memref<?x?x?x?xf32>
// CHECK-NEXT:   %filter_gemmK_gemmM = miopen.transform(%filter) {
// CHECK-NEXT:     gridwise_gemm_argument_position = 0,
// CHECK-NEXT:     layout = [
// CHECK-NEXT:       {
// CHECK-NEXT:         dimensions = [0],
// CHECK-NEXT:         names = ["gemmK"],
// CHECK-NEXT:         transformation = "merge",
// CHECK-NEXT:         source_dimensions = [1, 2, 3],
// CHECK-NEXT:         source_names = ["c", "y", "x"]
// CHECK-NEXT:       },
// CHECK:          output_layout = ["gemmK", "gemmM"],
// CHECK-NEXT:     source_layout = ["k", "c", "y", "x"]
// CHECK-NEXT:   } : memref<?x?x?x?xf32> to memref<?x?xf32>
// CHECK:        %input_n_c_hipad_wipad = miopen.transform(%input) {
// CHECK:            parameters = [0, 0],
// CHECK:        } : memref<?x?x?x?xf32> to memref<?x?x?x?xf32>
// CHECK:        %input_n_c_y_ho_x_wo = miopen.transform(%input_n_c_hipad_wipad) {
// CHECK:            parameters = [2, [1, 1, 0]],
// CHECK:          intermediate_layout = ["n", "c", "hipad", "wipad"],
// CHECK-NEXT:     output_layout = ["n", "c", "y", "ho", "x", "wo"]
// CHECK-NEXT:   } : memref<?x?x?x?xf32> to memref<?x?x?x?x?x?xf32>
// CHECK:        miopen.gridwise_gemm(%filter_gemmK_gemmM, %input_gemmK_gemmN, %output_gemmM_gemmN) {
// CHECK:          kernel_algorithm = "v4r4"
// CHECK:          filter_dimension = [?, ?, ?, ?],
// CHECK:        } : memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>
