// A convolution that asks for channels last: workspaces, launches that transpose into them, and the same convolution of those.
// RUN: imbrex-opt %s -p channels-last --split-input-file | filecheck %s
// RUN: imbrex-opt %s -p channels-last --split-input-file | imbrex-opt - -p conv-to-gemm,unfold --split-input-file | filecheck %s --check-prefix=LOWER

// Ten channels of f16 are rounded up to sixteen.  A work item turns 2 x 8 elements: 2 divides the 6 x 7 positions.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT:  %packed_filter = miopen.workspace() : memref<4x3x3x16xf16>
// CHECK-NEXT:  %packed_input = miopen.workspace() : memref<2x6x7x16xf16>
// CHECK:       names = ["c"],
// CHECK:       transformation = "pad",
// CHECK:       miopen.launch(%wg, %item) { grid_size = 6, block_size = 256 } do {
// CHECK-NEXT:    %thread_filter = miopen.alloc() : memref<1x8xf16, #5>
// CHECK-NEXT:    miopen.threadwise_copy(%filter_workgroup_workitem_other_slot_1[%wg, %item], %thread_filter) { vector = 8 }
// CHECK-NEXT:    miopen.threadwise_copy(%thread_filter, %packed_filter_workgroup_workitem_other_slot_1[%wg, %item]) { vector = 8 }
// CHECK:         miopen.threadwise_copy(%input_workgroup_workitem_other_slot_1[%wg, %item], %thread_input_turned_other_slot) { vector = 8 }
// CHECK-NEXT:    miopen.threadwise_copy(%thread_input_turned_other_slot, %thread_input) { vector = 8 }
// CHECK-NEXT:    miopen.threadwise_copy(%thread_input, %packed_input_workgroup_workitem_other_slot_1[%wg, %item]) { vector = 8 }
// CHECK:       miopen.conv2d(%packed_filter, %packed_input, %output) {
// CHECK-NEXT:    filter_layout = ["k", "y", "x", "c"],
// CHECK-NEXT:    input_layout = ["n", "hi", "wi", "c"],
// CHECK-NEXT:    output_layout = ["n", "k", "ho", "wo"],
// CHECK-NOT:     channels_last
// LOWER-LABEL: func.func @forward
// LOWER:       miopen.gridwise_gemm(%filter_gemmK_gemmM, %input_gemmK_gemmN, %output_gemmM_gemmN) {
// LOWER:         input_layout = ["n", "hi", "wi", "c"],
func.func @forward(%filter: memref<4x10x3x3xf16>, %input: memref<2x10x6x7xf16>, %output: memref<2x4x4x5xf16>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0], channels_last = true
  } : memref<4x10x3x3xf16>, memref<2x10x6x7xf16>, memref<2x4x4x5xf16>
  func.return
}

// -----
// Backward data sums over k, which is outermost in the filter; the output has it last already and stays.
// CHECK-LABEL: func.func @backward_data
// CHECK-NEXT:  %packed_filter = miopen.workspace() : memref<3x3x3x8xf16>
// CHECK-NOT:   miopen.workspace
// CHECK:       miopen.conv2d_bwd_data(%packed_filter, %input, %output) {
// CHECK-NEXT:    filter_layout = ["c", "y", "x", "k"],
func.func @backward_data(%filter: memref<8x3x3x3xf16>, %input: memref<2x3x6x7xf16>, %output: memref<2x4x5x8xf16>) {
  miopen.conv2d_bwd_data(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "ho", "wo", "k"], dilations = [1, 1], strides = [1, 1], padding = [0, 0], channels_last = true
  } : memref<8x3x3x3xf16>, memref<2x3x6x7xf16>, memref<2x4x5x8xf16>
  func.return
}

// -----
// Backward weight sums over positions: each image has its own channels, rounded up, and the filter has its own.
// CHECK-LABEL: func.func @backward_weight
// CHECK-NEXT:  %packed_output = miopen.workspace() : memref<2x4x5x8xf16>
// CHECK-NEXT:  %packed_input = miopen.workspace() : memref<2x6x7x8xf16>
// CHECK:       miopen.conv2d_bwd_weight(%filter, %packed_input, %packed_output) {
func.func @backward_weight(%filter: memref<8x3x3x3xf16>, %input: memref<2x3x6x7xf16>, %output: memref<2x8x4x5xf16>) {
  miopen.conv2d_bwd_weight(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0], channels_last = true
  } : memref<8x3x3x3xf16>, memref<2x3x6x7xf16>, memref<2x8x4x5xf16>
  func.return
}

