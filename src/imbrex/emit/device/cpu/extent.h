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
// The same of rows that come in units, of which no panel has a part, and each at least one.
constexpr int whole_units(int size, int most, int unit) {
  return unit * balanced((size + unit - 1) / unit, most < unit ? 1 : most / unit);
}
// The same of tiles: as many as there may be, and what is left in the last panel.
constexpr int at_most(int size, int most) { return size < most ? size : most; }

// Rows that a panel has at least, of any number of rows from `least` to `most` in panels of at most MR: from MR * (MR - 1) on
// none has less than MR - 1.
constexpr int least_height(int MR, int least, int most) {
  int found = MR;
  for (int size = least; size <= most && size <= least + MR * MR; ++size) {
    const int height = size / ((size + MR - 1) / MR);
    if (height < found) found = height;
  }
  return found;
}

// The panels of a run-time number of rows, of at most MR: as few as possible, as tall as each other, or one row less.
// Every height from Least on is compiled; none is less.
template <int MR, int Least> struct open_rows {
  int count, rows, tall; // panels; the rows of the first `tall` of them
  explicit open_rows(int size) : count((size + MR - 1) / MR), rows((size + count - 1) / count), tall(size - count * (rows - 1)) {}

  template <class Body> void each(const Body &body) const {
    for (int i = 0; i < count; ++i)
      with<MR>(i < tall ? rows : rows - 1, i < tall ? i * rows : i * (rows - 1) + tall, body);
  }

private:
  template <int R, class Body> static void with(int rows, int row, Body &body) {
    if constexpr (R > Least)
      if (rows != R) return with<R - 1>(rows, row, body);
    body(extent<R>{}, row);
  }
};
} // namespace imbrex
