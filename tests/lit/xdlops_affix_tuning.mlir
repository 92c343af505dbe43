// A tuning for matrix instructions, and everything that follows from it: the instruction of the chip, vectors, slices, LDS.
// RUN: imbrex-opt %s -p 'conv-to-gemm,affix-tuning{config="v1:xdlops:128,128,8,64,64,8,mfma_f32_32x32x8_f16,xor,staged,swapped,2"}' --compact | filecheck %s
// RUN: imbrex-opt %s -p 'conv-to-gemm,affix-tuning{config="v1:xdlops:128,128,8,64,64,8,auto,xor,staged,swapped,2" target=gfx950}' --compact | filecheck %s --check-prefix CDNA4
// RUN: imbrex-opt %s -p 'conv-to-gemm,affix-tuning' --compact | filecheck %s --check-prefix CHOSEN
// RUN: imbrex-opt %s -p 'conv-to-gemm,affix-tuning{target=emulate}' --compact | filecheck %s --check-prefix LANES
// RUN: not imbrex-opt %s -p 'conv-to-gemm,affix-tuning{config="v1:xdlops:128,128,8,64,64,8,mfma_f32_32x32x16_f16"}' 2>&1 | filecheck %s --check-prefix LACKS
// RUN: not imbrex-opt %s -p 'conv-to-gemm,affix-tuning{config="v1:xdlops:128,128,8,64,64,8,mfma_f32_32x32x8"}' 2>&1 | filecheck %s --check-prefix NAME

func.func @product(%a: memref<512x256xf16>, %b: memref<256x1024xf16>, %c: memref<512x1024xf16>) {
  miopen.gemm(%a, %b, %c)
  func.return
}

// Operands are exchanged, so that rows lie along N: B, whose rows are neighbours in memory, is transposed in registers.
// CHECK:      %transposed_t_gemmN_t_gemmM = miopen.transform(%c_gemmM_gemmN) {
// CHECK:      miopen.gridwise_gemm_ex(%b_gemmK_gemmN, %a_gemmK_gemmM, %transposed_t_gemmN_t_gemmM) {
// CHECK-NEXT:   pipeline = "xdlops",
// CHECK-NEXT:   block_size = 256,
// CHECK-NEXT:   m_per_block = 128,
// CHECK-NEXT:   n_per_block = 128,
// CHECK-NEXT:   k_per_block = 64,
// CHECK-NEXT:   m_per_wave = 64,
// CHECK-NEXT:   n_per_wave = 64,
// CHECK-NEXT:   kpack = 8,
// CHECK-NEXT:   instruction = "mfma_f32_32x32x8_f16",
// CHECK-NEXT:   interleave = 2,
// CHECK-NEXT:   matrix_a_source_data_per_read = 8,
// CHECK-NEXT:   matrix_a_source_vector_read_dim = 1,
// CHECK-NEXT:   matrix_a_dest_data_per_write_dim_m = 4,
// CHECK-NEXT:   matrix_a_copy_cluster_lengths = [16, 16],
// CHECK-NEXT:   matrix_a_copy_slice_lengths = [4, 8],
// CHECK-NEXT:   matrix_a_copy_lane_dim = 1,
// CHECK-NEXT:   matrix_a_copy_lane_inner = 2,
// CHECK-NEXT:   matrix_a_lds_numbers = [1, 1, 8],
// CHECK-NEXT:   matrix_b_source_data_per_read = 8,
// CHECK-NEXT:   matrix_b_dest_data_per_write_dim_n = 8,
// CHECK-NEXT:   matrix_b_copy_cluster_lengths = [8, 32],
// CHECK-NEXT:   matrix_b_copy_slice_lengths = [8, 1],
// CHECK-NEXT:   matrix_b_lds_numbers = [1, 1],
// CHECK-NEXT:   matrix_c_dest_data_per_write = 8,
// CHECK-NEXT:   lds_layout = "xor"
// CHECK-NEXT: } : memref<256x1024xf16>, memref<256x512xf16>, memref<1024x512xf16>

// CDNA4:  instruction = "mfma_f32_{{16x16x32|32x32x16}}_f16",
// CHOSEN: pipeline = "xdlops"
// LANES:  pipeline = "{{2x2|naive}}"
// LACKS:  error: miopen.gridwise_gemm: tuning v1:xdlops:128,128,8,64,64,8,mfma_f32_32x32x16_f16 is illegal: gfx942 has no mfma_f32_32x32x16_f16, which is of gfx950; mfma_f32_32x32x8_f16 would do
// NAME:      <tuning>:1:29: error: there is no matrix instruction 'mfma_f32_32x32x8'
// NAME-NEXT: v1:xdlops:128,128,8,64,64,8,mfma_f32_32x32x8
// NAME-NEXT: {{^ +}}^^^^^^^^^^^^^^^^{{$}}
