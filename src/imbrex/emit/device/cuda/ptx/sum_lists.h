// What wgmma's text says of a lane's sums: registers 0 to N / 2 - 1 by number, and as operands.
//
// IMBREX_NUMBERS_n: the first n by number.  IMBREX_SUMS_n(c): as operands, of constraint c.
#pragma once

#define IMBREX_NUMBERS_4 "%0, %1, %2, %3"
#define IMBREX_NUMBERS_8 IMBREX_NUMBERS_4 ", %4, %5, %6, %7"
#define IMBREX_NUMBERS_12 IMBREX_NUMBERS_8 ", %8, %9, %10, %11"
#define IMBREX_NUMBERS_16 IMBREX_NUMBERS_12 ", %12, %13, %14, %15"
#define IMBREX_NUMBERS_20 IMBREX_NUMBERS_16 ", %16, %17, %18, %19"
#define IMBREX_NUMBERS_24 IMBREX_NUMBERS_20 ", %20, %21, %22, %23"
#define IMBREX_NUMBERS_28 IMBREX_NUMBERS_24 ", %24, %25, %26, %27"
#define IMBREX_NUMBERS_32 IMBREX_NUMBERS_28 ", %28, %29, %30, %31"
#define IMBREX_NUMBERS_36 IMBREX_NUMBERS_32 ", %32, %33, %34, %35"
#define IMBREX_NUMBERS_40 IMBREX_NUMBERS_36 ", %36, %37, %38, %39"
#define IMBREX_NUMBERS_44 IMBREX_NUMBERS_40 ", %40, %41, %42, %43"
#define IMBREX_NUMBERS_48 IMBREX_NUMBERS_44 ", %44, %45, %46, %47"
#define IMBREX_NUMBERS_52 IMBREX_NUMBERS_48 ", %48, %49, %50, %51"
#define IMBREX_NUMBERS_56 IMBREX_NUMBERS_52 ", %52, %53, %54, %55"
#define IMBREX_NUMBERS_60 IMBREX_NUMBERS_56 ", %56, %57, %58, %59"
#define IMBREX_NUMBERS_64 IMBREX_NUMBERS_60 ", %60, %61, %62, %63"
#define IMBREX_NUMBERS_68 IMBREX_NUMBERS_64 ", %64, %65, %66, %67"
#define IMBREX_NUMBERS_72 IMBREX_NUMBERS_68 ", %68, %69, %70, %71"
#define IMBREX_NUMBERS_76 IMBREX_NUMBERS_72 ", %72, %73, %74, %75"
#define IMBREX_NUMBERS_80 IMBREX_NUMBERS_76 ", %76, %77, %78, %79"
#define IMBREX_NUMBERS_84 IMBREX_NUMBERS_80 ", %80, %81, %82, %83"
#define IMBREX_NUMBERS_88 IMBREX_NUMBERS_84 ", %84, %85, %86, %87"
#define IMBREX_NUMBERS_92 IMBREX_NUMBERS_88 ", %88, %89, %90, %91"
#define IMBREX_NUMBERS_96 IMBREX_NUMBERS_92 ", %92, %93, %94, %95"
#define IMBREX_NUMBERS_100 IMBREX_NUMBERS_96 ", %96, %97, %98, %99"
#define IMBREX_NUMBERS_104 IMBREX_NUMBERS_100 ", %100, %101, %102, %103"
#define IMBREX_NUMBERS_108 IMBREX_NUMBERS_104 ", %104, %105, %106, %107"
#define IMBREX_NUMBERS_112 IMBREX_NUMBERS_108 ", %108, %109, %110, %111"
#define IMBREX_NUMBERS_116 IMBREX_NUMBERS_112 ", %112, %113, %114, %115"
#define IMBREX_NUMBERS_120 IMBREX_NUMBERS_116 ", %116, %117, %118, %119"
#define IMBREX_NUMBERS_124 IMBREX_NUMBERS_120 ", %120, %121, %122, %123"
#define IMBREX_NUMBERS_128 IMBREX_NUMBERS_124 ", %124, %125, %126, %127"

