// A tuning that is given is used or refused, with every reason; it is never replaced.
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:general:256,128,128,8,8,8"}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix TILE
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:general:256,128,128,64,4,4"}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix LDS
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:general:256,128,128,8,4,4" target=avx512}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix KIND
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:general:256,128,128,8,4"}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix COUNT
// RUN: imbrex-opt %s -p 'affix-tuning{family=generla}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix FAMILY
// RUN: imbrex-opt %s -p 'affix-tuning{target=gfx943}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix TARGET
// RUN: imbrex-opt %s -p affix-tuning --verify-diagnostics --split-input-file | filecheck %s --check-prefix SIZES

// TILE:      affix_tuning_invalid.mlir:{{[0-9]+}}:3: error: miopen.gridwise_gemm: tuning v1:general:256,128,128,8,8,8 is illegal: m_per_thread 8 is not one of 2, 4; n_per_thread 8 is not one of 2, 4
// TILE-NEXT:   miopen.gridwise_gemm(%a, %b, %c) : memref<72x128xf32>, memref<72x256xf32>, memref<128x256xf32>
// TILE-NEXT:   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

// LDS:       error: miopen.gridwise_gemm: tuning v1:general:256,128,128,64,4,4 is illegal: lds_bytes 131072 > 65536 on gfx942
// KIND:      error: miopen.gridwise_gemm: tuning v1:general:256,128,128,8,4,4 is illegal: a general tuning does not run on avx512
// COUNT:      <tuning>:1:12: error: a general tuning takes 6 values, got 5
// COUNT-NEXT: v1:general:256,128,128,8,4
// COUNT-NEXT: {{^ +}}^^^^^^^^^^^^^^^
// FAMILY:      error: unknown family of tunings 'generla'
// FAMILY-NEXT: hint: did you mean 'general'?
// TARGET:      error: target 'gfx943' is not supported
// TARGET-NEXT: hint: did you mean 'gfx9{{.*}}'?

func.func @product(%a: memref<72x128xf32>, %b: memref<72x256xf32>, %c: memref<128x256xf32>) {
  miopen.gridwise_gemm(%a, %b, %c) : memref<72x128xf32>, memref<72x256xf32>, memref<128x256xf32>
  func.return
}

// -----
// SIZES:      error: sizes are not known here; run 'specialise' first
// SIZES-NEXT:   miopen.gridwise_gemm(%a, %b, %c) : memref<72x?xf32>, memref<72x256xf32>, memref<?x256xf32>
// SIZES-NEXT: {{^ +}}^^^^^^^^^^^^^^^^{{$}}
func.func @product(%a: memref<72x?xf32>, %b: memref<72x256xf32>, %c: memref<?x256xf32>) {
  miopen.gridwise_gemm(%a, %b, %c) : memref<72x?xf32>, memref<72x256xf32>, memref<?x256xf32>
  func.return
}
