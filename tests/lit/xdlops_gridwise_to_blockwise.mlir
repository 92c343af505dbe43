// Tiles go to LDS, seen as (k, m) through its layout, and are multiplied by waves; C leaves through thread_out.
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:xdlops:64,64,4,32,32,8,mfma_f32_32x32x8_f16"},gridwise-to-blockwise,cse' --compact | filecheck %s
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:xdlops:64,64,4,32,32,8,mfma_f32_32x32x8_f16,padded,staged,straight,1,1"},gridwise-to-blockwise,cse' --compact | filecheck %s --check-prefix ONE
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:xdlops:64,64,4,32,32,8,mfma_f32_32x32x8_f16,tiled,direct"},gridwise-to-blockwise,cse' --compact | filecheck %s --check-prefix DIRECT

func.func @product(%a: memref<64x128xf16>, %b: memref<64x128xf16>, %c: memref<64x64xf16>) {
  %at = miopen.transform(%a) { layout = [0: passthrough(1: k), gemmK, 1: passthrough(0: m), gemmM] } : memref<64x128xf16> to memref<128x64xf16>
  %bt = miopen.transform(%b) { layout = [0: passthrough(1: k), gemmK, 1: passthrough(0: n), gemmN] } : memref<64x128xf16> to memref<128x64xf16>
  miopen.gridwise_gemm(%at, %bt, %c)
  func.return
}

// CHECK:      miopen.launch(%wg, %item) { grid_size = 1, block_size = 256 } do {
// CHECK-NEXT:   %block_shared = miopen.alloc() : memref<16384xi8, #3>
// CHECK:        %matrix_block_a_even = miopen.subview(%block_a_even, %c0) { dimension = [64, 4, 8] } : memref<4096xi8, #3> to memref<64x4x8xf16, #3>
// CHECK:        %block_a_even_m_k_chunk_slot = miopen.transform(%matrix_block_a_even) {
// CHECK-NEXT:     layout = [
// CHECK-NEXT:       [0, 1]: xor(0: m, 1: k_chunk, 2), [m, k_chunk],
// CHECK:        %block_a_even_k_m = miopen.transform(%block_a_even_m_k_chunk_slot) {
// CHECK:          0: merge(1: k_chunk, 2: slot), k,
// CHECK:        %thread_a_even = miopen.alloc() : memref<1x1x1x8xf16, #5>
// CHECK:        %thread_c = miopen.alloc() : memref<{{.*}}xf32, #5>
// CHECK:        miopen.blockwise_copy({{.*}}[%c0, %wg], %block_a_even_k_m) {
// CHECK-NEXT:     cluster_lengths = [4, 64],
// CHECK-NEXT:     slice_lengths = [8, 1],
// CHECK:        scf.for %step = %c0 to %c2 step %c2 {
// CHECK-NEXT:     miopen.lds_barrier()
// CHECK-NEXT:     miopen.blockwise_copy({{.*}}[%step, %wg], %thread_a_even) {
// CHECK-NEXT:       move_source_offset = 32,
// CHECK:          miopen.blockwise_gemm(%block_a_even_k_m, %block_b_even_k_n, %thread_c) {
// CHECK-NEXT:       pipeline = "xdlops",
// CHECK-NEXT:       m_per_wave = 32,
// CHECK-NEXT:       n_per_wave = 32,
// CHECK-NEXT:       kpack = 8,
// CHECK-NEXT:       instruction = "mfma_f32_32x32x8_f16"
// CHECK:          miopen.blockwise_copy(%thread_a_even, %block_a_odd_k_m) {
// CHECK:        %thread_out = miopen.alloc() : memref<{{.*}}x4xf32, #5>
// CHECK-NEXT:   miopen.threadwise_copy(%thread_c_m_group_n_tile_register_group_neighbour, %thread_out)
// CHECK:        miopen.threadwise_copy(%thread_out, %c_workgroup_workitem_m_group_n_tile_register_group_neighbour[%wg, %item]) { vector = 1 }

// One buffer: a barrier before the reads and one before the writes; rows are a little longer than they are.
// ONE:        miopen.subview({{.*}}) { dimension = [64, {{3[2-9]|[4-9][0-9]}}] } :
// ONE:        0: slice(1: k_padded, 0, 32), k,
// ONE:        scf.for %step = %c0 to %c3 step %c1 {
// ONE-NEXT:     miopen.lds_barrier()
// ONE-NEXT:     miopen.blockwise_copy({{.*}}[%step, %wg], %thread_a_even) {
// ONE:          miopen.blockwise_gemm(%block_a_even_k_m, %block_b_even_k_n, %thread_c) {
// ONE:          miopen.lds_barrier()
// ONE-NEXT:     miopen.blockwise_copy(%thread_a_even, %block_a_even_k_m) {
// ONE:        }
// ONE:        miopen.lds_barrier()
// ONE-NEXT:   miopen.blockwise_gemm(

// Direct: no staging registers; the copy into the other buffer is under way while this one is multiplied.
// DIRECT-NOT: thread_a_even
// DIRECT:     scf.for %step = %c0 to %c2 step %c2 {
// DIRECT-NEXT:  miopen.lds_barrier()
// DIRECT-NEXT:  miopen.blockwise_copy({{.*}}[%step, %wg], %block_a_odd_k_m) { move_source_offset = 32, source_data_per_read = 2, direct = true }
// DIRECT:       miopen.blockwise_gemm(%block_a_even_k_m, %block_b_even_k_n, %thread_c) {
// DIRECT:       miopen.lds_barrier()
