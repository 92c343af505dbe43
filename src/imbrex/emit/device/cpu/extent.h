// Extents as types, for code that is compiled once for each extent that a launch meets.
#pragma once

namespace imbrex {

template <int Size> struct extent {
  static constexpr int value = Size;
};

constexpr int round_up(int size, int to) { return (size + to - 1) / to * to; }

// The rows of a panel when `size` rows are shared by as few panels of at most `most` rows as possible.
constexpr int balanced(int size, int most) {
  const int panels = (size + most - 1) / most;
  return (size + panels - 1) / panels;
}
// The same of tiles: as many as there may be, and what is left in the last panel.
constexpr int at_most(int size, int most) { return size < most ? size : most; }
} // namespace imbrex
