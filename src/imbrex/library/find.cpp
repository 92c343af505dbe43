
// Lines as users have them: flags in any order and by any of their names, usual values left out, flags that
// compute nothing else passed over.
namespace {
struct flag {
  const char *names;
  const char *usual; // words that mean what a text without the flag does; null: any word does
  const char *other; // words that are one value
};
struct word {
  const char *at;
  int64_t size;
};

$tables
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// The next word of a line, without quotes; `--flag=value` is two.  None, of size 0, at the end or a comment.
word next(const char *&at) {
  while (is_blank(*at)) ++at;
  if (*at == '#') return {at, 0};
  const bool is_long = at[0] == '-' && at[1] == '-';
  const char quote = *at == '"' || *at == '\'' ? *at++ : '\0';
  const char *const first = at;
  while (*at != 0 && (quote ? *at != quote : !is_blank(*at) && !(is_long && *at == '='))) ++at;
  const word found = {first, at - first};
  if (*at != 0 && !is_blank(*at)) ++at;
  return found;
}

// 2.0 is 2.
int64_t size_of(word w) {
  const bool is_whole = w.size > 2 && w.at[w.size - 2] == '.' && w.at[w.size - 1] == '0';
  return is_whole ? w.size - 2 : w.size;
}

bool is_same(word a, word b) {
  if (size_of(a) != size_of(b)) return false;
  for (int64_t i = 0; i < size_of(a); ++i)
    if (a.at[i] != b.at[i]) return false;
  return true;
}

bool is_among(word w, const char *words) {
  for (word one; (one = next(words)).size != 0;)
    if (is_same(w, one)) return true;
  return false;
}

bool is_number(word w, int64_t *number) {
  *number = 0;
  for (int64_t i = 0; i < w.size; ++i) {
    if (w.at[i] < '0' || w.at[i] > '9' || *number > INT64_MAX / 16) return false;
    *number = *number * 10 + (w.at[i] - '0');
  }
  return w.size != 0;
}

// How often flags say this, and what the last one says.
int said(const char *flags, const char *names, word *value) {
  int times = 0;
  for (word name; (name = next(flags)).size != 0;) {
    const word given = next(flags);
    if (!is_among(name, names)) continue;
    ++times;
    *value = given;
  }
  return times;
}

// Is each of these words a flag that is known, or the value of one?
bool is_known(const char *flags, const flag *table) {
  for (word name; (name = next(flags)).size != 0;) {
    const flag *one = table;
    while (one->names != nullptr && !is_among(name, one->names)) ++one;
    if (one->names == nullptr || next(flags).size == 0) return false;
  }
  return true;
}

// Do flags mean what these of a family do?
bool agree(const char *wanted, const char *given, const flag *table, int64_t *rows) {
  *rows = 1;
  for (const flag *one = table; one->names != nullptr; ++one) {
    word family = {nullptr, 0}, line = {nullptr, 0};
    const bool is_wanted = said(wanted, one->names, &family) != 0;
    const int times = said(given, one->names, &line);
    if (times > 1) return false;
    if (one->usual == nullptr || (!is_wanted && times == 0)) continue;
    const char *usual = one->usual;
    if (times == 0) line = next(usual);
    const bool is_usual = is_among(line, one->usual);
    const bool is_both = is_wanted && is_usual && is_among(family, one->usual);
    const bool is_other = is_wanted && is_among(line, one->other) && is_among(family, one->other);
    if (!is_wanted) {
      if (!is_usual) return false;
    } else if (is_same(family, {"?", 1})) {
      if (!is_number(line, rows)) return false;
    } else if (!is_same(family, line) && !is_both && !is_other) {
      return false;
    }
  }
  return true;
}

// The flags behind the first word of a problem's line, which stands behind a number, or, of a convolution,
// behind anything that a log writes; null where it is another problem's.
const char *behind(const char *line, word form, bool is_conv) {
  int64_t number = 0;
  for (word one; (one = next(line)).size != 0;) {
    if (is_same(one, form)) return line;
    if (!is_conv && !is_number(one, &number)) return nullptr;
  }
  return nullptr;
}

bool means(const char *text, const char *line, int64_t *rows) {
  const word form = next(text);
  const bool is_conv = *form.at == 'c';
  const flag *const table = is_conv ? flags_of_conv : flags_of_gemm;
  const char *const given = behind(line, form, is_conv);
  return given != nullptr && is_known(given, table) && agree(text, given, table, rows);
}
} // namespace
