// A shared object in memory: its segments, and the relocations that a library of kernels has (ELF for the Arm 64-bit
// Architecture, AAELF64).
#pragma once
#include "process.h"

namespace process {

struct header { // Elf64_Ehdr
  char identity[16];
  uint16_t type, machine;
  uint32_t version;
  uint64_t entry, segments, sections;
  uint32_t flags;
  uint16_t size, segment_size, segment_count, section_size, section_count, names;
};
struct segment { // Elf64_Phdr
  uint32_t type, flags;
  uint64_t offset, address, physical, file_size, memory_size, alignment;
};
struct symbol { // Elf64_Sym
  uint32_t name;
  uint8_t info, other;
  uint16_t section;
  uint64_t value, size;
};
struct relocation { // Elf64_Rela
  uint64_t offset, info;
  int64_t addend;
};

static bool is_same(const char *one, const char *other) {
  while (*one && *one == *other) ++one, ++other;
  return *one == *other;
}

struct library {
  char *base = nullptr;
  const symbol *symbols = nullptr;
  const char *strings = nullptr;
  uint32_t count = 0;

  explicit library(const char *path) {
    const long file = call(openat, -100, path, 0, 0);
    header head;
    segment segments[16];
    if (is_error(file) || call(read, file, &head, sizeof(head)) != sizeof(head) || head.segment_count > 16 ||
        head.segments != sizeof(head))
      end("failed the library cannot be read");
    call(read, file, segments, sizeof(segment) * head.segment_count);
    const segment *dynamic = nullptr;
    size_t size = 0;
    for (int i = 0; i < head.segment_count; ++i) {
      const segment &s = segments[i];
      if (s.type == 1 && s.address + s.memory_size > size) size = s.address + s.memory_size;
      if (s.type == 2) dynamic = &s;
      if (s.type == 7) end("failed the library has storage of threads, which this process has not");
    }
    base = reserved(pages(size));
    for (int i = 0; i < head.segment_count; ++i)
      if (segments[i].type == 1) place(segments[i], int(file));
    link((const uint64_t *)(base + dynamic->address));
    for (int i = 0; i < head.segment_count; ++i)
      if (segments[i].type == 1) protect(segments[i]);
  }

  // The address of a function; null where there is none.
  void *find(const char *name) const {
    for (uint32_t i = 1; i < count; ++i)
      if (symbols[i].section && is_same(strings + symbols[i].name, name)) return base + symbols[i].value;
    return nullptr;
  }

private:
  static uint64_t first_page(const segment &s) { return s.address / page * page; }

  void place(const segment &s, int file) {
    const uint64_t before = s.address % page, whole = pages(before + s.memory_size);
    char *at = mapped(base + first_page(s), whole, readable | writable, own | anonymous, -1, 0);
    call(number(67), file, at + before, s.file_size, s.offset); // pread64
  }
  void protect(const segment &s) {
    const long may = (s.flags & 4 ? readable : 0) | (s.flags & 2 ? writable : 0) | (s.flags & 1 ? executable : 0);
    call(mprotect, base + first_page(s), pages(s.address % page + s.memory_size), may);
  }
  void *address_of(const symbol &s) const {
    if (s.section) return base + s.value;
    const char *name = strings + s.name;
    for (const function &f : functions)
      if (is_same(f.name, name)) return f.at;
    end("undefined ", name);
  }
  void relocate(const relocation *at, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes / sizeof(relocation); ++i) {
      const uint32_t kind = uint32_t(at[i].info);
      uint64_t &word = *(uint64_t *)(base + at[i].offset);
      if (kind == 1027) // R_AARCH64_RELATIVE
        word = (uint64_t)base + at[i].addend;
      else if (kind == 257 || kind == 1025 || kind == 1026) // _ABS64, _GLOB_DAT, _JUMP_SLOT
        word = (uint64_t)address_of(symbols[at[i].info >> 32]) + at[i].addend;
      else
        end("failed the library has a relocation of kind ", int64_t(kind));
    }
  }
  void link(const uint64_t *dynamic) {
    uint64_t found[36] = {};
    for (; dynamic[0]; dynamic += 2)
      if (dynamic[0] < 36) found[dynamic[0]] = dynamic[1];
    symbols = (const symbol *)(base + found[6]), strings = base + found[5];
    count = ((const uint32_t *)(base + found[4]))[1];
    if (found[25]) end("failed the library has functions that run when it is loaded"); // DT_INIT_ARRAY
    relocate((const relocation *)(base + found[7]), found[8]);
    relocate((const relocation *)(base + found[23]), found[2]);
  }
};
} // namespace process
