#include "ingest/slurm_start.h"

#include <optional>

#include "base/text.h"

namespace muster::slurm {
namespace {

// "1731737000.123456789", with up to nine decimals.
std::optional<Time> read_seconds(std::string_view text) {
  const auto dot = text.find('.');
  const auto whole = parse_uint(text.substr(0, dot));
  if (!whole || *whole > 9'000'000'000ULL) return std::nullopt;
  std::int64_t ns = 0;
  if (dot != std::string_view::npos) {
    const std::string_view part = text.substr(dot + 1);
    const auto digits = parse_uint(part);
    if (!digits || part.size() > 9) return std::nullopt;
    ns = static_cast<std::int64_t>(*digits);
    for (std::size_t i = part.size(); i < 9; ++i) ns *= 10;
  }
  return Time{static_cast<std::int64_t>(*whole) * 1'000'000'000 + ns};
}

// "[2026-11-16T05:47:31.296] " at the start of a line, which it takes away.
std::optional<Time> read_stamp(std::string_view& line) {
  const auto end = line.find("] ");
  if (line.size() < 22 || line[0] != '[' || end == std::string_view::npos || end > 40) return std::nullopt;
  const std::string_view s = line.substr(1, end - 1);
  const auto number = [&](std::size_t at, std::size_t length) { return parse_uint(s.substr(at, length)).value_or(9999); };
  if (s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':') return std::nullopt;
  const std::uint64_t month = number(5, 2), day = number(8, 2), hour = number(11, 2), minute = number(14, 2),
                      second = number(17, 2);
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  // Days since 1970 by the civil calendar, with years that begin in March.
  const auto y = static_cast<std::int64_t>(number(0, 4)) - (month <= 2 ? 1 : 0);
  const auto m = static_cast<std::int64_t>((month + 9) % 12);
  const std::int64_t days =
      365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + static_cast<std::int64_t>(day) - 1 - 719'468;
  const auto seconds = static_cast<std::int64_t>(hour * 3600 + minute * 60 + second);
  std::int64_t ms = 0;
  if (s.size() >= 23 && s[19] == '.') ms = static_cast<std::int64_t>(number(20, 3) % 1000);
  line.remove_prefix(end + 2);
  return Time{(days * 86'400 + seconds) * 1'000'000'000 + ms * 1'000'000};
}

// Whether `words` followed by the job's number is in the line, and the number ends there.
bool tells_of(std::string_view line, std::string_view words, std::string_view job, std::string_view after) {
  const auto at = line.find(words);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = line.substr(at + words.size());
  if (rest.substr(0, job.size()) != job) return false;
  const std::string_view next = rest.substr(job.size());
  return next.substr(0, after.size()) == after;
}

}  // namespace

std::vector<HookRun> parse_hook_runs(std::string_view text, std::string_view job, const std::string& node) {
  std::vector<HookRun> out;
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() != 6 || words[0] != job) continue;
    const auto restart = parse_uint(words[1]);
    const auto began = read_seconds(words[3]);
    const auto ended = read_seconds(words[4]);
    const auto status = parse_int(words[5]);
    const bool epilog = words[2] == "epilog";
    if (!restart || *restart > 1'000'000 || !began || !ended || !status || (!epilog && words[2] != "prolog")) continue;
    out.push_back({node, static_cast<std::uint32_t>(*restart), epilog, *began, *ended, static_cast<int>(*status)});
  }
  return out;
}

std::vector<LogMark> parse_start_log(std::string_view text, std::string_view job) {
  std::vector<LogMark> out;
  for (std::string_view line : split(text, '\n')) {
    const auto at = read_stamp(line);
    if (!at) continue;
    // What a user can put into these lines stands behind the words that are looked for.
    const bool scheduled = line.rfind("sched: Allocate JobId=", 0) == 0 && tells_of(line, "Allocate JobId=", job, " ");
    const bool backfilled = line.rfind("sched/backfill: ", 0) == 0 && tells_of(line, "Started JobId=", job, " ");
    const bool direct = line.rfind("sched: _slurm_rpc_allocate_resources JobId=", 0) == 0 && tells_of(line, " JobId=", job, " ");
    if (scheduled || backfilled || direct) out.push_back({StartMark::allocated, *at});
    if (line.rfind("Launching batch job ", 0) == 0 && tells_of(line, "batch job ", job, " "))
      out.push_back({StartMark::batch, *at});
    if (line.rfind("launch task StepId=", 0) == 0 && tells_of(line, "StepId=", job, ".0 ")) out.push_back({StartMark::step, *at});
  }
  return out;
}

}  // namespace muster::slurm
