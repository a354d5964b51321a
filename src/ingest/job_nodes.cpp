#include "ingest/job_nodes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/node_list.h"
#include "base/text.h"

namespace muster {
namespace {

constexpr std::size_t kJobsMax = 100'000, kNodesMax = 1'048'576;  // of all jobs together

// A job that waits has no nodes yet: squeue prints its number and a blank, other tools a word that stands for nothing.
bool waits(std::string_view name, std::string_view list, bool blank_behind) {
  if (!name.empty()) return list == "(null)" || list == "n/a" || list == "N/A" || list == "None assigned";
  if (list.back() == ':') return true;
  const bool number = list.find_first_not_of("0123456789") == std::string_view::npos;
  return number || (blank_behind && list.front() >= '0' && list.front() <= '9');
}

}  // namespace

Result<std::vector<JobOnNodes>> parse_job_nodes(std::string_view text, std::string_view file) {
  std::vector<JobOnNodes> out;
  std::size_t nodes = 0;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view s = text.substr(0, end);
    if (s.ends_with('\r')) s.remove_suffix(1);
    const bool blank_behind = s.ends_with(' ') || s.ends_with('\t');
    s = trim(s.substr(0, s.find('#')));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (s.empty()) continue;
    const std::size_t space = s.find_first_of(" \t");
    std::string_view name = space == std::string_view::npos ? std::string_view() : s.substr(0, space);
    std::string_view list = space == std::string_view::npos ? s : trim(s.substr(space));
    const bool waiting = waits(name, list, blank_behind);
    if (waiting && name.empty()) name = list;
    if (name.size() > 1 && name.back() == ':') name.remove_suffix(1);
    if (waiting) list = {};
    auto names = waiting ? Result<std::vector<std::string>>() : expand_node_list(list, kNodesMax);
    if (!names)
      return fail(Code::bad_input, fmt::format("{}:{}: {}", file, number, names.error().what),
                  "a line is a job and its nodes: 17 gpu[001-008]");
    nodes += names->size();
    if (out.size() >= kJobsMax || nodes > kNodesMax)
      return fail(Code::bad_input, fmt::format("{}:{}: more than {} jobs or {} nodes", file, number, kJobsMax, kNodesMax),
                  "give fewer jobs");
    out.push_back({name.empty() ? fmt::format("line {}", number) : printable(name), std::move(*names)});
  }
  return out;
}

}  // namespace muster