#define IMBREX_SUMS_4(c) c(d[0]), c(d[1]), c(d[2]), c(d[3])
#define IMBREX_SUMS_8(c) IMBREX_SUMS_4(c), c(d[4]), c(d[5]), c(d[6]), c(d[7])
#define IMBREX_SUMS_12(c) IMBREX_SUMS_8(c), c(d[8]), c(d[9]), c(d[10]), c(d[11])
#define IMBREX_SUMS_16(c) IMBREX_SUMS_12(c), c(d[12]), c(d[13]), c(d[14]), c(d[15])
#define IMBREX_SUMS_20(c) IMBREX_SUMS_16(c), c(d[16]), c(d[17]), c(d[18]), c(d[19])
#define IMBREX_SUMS_24(c) IMBREX_SUMS_20(c), c(d[20]), c(d[21]), c(d[22]), c(d[23])
#define IMBREX_SUMS_28(c) IMBREX_SUMS_24(c), c(d[24]), c(d[25]), c(d[26]), c(d[27])
#define IMBREX_SUMS_32(c) IMBREX_SUMS_28(c), c(d[28]), c(d[29]), c(d[30]), c(d[31])
#define IMBREX_SUMS_36(c) IMBREX_SUMS_32(c), c(d[32]), c(d[33]), c(d[34]), c(d[35])
#define IMBREX_SUMS_40(c) IMBREX_SUMS_36(c), c(d[36]), c(d[37]), c(d[38]), c(d[39])
#define IMBREX_SUMS_44(c) IMBREX_SUMS_40(c), c(d[40]), c(d[41]), c(d[42]), c(d[43])
#define IMBREX_SUMS_48(c) IMBREX_SUMS_44(c), c(d[44]), c(d[45]), c(d[46]), c(d[47])
#define IMBREX_SUMS_52(c) IMBREX_SUMS_48(c), c(d[48]), c(d[49]), c(d[50]), c(d[51])
#define IMBREX_SUMS_56(c) IMBREX_SUMS_52(c), c(d[52]), c(d[53]), c(d[54]), c(d[55])
#define IMBREX_SUMS_60(c) IMBREX_SUMS_56(c), c(d[56]), c(d[57]), c(d[58]), c(d[59])
#define IMBREX_SUMS_64(c) IMBREX_SUMS_60(c), c(d[60]), c(d[61]), c(d[62]), c(d[63])
#define IMBREX_SUMS_68(c) IMBREX_SUMS_64(c), c(d[64]), c(d[65]), c(d[66]), c(d[67])
#define IMBREX_SUMS_72(c) IMBREX_SUMS_68(c), c(d[68]), c(d[69]), c(d[70]), c(d[71])
#define IMBREX_SUMS_76(c) IMBREX_SUMS_72(c), c(d[72]), c(d[73]), c(d[74]), c(d[75])
#define IMBREX_SUMS_80(c) IMBREX_SUMS_76(c), c(d[76]), c(d[77]), c(d[78]), c(d[79])
#define IMBREX_SUMS_84(c) IMBREX_SUMS_80(c), c(d[80]), c(d[81]), c(d[82]), c(d[83])
#define IMBREX_SUMS_88(c) IMBREX_SUMS_84(c), c(d[84]), c(d[85]), c(d[86]), c(d[87])
#define IMBREX_SUMS_92(c) IMBREX_SUMS_88(c), c(d[88]), c(d[89]), c(d[90]), c(d[91])
#define IMBREX_SUMS_96(c) IMBREX_SUMS_92(c), c(d[92]), c(d[93]), c(d[94]), c(d[95])
#define IMBREX_SUMS_100(c) IMBREX_SUMS_96(c), c(d[96]), c(d[97]), c(d[98]), c(d[99])
#define IMBREX_SUMS_104(c) IMBREX_SUMS_100(c), c(d[100]), c(d[101]), c(d[102]), c(d[103])
#define IMBREX_SUMS_108(c) IMBREX_SUMS_104(c), c(d[104]), c(d[105]), c(d[106]), c(d[107])
#define IMBREX_SUMS_112(c) IMBREX_SUMS_108(c), c(d[108]), c(d[109]), c(d[110]), c(d[111])
#define IMBREX_SUMS_116(c) IMBREX_SUMS_112(c), c(d[112]), c(d[113]), c(d[114]), c(d[115])
#define IMBREX_SUMS_120(c) IMBREX_SUMS_116(c), c(d[116]), c(d[117]), c(d[118]), c(d[119])
#define IMBREX_SUMS_124(c) IMBREX_SUMS_120(c), c(d[120]), c(d[121]), c(d[122]), c(d[123])
#define IMBREX_SUMS_128(c) IMBREX_SUMS_124(c), c(d[124]), c(d[125]), c(d[126]), c(d[127])

