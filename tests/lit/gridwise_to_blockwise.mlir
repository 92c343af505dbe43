// A product becomes a launch whose workgroups send tiles through an even and an odd buffer of LDS.
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:general:64,32,32,4,2,2"},gridwise-to-blockwise,cse' --split-input-file --compact | filecheck %s

// Five tiles of k: two turns of the loop take four of them, and one is left, in the even buffer.
// CHECK-LABEL: func.func @five
// CHECK-NEXT:    %a_step_g_m_block_n_block_k_m = miopen.transform(%a) {
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        [0, 4]: unmerge(0: gemmK), [step, k],
// CHECK-NEXT:        [2, 5]: unmerge(1: gemmM), [m_block, m],
// CHECK-NEXT:        1: broadcast(), g,
// CHECK-NEXT:        3: broadcast(), n_block
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<20x64xf32> to memref<5x1x2x3x4x32xf32>
// CHECK-NEXT:    %a_step_workgroup_k_m = miopen.transform(%a_step_g_m_block_n_block_k_m) {
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        1: merge(1: g, 2: m_block, 3: n_block), workgroup,
// CHECK-NEXT:        0: passthrough(0: step), step,
// CHECK-NEXT:        2: passthrough(4: k), k,
// CHECK-NEXT:        3: passthrough(5: m), m
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<5x1x2x3x4x32xf32> to memref<5x6x4x32xf32>
// CHECK:         %b_step_workgroup_k_n = miopen.transform
// CHECK:         } : memref<5x1x2x3x4x32xf32> to memref<5x6x4x32xf32>
// CHECK:         %c_workgroup_m_n = miopen.transform
// CHECK:         } : memref<1x2x3x32x32xf32> to memref<6x32x32xf32>
// CHECK-NEXT:    miopen.launch(%wg, %item) { grid_size = 6, block_size = 64 } do {

// LDS: bytes of A and of B, an even and an odd half of each, and each half as a matrix.
// CHECK-NEXT:      %block_shared = miopen.alloc() : memref<2048xi8, #3>
// CHECK-NEXT:      %c0 = arith.constant 0 : index
// CHECK-NEXT:      %block_a = miopen.subview(%block_shared, %c0) : memref<2048xi8, #3> to memref<1024xi8, #3>
// CHECK-NEXT:      %block_a_even = miopen.subview(%block_a, %c0) : memref<1024xi8, #3> to memref<512xi8, #3>
// CHECK-NEXT:      %matrix_block_a_even = miopen.subview(%block_a_even, %c0) { dimension = [4, 32] } : memref<512xi8, #3> to memref<4x32xf32, #3>
// CHECK-NEXT:      %c512 = arith.constant 512 : index
// CHECK-NEXT:      %block_a_odd = miopen.subview(%block_a, %c512) : memref<1024xi8, #3> to memref<512xi8, #3>
// CHECK-NEXT:      %matrix_block_a_odd = miopen.subview(%block_a_odd, %c0) { dimension = [4, 32] } : memref<512xi8, #3> to memref<4x32xf32, #3>
// CHECK-NEXT:      %thread_a_even = miopen.alloc() : memref<1x2xf32, #5>
// CHECK-NEXT:      %thread_a_odd = miopen.alloc() : memref<1x2xf32, #5>
// CHECK-NEXT:      %c1024 = arith.constant 1024 : index
// CHECK-NEXT:      %block_b = miopen.subview(%block_shared, %c1024) : memref<2048xi8, #3> to memref<1024xi8, #3>
// CHECK-NEXT:      %block_b_even = miopen.subview(%block_b, %c0) : memref<1024xi8, #3> to memref<512xi8, #3>
// CHECK-NEXT:      %matrix_block_b_even = miopen.subview(%block_b_even, %c0) { dimension = [4, 32] } : memref<512xi8, #3> to memref<4x32xf32, #3>
// CHECK-NEXT:      %block_b_odd = miopen.subview(%block_b, %c512) : memref<1024xi8, #3> to memref<512xi8, #3>
// CHECK-NEXT:      %matrix_block_b_odd = miopen.subview(%block_b_odd, %c0) { dimension = [4, 32] } : memref<512xi8, #3> to memref<4x32xf32, #3>
// CHECK-NEXT:      %thread_b_even = miopen.alloc() : memref<1x2xf32, #5>
// CHECK-NEXT:      %thread_b_odd = miopen.alloc() : memref<1x2xf32, #5>
// CHECK-NEXT:      %thread_c = miopen.alloc() : memref<4x4xf32, #5>
// CHECK-NEXT:      %0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      miopen.fill(%thread_c, %0) : memref<4x4xf32, #5>

