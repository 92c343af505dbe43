// What epilogues compute with on a GPU of NVIDIA's.
#pragma once
#include "product.h"
#include "ptx/function.h"
#include "../common/epilogue.h"