// IMBREX_COLUMNS_n(X): what X expands to for n columns: n, its sums, and the numbers of the six operands after them.
#define IMBREX_COLUMNS_8(X) X(8, 4, 4, 5, 6, 7, 8, 9)
#define IMBREX_COLUMNS_16(X) X(16, 8, 8, 9, 10, 11, 12, 13)
#define IMBREX_COLUMNS_24(X) X(24, 12, 12, 13, 14, 15, 16, 17)
#define IMBREX_COLUMNS_32(X) X(32, 16, 16, 17, 18, 19, 20, 21)
#define IMBREX_COLUMNS_40(X) X(40, 20, 20, 21, 22, 23, 24, 25)
#define IMBREX_COLUMNS_48(X) X(48, 24, 24, 25, 26, 27, 28, 29)
#define IMBREX_COLUMNS_56(X) X(56, 28, 28, 29, 30, 31, 32, 33)
#define IMBREX_COLUMNS_64(X) X(64, 32, 32, 33, 34, 35, 36, 37)
#define IMBREX_COLUMNS_72(X) X(72, 36, 36, 37, 38, 39, 40, 41)
#define IMBREX_COLUMNS_80(X) X(80, 40, 40, 41, 42, 43, 44, 45)
#define IMBREX_COLUMNS_88(X) X(88, 44, 44, 45, 46, 47, 48, 49)
#define IMBREX_COLUMNS_96(X) X(96, 48, 48, 49, 50, 51, 52, 53)
#define IMBREX_COLUMNS_104(X) X(104, 52, 52, 53, 54, 55, 56, 57)
#define IMBREX_COLUMNS_112(X) X(112, 56, 56, 57, 58, 59, 60, 61)
#define IMBREX_COLUMNS_120(X) X(120, 60, 60, 61, 62, 63, 64, 65)
#define IMBREX_COLUMNS_128(X) X(128, 64, 64, 65, 66, 67, 68, 69)
#define IMBREX_COLUMNS_136(X) X(136, 68, 68, 69, 70, 71, 72, 73)
#define IMBREX_COLUMNS_144(X) X(144, 72, 72, 73, 74, 75, 76, 77)
#define IMBREX_COLUMNS_152(X) X(152, 76, 76, 77, 78, 79, 80, 81)
#define IMBREX_COLUMNS_160(X) X(160, 80, 80, 81, 82, 83, 84, 85)
#define IMBREX_COLUMNS_168(X) X(168, 84, 84, 85, 86, 87, 88, 89)
#define IMBREX_COLUMNS_176(X) X(176, 88, 88, 89, 90, 91, 92, 93)
#define IMBREX_COLUMNS_184(X) X(184, 92, 92, 93, 94, 95, 96, 97)
#define IMBREX_COLUMNS_192(X) X(192, 96, 96, 97, 98, 99, 100, 101)
#define IMBREX_COLUMNS_200(X) X(200, 100, 100, 101, 102, 103, 104, 105)
#define IMBREX_COLUMNS_208(X) X(208, 104, 104, 105, 106, 107, 108, 109)
#define IMBREX_COLUMNS_216(X) X(216, 108, 108, 109, 110, 111, 112, 113)
#define IMBREX_COLUMNS_224(X) X(224, 112, 112, 113, 114, 115, 116, 117)
#define IMBREX_COLUMNS_232(X) X(232, 116, 116, 117, 118, 119, 120, 121)
#define IMBREX_COLUMNS_240(X) X(240, 120, 120, 121, 122, 123, 124, 125)
#define IMBREX_COLUMNS_248(X) X(248, 124, 124, 125, 126, 127, 128, 129)
#define IMBREX_COLUMNS_256(X) X(256, 128, 128, 129, 130, 131, 132, 133)