// The first tile.
// CHECK-NEXT:      miopen.blockwise_copy(%a_step_workgroup_k_m[%c0, %wg], %matrix_block_a_even) { cluster_lengths = [4, 16], source_data_per_read = 2, dest_data_per_write = 2 } : memref<5x6x4x32xf32>, memref<4x32xf32, #3>
// CHECK-NEXT:      miopen.blockwise_copy(%b_step_workgroup_k_n[%c0, %wg], %matrix_block_b_even) { cluster_lengths = [4, 16], source_data_per_read = 2, dest_data_per_write = 2 } : memref<5x6x4x32xf32>, memref<4x32xf32, #3>

// The loop, unrolled by two.
// CHECK-NEXT:      %c4 = arith.constant 4 : index
// CHECK-NEXT:      %c2 = arith.constant 2 : index
// CHECK-NEXT:      scf.for %step = %c0 to %c4 step %c2 {
// CHECK-NEXT:        miopen.lds_barrier()
// CHECK-NEXT:        miopen.blockwise_copy(%a_step_workgroup_k_m[%step, %wg], %thread_a_even) { move_source_offset = 4,
// CHECK-NEXT:        miopen.blockwise_copy(%b_step_workgroup_k_n[%step, %wg], %thread_b_even) { move_source_offset = 4,
// CHECK-NEXT:        miopen.blockwise_gemm(%matrix_block_a_even, %matrix_block_b_even, %thread_c) {
// CHECK-NEXT:          pipeline = "2x2",
// CHECK-NEXT:          m_per_thread = 2,
// CHECK-NEXT:          n_per_thread = 2,
// CHECK-NEXT:          k_per_thread = 1,
// CHECK-NEXT:          m_level0_cluster = 4,
// CHECK-NEXT:          n_level0_cluster = 4,
// CHECK-NEXT:          m_level1_cluster = 2,
// CHECK-NEXT:          n_level1_cluster = 2,
// CHECK-NEXT:          matrix_a_source_data_per_read = 2,
// CHECK-NEXT:          matrix_b_source_data_per_read = 2
// CHECK-NEXT:        } : memref<4x32xf32, #3>, memref<4x32xf32, #3>, memref<4x4xf32, #5>
// CHECK-NEXT:        miopen.blockwise_copy(%thread_a_even, %matrix_block_a_odd)
// CHECK-NEXT:        miopen.blockwise_copy(%thread_b_even, %matrix_block_b_odd)
// CHECK-NEXT:        miopen.lds_barrier()
// CHECK-NEXT:        miopen.blockwise_copy(%a_step_workgroup_k_m[%step, %wg], %thread_a_odd) { move_source_offset = 8,
// CHECK-NEXT:        miopen.blockwise_copy(%b_step_workgroup_k_n[%step, %wg], %thread_b_odd) { move_source_offset = 8,
// CHECK-NEXT:        miopen.blockwise_gemm(%matrix_block_a_odd, %matrix_block_b_odd, %thread_c) {
// CHECK:             } : memref<4x32xf32, #3>, memref<4x32xf32, #3>, memref<4x4xf32, #5>
// CHECK-NEXT:        miopen.blockwise_copy(%thread_a_odd, %matrix_block_a_even)
// CHECK-NEXT:        miopen.blockwise_copy(%thread_b_odd, %matrix_block_b_even)
// CHECK-NEXT:      }

// The tail, and C from registers to memory.
// CHECK-NEXT:      miopen.lds_barrier()
// CHECK-NEXT:      miopen.blockwise_gemm(%matrix_block_a_even, %matrix_block_b_even, %thread_c) {
// CHECK:           } : memref<4x32xf32, #3>, memref<4x32xf32, #3>, memref<4x4xf32, #5>
// CHECK-NEXT:      %thread_c_m_repeat_m_thread_n_repeat_n_thread = miopen.transform(%thread_c) {
// CHECK-NEXT:        layout = [
// CHECK-NEXT:          [0, 1]: unmerge(0: m), [m_repeat, m_thread],
// CHECK-NEXT:          [2, 3]: unmerge(1: n), [n_repeat, n_thread]
// CHECK-NEXT:        ]
// CHECK-NEXT:      } : memref<4x4xf32, #5> to memref<2x2x2x2xf32, #5>
// CHECK:             [5, 1, 3, 6]: unmerge(1: m), [m_repeat, m_level1, m_level0, m_thread],
// CHECK-NEXT:        [7, 2, 4, 8]: unmerge(2: n), [n_repeat, n_level1, n_level0, n_thread]
// CHECK:             1: merge(1: m_level1, 2: n_level1, 3: m_level0, 4: n_level0), workitem,
// CHECK:           miopen.threadwise_copy(%thread_c_m_repeat_m_thread_n_repeat_n_thread, %c_workgroup_workitem_m_repeat_m_thread_n_repeat_n_thread[%wg, %item]) { vector = 2 } : memref<2x2x2x2xf32, #5>, memref<6x64x2x2x2x2xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @five(%a: memref<20x64xf32>, %b: memref<20x96xf32>, %c: memref<64x96xf32>) {
  miopen.gridwise_gemm(%a, %b, %c) : memref<20x64xf32>, memref<20x96xf32>, memref<64x96xf32>
  func.return
}

