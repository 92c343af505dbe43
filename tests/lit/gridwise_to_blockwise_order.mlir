// The order in which tiles are begun: one number stands between a workgroup's place and the tile that it computes.
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:general:64,32,32,4,2,2" schedule="data_parallel/wgm=2/xcd=8"},gridwise-to-blockwise' --compact | filecheck %s
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:general:64,32,32,4,2,2" schedule="stream_k:6/along=n/xcd=8"},gridwise-to-blockwise' --compact | filecheck %s --check-prefix SHARED
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:general:64,32,32,4,2,2" schedule="data_parallel/wgm=1"}' --compact | filecheck %s --check-prefix PLAIN
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:general:64,32,32,4,2,2" schedule="data_parallel/wgm=4/runtime"},gridwise-to-blockwise' --compact | filecheck %s --check-prefix RUNTIME
// RUN: not imbrex-opt %s -p 'affix-tuning{schedule="data_parallel/wgn=2"}' 2>&1 | filecheck %s --check-prefix UNKNOWN

func.func @gemm(%a: memref<40x96xf32>, %b: memref<40x160xf32>, %c: memref<96x160xf32>) {
  miopen.gridwise_gemm(%a, %b, %c) { kernel_algorithm = "gemm" } : memref<40x96xf32>, memref<40x160xf32>, memref<96x160xf32>
  func.return
}

// CHECK:      miopen.launch(%wg, %item) { grid_size = 15, block_size = 64 } do {
// CHECK:        %tile = miopen.tile(%wg) {
// CHECK-NEXT:     batches = 1,
// CHECK-NEXT:     m_tiles = 3,
// CHECK-NEXT:     n_tiles = 5,
// CHECK-NEXT:     group = 2,
// CHECK-NEXT:     along = "m",
// CHECK-NEXT:     ways = 8
// CHECK:        miopen.blockwise_copy(%a_step_workgroup_k_m[%c0, %tile]

// A plan's places are dealt, not its workgroups: 15 tiles for 6 of them are 2.5 a workgroup, 20 for those of 8 dies.
// SHARED:     %output_tile = miopen.segment(%slot, %segment)
// SHARED:     %tile = miopen.tile(%output_tile) {
// SHARED:       along = "n",
// SHARED-NEXT:  ways = 20
// SHARED:     %first_step = miopen.segment(%slot, %output_tile)

// The number of rows of a group comes from memory; where that holds zero it is 4.
// RUNTIME:    %wgm = miopen.workspace() { zeroed = true } : memref<1xi32>
// RUNTIME:    %rows = miopen.group(%wgm) { usual = 4, most = 3 } : memref<1xi32> to index
// RUNTIME:    %tile = miopen.tile(%wg, %rows) {
// RUNTIME:      group = 4,

// PLAIN-NOT: wgm
// UNKNOWN: error: unknown option 'wgn' of a schedule
