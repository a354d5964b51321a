// What reports of a week and of a month are made of: sections with a title, a table and notes, the same on the page and in
// Markdown; and the cells that their tables share.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "report/table.h"

namespace muster::report {

struct Section {
  std::string id;  // on the page
  std::string title;
  Table table;  // of no rows: `nothing` is said instead
  std::string nothing;
  std::vector<std::string> notes{};
};
using Definitions = std::vector<std::pair<std::string, std::string>>;  // what each figure is: name and words

// For a page: all text is untrusted, escaped and cut; backticks of ours mark commands.
std::string page_text(std::string_view s);
std::string page_prose(std::string_view s);
std::string page_section(const Section& s, const std::string& drawing = {});
std::string page_definitions(const Definitions& all);
// Into a <dl class="facts">; `below`: smaller, under the value; empty: nothing.
std::string page_fact(std::string_view name, const std::string& value, const std::string& below);

// The same for Markdown.
std::string markdown_prose(std::string_view s);
std::string markdown_section(const Section& s);
std::string markdown_definitions(const Definitions& all);

// GPU time is in GPU-microseconds, as the books have it.
double gpu_hours_of(std::int64_t gpu_us);
std::string render_gpu_hours(std::int64_t gpu_us);  // "1,234", "12.3", "0.42"
Cell hours_cell(double h);                          // "-" for none
Cell count_cell(std::uint64_t n);                   // likewise
std::string day_label(Time utc);                    // "15 Nov"
// A cluster's name is anybody's: only what is harmless in the name of a file is left of it.
std::string file_word(std::string_view name);

}  // namespace muster::report
