#include "ingest/slurm_sacct.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster::slurm {
namespace {

// The name is last: it may hold anything.
constexpr std::array<std::string_view, 16> kFields = {"JobID",    "State",        "Submit",   "Start",     "End", "NNodes",
                                                      "NodeList", "AllocTRES",    "ReqTRES",  "Partition", "QOS", "Account",
                                                      "User",     "TimelimitRaw", "Priority", "JobName"};

std::string_view some(std::string_view s) {
  return s == "None assigned" || s == "Unknown" || s == "None" || s == "(null)" || s == "N/A" ? std::string_view() : s;
}

Time utc_of(std::string_view s) {
  constexpr std::int64_t kLatest = 9'000'000'000;
  const auto n = parse_int(s);
  return n && *n > 0 && *n <= kLatest ? Time{*n * 1'000'000'000} : Time{};
}

std::uint32_t count_of(std::string_view s) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(parse_uint(s).value_or(0), UINT32_MAX));
}

// "17", "17_3", "17+0". What has not begun of an array, "17_[4-9]", has no history.
bool read_id(std::string_view text, JobRow& out) {
  const auto plus = text.find('+');
  out.het = plus != std::string_view::npos;
  const auto parts = split(text.substr(0, plus), '_');
  const auto number = parse_uint(parts[0]);
  if (!number || *number == 0 || *number > UINT32_MAX || parts.size() > 2) return false;
  out.id.number = static_cast<std::uint32_t>(*number);
  if (parts.size() == 1) return true;
  const auto member = parse_uint(parts[1]);
  if (member && *member < UINT32_MAX) {
    out.id.array_index = static_cast<std::uint32_t>(*member) + 1;
    return true;
  }
  out.pending = parts[1];
  return parts[1].size() > 2 && parts[1].front() == '[';
}

}  // namespace

std::string sacct_delimiter(std::string_view nonce) { return fmt::format("#{}#", nonce); }

std::string sacct_format() {
  std::string out;
  for (const std::string_view f : kFields) out += (out.empty() ? "" : ",") + std::string(f);
  return out;
}

Result<std::vector<JobRow>> parse_sacct(std::string_view text, std::string_view nonce) {
  std::vector<JobRow> out;
  if (text.empty()) return out;
  const auto partial = [] { return fail(Code::unreachable, "sacct's answer is cut off: it is not taken for what there was"); };
  if (text.back() != '\n') return partial();
  const std::string mark = sacct_delimiter(nonce);
  std::size_t at = 0;
  while (at < text.size()) {
    std::array<std::string_view, kFields.size()> v;
    for (std::size_t c = 0; c + 1 < v.size(); ++c) {
      const std::size_t end = text.find(mark, at);
      if (end == std::string_view::npos) return partial();
      v[c] = text.substr(at, end - at);
      at = end + mark.size();
    }
    // The name ends where the next row's number begins: at the last line break before the next mark.
    const std::size_t next = text.find(mark, at);
    const std::size_t end = next == std::string_view::npos ? text.size() - 1 : text.rfind('\n', next);
    if (end == std::string_view::npos || end < at) return partial();
    v.back() = text.substr(at, end - at);
    at = end + 1;
    JobRow row;
    if (!read_id(v[0], row)) return partial();
    row.state = v[1].substr(0, v[1].find(' '));  // "CANCELLED by 1000"
    row.submitted = utc_of(v[2]);
    row.started = utc_of(v[3]);
    row.ended = utc_of(v[4]);
    row.nodes = count_of(v[5]);
    row.node_list = some(v[6]);
    row.gpus = gpus_in(v[7]);
    if (row.gpus == 0) row.gpus = gpus_in(v[8]);
    row.partition = v[9];
    row.qos = some(v[10]);
    row.account = some(v[11]);
    row.user = v[12];
    row.time_limit_s = static_cast<double>(count_of(v[13])) * 60;
    row.priority = parse_uint(v[14]).value_or(0);
    row.name = to_valid_utf8(v[15]);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace muster::slurm
