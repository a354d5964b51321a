#include "report/code_spans.h"

#include <algorithm>

namespace muster::report {
namespace {

bool is_command(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(" _.,:=/-").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.front() != ' ' && text.back() != ' ' && std::all_of(text.begin(), text.end(), plain);
}

}  // namespace

std::vector<CodeSpan> code_spans(std::string_view text) {
  std::vector<CodeSpan> out;
  std::size_t from = 0, at = 0;
  while ((at = text.find('`', at)) != std::string_view::npos) {
    const std::size_t end = text.find('`', at + 1);
    if (end == std::string_view::npos) break;
    const std::string_view inner = text.substr(at + 1, end - at - 1);
    if (!is_command(inner)) {
      at = end;  // which may begin the next
      continue;
    }
    if (at > from) out.push_back({false, text.substr(from, at - from)});
    out.push_back({true, inner});
    from = at = end + 1;
  }
  if (from < text.size()) out.push_back({false, text.substr(from)});
  return out;
}

}  // namespace muster::report
