#include "command_words.h"

#include <fmt/format.h>

namespace muster::cmd {

Result<std::vector<std::string>> command_words(std::string_view flag, std::string_view text) {
  std::vector<std::string> out;
  bool inside = false;  // a word has begun
  char quote = 0;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        out.back() += c;
      }
      continue;
    }
    if (blank) {
      inside = false;
      continue;
    }
    if (!inside) out.emplace_back();
    inside = true;
    if (c == '\'' || c == '"') {
      quote = c;
    } else {
      out.back() += c;
    }
  }
  if (quote != 0)
    return fail(Code::bad_input, fmt::format("{} has a quote that does not end: {}", flag, text), "close it, or leave it out");
  if (out.empty() || out.front().empty())
    return fail(Code::bad_input, fmt::format("{} names no program", flag), "give it as it would be typed");
  return out;
}

}  // namespace muster::cmd
