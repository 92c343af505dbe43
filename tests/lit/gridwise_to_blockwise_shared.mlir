// Workgroups that share output tiles: segments of a plan, steps from first to end, partial sums by way of the workspace.
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:cpu:4,16,8,32,16,16,k_blocked,b,straight" target=avx512 schedule="stream_k:3"},gridwise-to-blockwise' --compact | filecheck %s
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:general:64,32,32,4,2,2" schedule="two_tile:1"},gridwise-to-blockwise' --compact | filecheck %s --check-prefix WHOLE

func.func @gemm(%a: memref<40x16xf32>, %b: memref<40x64xf32>, %c: memref<16x64xf32>) {
  miopen.gridwise_gemm(%a, %b, %c) { kernel_algorithm = "gemm" } : memref<40x16xf32>, memref<40x64xf32>, memref<16x64xf32>
  func.return
}

// CHECK:      %partial_sums = miopen.workspace() : memref<3x8x32xf32>
// CHECK-NEXT: %flags = miopen.workspace() { zeroed = true } : memref<3xi32>
// CHECK-NEXT: miopen.launch(%wg, %item) { grid_size = 3, block_size = 1 } do {
// CHECK:        %slot = miopen.segment(%wg, %c0) {
// CHECK:          quantity = "slot",
// CHECK-NEXT:     schedule = "stream_k",
// CHECK-NEXT:     workgroups = 3,
// CHECK-NEXT:     outputs = 4,
// CHECK-NEXT:     k_tiles = 3,
// CHECK-NEXT:     section = 0
// CHECK:        %segments = miopen.segment(%slot, %c0)
// CHECK:        scf.for %segment = %c0 to %segments step %c1 {
// CHECK:          %output_tile = miopen.segment(%slot, %segment)
// CHECK:          %first_step = miopen.segment(%slot, %output_tile)
// CHECK:          %end_step = miopen.segment(%slot, %output_tile)
// CHECK:          scf.for %step = %first_step to %end_step step %c1 {
// CHECK:          %sends = miopen.segment(%slot, %output_tile)
// CHECK:          scf.for %once = %c0 to %sends step %c1 {
// CHECK-NEXT:       miopen.threadwise_copy(%sums, %partial_sums[%slot])
// CHECK-NEXT:       miopen.signal(%flags[%slot])
// CHECK:          scf.for %other = %next_slot to %end_slot step %c1 {
// CHECK-NEXT:       miopen.await(%flags[%other])
// CHECK-NEXT:       miopen.threadwise_copy(%partial_sums[%other], %sums) { beta = 1
// CHECK:          scf.for %{{.*}} = %c0 to %owns step %c1 {

// One workgroup has all tiles to itself: nothing is sent, and a barrier stands between its tiles.
// WHOLE-NOT:  miopen.workspace
// WHOLE:      miopen.launch(%wg, %item) { grid_size = 1, block_size = 64 } do {
// WHOLE:        scf.for %segment = %c0 to %segments step %c1 {
// WHOLE:          miopen.lds_barrier()
// WHOLE-NOT:      miopen.await
