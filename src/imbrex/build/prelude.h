// Prelude: what kernels of CPUs read before all else, parsed once for those that are compiled alike (precompiled.py).
//
// Law: the object of a unit that begins with it is the same, byte by byte.  So nothing here declares what every unit
// emits, for the order of that would change: pool.h, and what includes it, is read by each unit.
#pragma once

// What device code takes of <immintrin.h>, whose other 90 headers are nine tenths of the time to read it.
#if defined(__AVX2__)
#define __IMMINTRIN_H
#include <smmintrin.h>
// after what it is made of
#include <avxintrin.h>
// after what it is made of
#include <avx2intrin.h>
#include <f16cintrin.h>
#include <fmaintrin.h>
#endif
#if defined(__AVXVNNI__)
#include <avxvnniintrin.h>
#endif
#if defined(__AVX512F__)
#include <avx512fintrin.h>
// after what it is made of
#include <avx512bwintrin.h>
#include <avx512dqintrin.h>
#include <avx512vlintrin.h>
// after what it is made of
#include <avx512vlbwintrin.h>
#endif
#if defined(__AVX512VNNI__)
#include <avx512vnniintrin.h>
#include <avx512vlvnniintrin.h>
#endif
#if defined(__AVX512BF16__)
#include <avx512bf16intrin.h>
#include <avx512vlbf16intrin.h>
#endif
#if defined(__AMX_TILE__)
#include <amxintrin.h>
#endif

#include "device/cpu/epilogue.h"
#include "device/cpu/extent.h"
#include "device/cpu/operand.h"
#include "device/cpu/short_runs.h"
#include "device/cpu/windows.h"
// after what gives masks
#include "device/cpu/filter_sums.h"
#if defined(__AMX_TILE__)
#include "device/cpu/tile_rows.h"
#endif
