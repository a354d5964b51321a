#include "ingest/sacct_words.h"

#include <algorithm>

#include "base/text.h"

namespace muster {

std::optional<std::int64_t> parse_span_s(std::string_view s) {
  std::int64_t days = 0, total = 0;
  if (const auto dash = s.find('-'); dash != std::string_view::npos) {
    const auto d = parse_uint(s.substr(0, dash));
    if (!d || *d > 100'000) return std::nullopt;
    days = static_cast<std::int64_t>(*d);
    s.remove_prefix(dash + 1);
  }
  s = s.substr(0, s.find('.'));
  if (s.empty()) return std::nullopt;
  for (const std::string_view part : split(s, ':')) {
    const auto n = parse_uint(part);
    if (!n || *n > 1'000'000'000) return std::nullopt;
    total = total * 60 + static_cast<std::int64_t>(*n);
    if (total > 10'000'000'000) return std::nullopt;
  }
  return total + days * 86'400;
}

std::optional<std::int64_t> parse_digits(std::string_view s) {
  std::int64_t v = 0;
  if (s.empty() || s.size() > 18) return std::nullopt;
  for (const char c : s) {
    if (c < '0' || c > '9') return std::nullopt;
    v = v * 10 + (c - '0');
  }
  return v;
}

std::optional<SacctFault> complete_times(JobRecord& job, std::optional<std::int64_t> ran_s) {
  constexpr Duration kSlack = seconds(1);             // where records hold parts of seconds
  constexpr std::int64_t kLongest_s = 3'200'000'000;  // a hundred years
  job.ran = seconds(std::min(ran_s.value_or(0), kLongest_s));
  if (!ran_s || !is_over(job.state)) return std::nullopt;
  const Duration held = job.ran + job.suspended;
  if (*ran_s >= kLongest_s || job.suspended >= seconds(kLongest_s)) return SacctFault::other_length;
  if (job.started.ns != 0 && job.ended.ns == 0) {
    job.ended = job.started + held;
  } else if (job.started.ns == 0 && job.ended.ns != 0 && *ran_s > 0) {
    job.started = job.ended - held;
    return SacctFault::start_from_end;
  } else if (job.started.ns != 0 && job.ended >= job.started) {
    const Duration off = job.ended - job.started - held;
    if (off > kSlack || off < Duration{} - kSlack) return SacctFault::other_length;
  }
  return std::nullopt;
}

bool parse_record_id(std::string_view s, RecordId& out) {
  out.array_index = -1;
  out.het_component = -1;
  out.array_members = 1;
  out.restarts = 0;
  out.text.assign(s);
  std::size_t i = 0;
  std::uint64_t n = 0;
  for (; i < s.size() && s[i] >= '0' && s[i] <= '9' && i < 18; ++i) n = n * 10 + static_cast<std::uint64_t>(s[i] - '0');
  out.number = n;
  if (i == 0 || n == 0) return false;
  if (i == s.size()) return true;
  const std::string_view rest = s.substr(i + 1);
  if (s[i] == '+') {
    const auto c = parse_digits(rest);
    if (!c || *c > 1'000'000) return false;
    out.het_component = static_cast<std::int32_t>(*c);
    return true;
  }
  if (s[i] != '_') return false;
  if (const auto member = parse_digits(rest)) {
    out.array_index = *member;
    return true;
  }
  if (rest.size() < 3 || rest.front() != '[') return false;
  // "[1-9,12%4]": as many as may run at once, where that is fewer. A list that is cut short ("...") counts as far as it goes.
  const std::string_view list = rest.substr(1, rest.find_first_of("%]", 1) - 1);
  std::uint64_t members = 0;
  for (const std::string_view part : split(list, ',')) {
    const auto dash = part.find('-');
    const auto colon = part.find(':');
    const auto a = parse_digits(part.substr(0, dash));
    if (!a) continue;
    const auto b = dash == std::string_view::npos ? a : parse_digits(part.substr(dash + 1, colon - dash - 1));
    const auto step = colon == std::string_view::npos ? std::optional<std::int64_t>(1) : parse_digits(part.substr(colon + 1));
    if (b && step && *step > 0 && *b >= *a) members += static_cast<std::uint64_t>((*b - *a) / *step + 1);
  }
  if (const auto most = rest.find('%'); most != std::string_view::npos) {
    const auto limit = parse_digits(rest.substr(most + 1, rest.find(']', most) - most - 1));
    if (limit && *limit > 0) members = std::min<std::uint64_t>(members, static_cast<std::uint64_t>(*limit));
  }
  out.array_members = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(members, 1, 10'000'000));
  return true;
}

RecordState parse_record_state(std::string_view s) {
  s = s.substr(0, s.find(' '));
  const bool cut = !s.empty() && s.back() == '+';
  if (cut) s.remove_suffix(1);
  struct Word {
    std::string_view text;
    RecordState state;
  };
  using R = RecordState;
  constexpr Word kWords[] = {{"COMPLETED", R::completed},  {"FAILED", R::failed},         {"CANCELLED", R::cancelled},
                             {"TIMEOUT", R::timeout},      {"RUNNING", R::running},       {"PENDING", R::pending},
                             {"NODE_FAIL", R::node_fail},  {"PREEMPTED", R::preempted},   {"OUT_OF_MEMORY", R::out_of_memory},
                             {"REQUEUED", R::requeued},    {"BOOT_FAIL", R::boot_fail},   {"DEADLINE", R::deadline},
                             {"SUSPENDED", R::suspended},  {"REVOKED", R::revoked},       {"RESIZING", R::running},
                             {"COMPLETING", R::running},   {"CONFIGURING", R::running},   {"SIGNALING", R::running},
                             {"STOPPED", R::suspended},    {"REQUEUE_HOLD", R::pending},  {"REQUEUE_FED", R::pending},
                             {"SPECIAL_EXIT", R::pending}, {"RESV_DEL_HOLD", R::pending}, {"LAUNCH_FAILED", R::failed},
                             {"RECONFIG_FAIL", R::failed}, {"POWER_UP_NODE", R::running}, {"STAGE_OUT", R::running},
                             {"UPDATE_DB", R::running},    {"EXPEDITING", R::pending}};
  for (const Word& w : kWords) {
    if (w.text == s || (cut && s.size() >= 3 && w.text.substr(0, s.size()) == s)) return w.state;
  }
  return RecordState::unknown;
}

std::optional<std::int64_t> parse_record_energy(std::string_view s) {
  const auto v = parse_digits(s);
  // 0 stands where nothing was measured, and 2^64-2 and 2^63 as Slurm's words for "no value"; more than 1e15 J (a gigawatt
  // for eleven days) is none either.
  if (!v || *v == 0 || *v > 1'000'000'000'000'000) return std::nullopt;
  return v;
}

}  // namespace muster
