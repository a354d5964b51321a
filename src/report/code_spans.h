// Our own words in which `backticks` mark commands, cut at them for pages and Markdown.
#pragma once
#include <string_view>
#include <vector>

namespace muster::report {

struct CodeSpan {
  bool code = false;
  std::string_view text;
};

// Only what reads as a command is one: a name of somebody's in the middle of the words may hold backticks too.
std::vector<CodeSpan> code_spans(std::string_view text);

}  // namespace muster::report
