// Memory that grows, from the C library of the process.
#pragma once
#include "machine.h"

extern "C" {
void *aligned_alloc(size_t alignment, size_t size) noexcept;
void *calloc(size_t count, size_t size) noexcept;
void *realloc(void *pointer, size_t size) noexcept;
void free(void *pointer) noexcept;
}

namespace imbrex::hopper {

// An array of plain values.
template <class T> struct list {
  T *items = nullptr;
  int32_t count = 0, room = 0;

  void push(const T &x) {
    if (count == room) {
      room = room ? 2 * room : 8;
      items = static_cast<T *>(realloc(items, size_t(room) * sizeof(T)));
    }
    items[count++] = x;
  }
  // What is taken out is replaced by the last one.
  T take(int32_t index) {
    const T found = items[index];
    items[index] = items[--count];
    return found;
  }
  void release() {
    free(items);
    *this = {};
  }
  T &operator[](int32_t index) { return items[index]; }
};
} // namespace imbrex::hopper