// -----
// Four tiles: one turn takes two, and two are left; the last of them still has to travel.
// CHECK-LABEL: func.func @four
// CHECK:           scf.for %step = %c0 to %c2 step %c2 {
// CHECK:           }
// CHECK:           miopen.blockwise_copy(%thread_b_odd, %matrix_block_b_even)
// CHECK-NEXT:      }
// CHECK-NEXT:      miopen.lds_barrier()
// CHECK-NEXT:      miopen.blockwise_copy(%a_step_workgroup_k_m[%c2, %wg], %thread_a_even) { move_source_offset = 4,
// CHECK-NEXT:      miopen.blockwise_copy(%b_step_workgroup_k_n[%c2, %wg], %thread_b_even) { move_source_offset = 4,
// CHECK-NEXT:      miopen.blockwise_gemm(%matrix_block_a_even, %matrix_block_b_even, %thread_c) {
// CHECK:           miopen.blockwise_copy(%thread_a_even, %matrix_block_a_odd)
// CHECK-NEXT:      miopen.blockwise_copy(%thread_b_even, %matrix_block_b_odd)
// CHECK-NEXT:      miopen.lds_barrier()
// CHECK-NEXT:      miopen.blockwise_gemm(%matrix_block_a_odd, %matrix_block_b_odd, %thread_c) {
// CHECK-NOT:       miopen.blockwise_gemm
// CHECK:           miopen.threadwise_copy
func.func @four(%a: memref<16x32xf32>, %b: memref<16x32xf32>, %c: memref<32x32xf32>) {
  miopen.gridwise_gemm(%a, %b, %c) : memref<16x32xf32>, memref<16x32xf32>, memref<32x32xf32>
  func.return
}

// -----
// Two tiles need no loop, and no second set of registers.
// CHECK-LABEL: func.func @two
// CHECK:           %thread_a_even = miopen.alloc()
// CHECK-NOT:       %thread_a_odd
// CHECK-NOT:       scf.for
// CHECK:           miopen.lds_barrier()
// CHECK:           miopen.blockwise_gemm(%matrix_block_a_even, %matrix_block_b_even, %thread_c) {
// CHECK:           miopen.blockwise_copy(%thread_a_even, %matrix_block_a_odd)
// CHECK:           miopen.lds_barrier()
// CHECK-NEXT:      miopen.blockwise_gemm(%matrix_block_a_odd, %matrix_block_b_odd, %thread_c) {
func.func @two(%a: memref<8x32xf32>, %b: memref<8x32xf32>, %c: memref<32x32xf32>) {
  miopen.gridwise_gemm(%a, %b, %c) : memref<8x32xf32>, memref<8x32xf32>, memref<32x32xf32>
  func.return
}

// -----
// One tile, smaller than a block in every direction: grown to it by elements that do not exist.
// CHECK-LABEL: func.func @single
// CHECK:         %padded_gemmK_gemmM = miopen.transform(%a) {
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        0: pad(0: gemmK, 0, 1), gemmK,
// CHECK-NEXT:        1: pad(1: gemmM, 0, 27), gemmM
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<3x5xf16> to memref<4x32xf16>
// CHECK:         %padded_gemmM_gemmN = miopen.transform(%c) {
// CHECK:         } : memref<5x7xf16> to memref<32x32xf16>
// CHECK:         miopen.launch(%wg, %item) { grid_size = 1, block_size = 64 } do {
// CHECK-NOT:       %thread_a_even
// CHECK:           %thread_c = miopen.alloc() : memref<4x4xf32, #5>
// CHECK:           miopen.blockwise_copy(%a_step_workgroup_k_m[%c0, %wg], %matrix_block_a_even)
// CHECK-NEXT:      miopen.blockwise_copy(%b_step_workgroup_k_n[%c0, %wg], %matrix_block_b_even)
// CHECK-NEXT:      miopen.lds_barrier()
// CHECK-NEXT:      miopen.blockwise_gemm(%matrix_block_a_even, %matrix_block_b_even, %thread_c) {
// CHECK-NOT:       miopen.blockwise_gemm
// CHECK:           miopen.threadwise_copy({{.*}}) { vector = 1, alpha = 2.0, beta = 1.0 } : memref<2x2x2x2xf32, #5>, memref<1x64x2x2x2x2xf16>
func.func @single(%a: memref<3x5xf16>, %b: memref<3x7xf16>, %c: memref<5x7xf16>) {
  miopen.gridwise_gemm(%a, %b, %c) { alpha = 2.0, beta = 1.0 } : memref<3x5xf16>, memref<3x7xf16>, memref<5x7xf16>
  func.return
}
