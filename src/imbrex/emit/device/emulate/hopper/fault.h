// What a kernel must not do, told once: the first fault ends the run.
#pragma once
#include "machine.h"

extern "C" {
void *calloc(size_t count, size_t size) noexcept;
void *aligned_alloc(size_t alignment, size_t size) noexcept;
void *realloc(void *pointer, size_t size) noexcept;
void free(void *pointer) noexcept;
int snprintf(char *to, size_t size, const char *format, ...) noexcept;
}

namespace imbrex::hopper {

// A text of some lines that ends where there is no room for more.
struct message {
  char text[4096];
  size_t length = 0;

  void say(const char *words) { say("%s", words); }
  template <class... Words> void say(const char *format, Words... words) {
    if (length + 1 >= sizeof text) return;
    const int said = snprintf(text + length, sizeof text - length, format, words...);
    length = said < 0 ? length : length + size_t(said) < sizeof text ? length + size_t(said) : sizeof text - 1;
  }
};

// An array that grows.
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
  // What is taken out leaves its place to the last one.
  T take(int32_t place) {
    const T found = items[place];
    items[place] = items[--count];
    return found;
  }
  void release() {
    free(items);
    *this = {};
  }
  T &operator[](int32_t place) { return items[place]; }
};

// Numbers that look like chance, and are the same for the same seed (xorshift64*).
struct chance {
  uint64_t state;

  explicit chance(uint32_t seed) : state(0x9e3779b97f4a7c15ull * (seed + 1ull)) {}
  uint32_t below(uint32_t end) {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return uint32_t((state * 0x2545f4914f6cdd1dull >> 32) * end >> 32);
  }
};
} // namespace imbrex::hopper
