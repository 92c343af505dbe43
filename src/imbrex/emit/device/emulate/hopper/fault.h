// What a kernel must not do, in words: the first fault ends the run.
#pragma once
#include "list.h"

extern "C" int snprintf(char *to, size_t size, const char *format, ...) noexcept;

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
} // namespace imbrex::hopper