// -----
// Who does not ask gets no copy.
// CHECK-LABEL: func.func @as_it_is
// CHECK-NEXT:  miopen.conv2d(%filter, %input, %output) {
func.func @as_it_is(%filter: memref<4x8x1x1xf16>, %input: memref<2x8x6x7xf16>, %output: memref<2x4x6x7xf16>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0]
  } : memref<4x8x1x1xf16>, memref<2x8x6x7xf16>, memref<2x4x6x7xf16>
  func.return
}

// -----
// Planes of 5 x 7 begin anywhere: both arrays go through shared memory, each by the workgroups that are its own.
// CHECK-LABEL: func.func @planes
// CHECK:       miopen.launch(%wg, %item) { grid_size = 2, block_size = 256 } do {
// CHECK-NEXT:    %shared_planes = miopen.alloc() : memref<{{.*}}xf16, #3>
// CHECK-NEXT:    %within = miopen.within(%wg) { first = 0, count = 1 } : index
// CHECK:         scf.for %{{.*}} = %c0 to %within step %c1 {
// CHECK:           %thread_output = miopen.alloc() : memref<1x8xf16, #5>
// CHECK-NEXT:      miopen.threadwise_copy(%output_workgroup_workitem_turn_slot{{.*}}[%wg, %item], %thread_output) { vector = 8 }
// CHECK-NEXT:      miopen.threadwise_copy(%thread_output, %put_workitem_turn_slot{{.*}}[%item]) { vector = 8 }
// CHECK-NEXT:      miopen.lds_barrier()
// CHECK-NEXT:      %thread_output_turned = miopen.alloc() : memref<1x8xf16, #5>
// CHECK-NEXT:      miopen.threadwise_copy(%taken_workitem_turn_slot{{.*}}[%item], %thread_output_turned) { vector = 8 }
// CHECK-NEXT:      miopen.threadwise_copy(%thread_output_turned, %packed_output_workgroup_workitem_turn_slot{{.*}}[%wg, %item]) { vector = 8 }
// CHECK:         miopen.within(%wg) { first = 1, count = 1 } : index
// CHECK:           miopen.lds_barrier()
// CHECK:           miopen.threadwise_copy(%input_workgroup_workitem_turn_slot{{.*}}[%wg, %item], %thread_input) { vector = 8 }
func.func @planes(%filter: memref<8x8x1x1xf16>, %input: memref<2x8x5x7xf16>, %output: memref<2x8x5x7xf16>) {
  miopen.conv2d_bwd_weight(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0], channels_last = true
  } : memref<8x8x1x1xf16>, memref<2x8x5x7xf16>, memref<2x8x5x7xf16>
  func.return
}

// -----
// The result too: a workspace that the convolution writes, and a launch that turns it back.
// CHECK-LABEL: func.func @all
// CHECK:       %packed_output = miopen.workspace() : memref<2x5x7x8xf16>
// CHECK:       miopen.conv2d(%packed_filter, %packed_input, %packed_output) {
// CHECK:         output_layout = ["n", "ho", "wo", "k"],
// CHECK:       miopen.launch(%{{.*}}, %{{.*}}) { grid_size = 1, block_size = 256 } do {
// CHECK:         miopen.threadwise_copy(%packed_output_workgroup_workitem_turn_slot{{.*}}, %thread_output_turned) { vector = 8 }
// CHECK-NEXT:    miopen.threadwise_copy(%thread_output_turned, %given_workitem_turn_slot{{.*}}) { vector = 8 }
// CHECK-NEXT:    miopen.lds_barrier()
// CHECK:         miopen.threadwise_copy(%thread_output, %output_workgroup_workitem_turn_slot{{.*}}) { vector = 8 }
func.func @all(%filter: memref<8x8x3x3xf16>, %input: memref<2x8x5x7xf16>, %output: memref<2x8x5x7xf16>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [1, 1], all_last = true
  } : memref<8x8x3x3xf16>, memref<2x8x5x7xf16>, memref<2x8x5x7xf16>
  func.return
}
